"""Detection of SQLite files that were deleted or replaced while open."""

from __future__ import annotations

from pathlib import Path

from mislid.errors import StorageError

Identity = tuple[int, int]


class WatchedFile:
    """An SQLite file and its write-ahead log, which must stay in place while they are open.

    A process that has a file open can still write to it after it was deleted or replaced, but these
    writes are lost when the process closes it.
    """

    def __init__(self, file: Path | None, place: str) -> None:
        self._file, self._place = file, place
        self._known: Identity | None = None
        self._ahead: Identity | None = None

    def forget(self) -> None:
        """Forget the files after closing them; the next check accepts the files it finds."""
        self._known = self._ahead = None

    def refuse_replaced(self) -> None:
        """Refuse a file that differs from the one found first."""
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
