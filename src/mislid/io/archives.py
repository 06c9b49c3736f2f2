"""Zip archives from anywhere, looked at before anything in them is unpacked."""

import io
import zipfile

from mislid.errors import FileFormatError

LARGEST_UNPACKED = 1 << 28
"""Bytes of all files in an archive together."""

# Bytes of the list of an archive's files; it has some dozen of them, of a hundred bytes each.
_LARGEST_LIST = 1 << 20
_END = b"PK\x05\x06"
_END_OF_LARGE = b"PK\x06\x07"


def opened_archive(content: bytes, path: str, broken: FileFormatError) -> zipfile.ZipFile:
    """Open an archive whose files are not too many and not too large together.

    zipfile gives no more bytes of a file than the archive's list says, so that the list can be
    relied on. What is no archive is refused as `broken`.
    """
    _refuse_long_list(content, path, broken)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        raise broken from None
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > LARGEST_UNPACKED:
        raise FileFormatError(
            f"{path!r} must unpack to at most {LARGEST_UNPACKED:,} bytes; it says that it has "
            f"{unpacked:,}"
        )
    return archive


def _refuse_long_list(content: bytes, path: str, broken: FileFormatError) -> None:
    """Look at the archive's last words: zipfile would read the whole list at once."""
    end = content.rfind(_END, max(0, len(content) - (1 << 16) - 22))
    if end < 0 or len(content) < end + 22:
        raise broken
    size = int.from_bytes(content[end + 12 : end + 16], "little")
    # Archives of more than 4 GB say it elsewhere.
    if size > _LARGEST_LIST or content[max(0, end - 20) : end].startswith(_END_OF_LARGE):
        raise FileFormatError(f"{path!r} must hold few files; it says that it has many")
