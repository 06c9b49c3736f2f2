"""The files of SQLite: whether they are still those that were opened."""

from __future__ import annotations

import os
from pathlib import Path

from mislid.errors import ReadOnlyStorageError, StorageError

Identity = tuple[int, int]


class WatchedFile:
    """A file that must stay where it is while it is open, with the one that is written ahead.

    A file that is deleted or replaced lives on for those who have it open: what they write is lost
    when they close it.
    """

    def __init__(self, file: Path | None, place: str) -> None:
        self._file, self._place = file, place
        self._known: Identity | None = None
        self._ahead: Identity | None = None

    def forget(self) -> None:
        """Nothing is open any more: what is found next is right."""
        self._known = self._ahead = None

    def refuse_replaced(self) -> None:
        """Refuse a file that is not the one that was there first."""
        if self._file is None:
            return
        now = _identity(self._file)
        if self._known is not None and now != self._known:
            raise self._replaced(str(self._file), now)
        self._known = now
        ahead = Path(f"{self._file}-wal")
        written = _identity(ahead)
        if self._ahead is not None and written != self._ahead:
            raise self._replaced(str(ahead), written)
        self._ahead = written

    def _replaced(self, name: str, now: Identity | None) -> StorageError:
        what = "deleted or moved" if now is None else "replaced"
        return StorageError(
            f"storage {self._place!r} was changed while it was open: {name!r} was {what}. What was "
            "written since may be lost: put the file back or restore a backup, and open it again"
        )


def is_read_only(file: Path) -> bool:
    """Whether it is on a file system that no user can write to."""
    try:
        return bool(os.statvfs(file).f_flag & os.ST_RDONLY)
    except (OSError, AttributeError):  # not there, or not a Unix
        return False


Stamp = tuple[int, int] | None


def stamp_of(file: Path) -> Stamp:
    """What a write to a closed file changes; None while a process has it open for writing.

    A file that one may only read, by its permissions, is read by itself while it has no other that
    is written ahead: SQLite would make one, and keep out those who may write.
    """
    if Path(f"{file}-wal").exists():
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def is_for_reading(file: Path) -> bool:
    """Whether its permissions let one read it, and not write it."""
    return os.access(file, os.R_OK) and not os.access(file, os.W_OK) and not is_read_only(file)


def refuse_unread(file: Path, place: str) -> None:
    """Refuse a file, of which nothing but itself can be read, if a part of it is elsewhere."""
    ahead = Path(f"{file}-wal")
    if ahead.exists() and ahead.stat().st_size:
        raise ReadOnlyStorageError(
            f"storage {place!r} was not closed when it was last written to, and cannot be finished "
            "where it is, on a file system that may only be read: copy it with its -wal file to "
            "another place"
        )


def _identity(file: Path) -> Identity | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
