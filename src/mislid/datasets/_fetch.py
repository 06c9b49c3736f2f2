"""Fetch published files into the data directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from mislid.datasets._catalogue import Collection, DataFile, Download, collection_named
from mislid.datasets._download import Progress, disk_errors, download
from mislid.datasets._places import data_directory
from mislid.errors import DownloadError, FileFormatError
from mislid.files import alone_in, write_whole

DOWNLOADS = "downloads"


def fetch(
    name: str,
    data: str | os.PathLike[str] | None = None,
    *,
    progress: Progress | None = None,
) -> tuple[Path, ...]:
    """Make sure that the files of a collection are in the data directory; give their paths.

    Files that are there with the right checksum are left alone, others are downloaded and checked.
    What was saved by hand as `downloads/NAME` is used as if it had been downloaded.
    """
    collection = collection_named(name)
    folder = data_directory(data)
    for file in collection.files:
        if not _is_right(file, folder):
            with _alone(file, folder):
                _get(file, folder, progress)
    _tidy(collection, folder)
    return tuple(folder / file.path for file in collection.files)


def is_complete(collection: Collection, folder: Path) -> bool:
    """Whether a directory has all files of a collection, with the right checksums."""
    return all(_is_right(file, folder) for file in collection.files)


def _is_right(file: DataFile, folder: Path) -> bool:
    try:
        return file.digest((folder / file.path).read_bytes()) == file.checksum
    except (OSError, FileFormatError):
        return False


@contextlib.contextmanager
def _alone(file: DataFile, folder: Path) -> Iterator[None]:
    """Two processes must not append to the same download."""
    wanted = file.downloads[0]
    place = _place(wanted, folder)
    with _way_out(file, wanted, folder), disk_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    refusal = DownloadError(f"another process is fetching into {str(folder)!r}; wait for its end")
    with alone_in(place.parent, refusal):
        yield


def _get(file: DataFile, folder: Path, progress: Progress | None) -> None:
    contents = []
    for wanted in file.downloads:
        place = _place(wanted, folder)
        with _way_out(file, wanted, folder):
            download(wanted.url, place, progress)
        contents.append(place.read_bytes())
    with _way_out(file, file.downloads[0], folder):
        made = _made(file, contents, folder)
        target = folder / file.path
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, made)


def _made(file: DataFile, contents: list[bytes], folder: Path) -> bytes:
    try:
        made = file.make(contents)
        got = file.digest(made)
        if got == file.checksum:
            return made
        problem = f"its checksum is {got}, not {file.checksum}"
    except FileFormatError as wrong:
        problem = str(wrong)
    for wanted in file.downloads:
        _place(wanted, folder).unlink(missing_ok=True)
    raise DownloadError(
        f"what was downloaded for {file.path} is not the published file, and was deleted: {problem}"
    )


@contextlib.contextmanager
def _way_out(file: DataFile, wanted: Download, folder: Path) -> Iterator[None]:
    try:
        yield
    except DownloadError as problem:
        raise DownloadError(
            f"{problem}; by hand: save {wanted.url} as {str(_place(wanted, folder))!r} and make "
            f"the same call again, or name a directory that has {file.path} with --data or "
            "MISLID_DATA"
        ) from None


def _tidy(collection: Collection, folder: Path) -> None:
    """Remove what was downloaded, now that files are made of it."""
    for file in collection.files:
        for wanted in file.downloads:
            with contextlib.suppress(OSError):
                _place(wanted, folder).unlink()
    with contextlib.suppress(OSError):
        (folder / DOWNLOADS).rmdir()


def _place(wanted: Download, folder: Path) -> Path:
    return folder / DOWNLOADS / wanted.name
