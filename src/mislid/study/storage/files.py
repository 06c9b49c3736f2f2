"""The files of SQLite: whether they are still those that were opened."""

from __future__ import annotations

from pathlib import Path

from mislid.errors import StorageError

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


def _identity(file: Path) -> Identity | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
