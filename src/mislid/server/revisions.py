"""Events by which what was known was changed: corrections, and other declarations.

They are few among many, so their numbers are found once for all who look, and the rest is read
when somebody wants it.
"""

from __future__ import annotations

import threading
from array import array

from mislid.study.events import Entry
from mislid.study.storage import Storage

KINDS = frozenset(
    ("corrected", "voided", "redeclared", "accepted", "added", "retired", "contradicted")
)
# Events that are read at once, and studies whose numbers are kept.
_AT_ONCE, _MOST = 5_000, 32


class _Found:
    """Those of one log, up to an event."""

    def __init__(self) -> None:
        self.until = 0
        self.numbers = array("q")
        self.newest: list[Entry] = []
        self.alone = threading.Lock()


class Revisions:
    """Finds and keeps them."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._found: dict[int, _Found] = {}
        self._alone = threading.Lock()

    def forget(self, key: int) -> None:
        """Read the log anew, from its beginning."""
        with self._alone:
            self._found.pop(key, None)

    def before(self, key: int, number: int | None, most: int) -> tuple[list[Entry], int]:
        """The last ones before an event, or of all, the newest first; and how many there are."""
        found = self._of(key)
        with found.alone:
            self._read_on(key, found)
            count = len(found.numbers)
            if number is None and len(found.newest) == min(most, count):
                return found.newest, count
            wanted = [one for one in found.numbers if number is None or one < number][-most:]
            entries = [entry for one in reversed(wanted) for entry in self._one(key, one)]
            if number is None:
                found.newest = entries
        return entries, count

    def _one(self, key: int, number: int) -> list[Entry]:
        return self._storage.read(key, number - 1, 1)

    def _read_on(self, key: int, found: _Found) -> None:
        while entries := self._storage.read(key, found.until, _AT_ONCE):
            new = [one.sequence for one in entries if one.kind in KINDS]
            found.numbers.extend(new)
            found.until = entries[-1].sequence
            if new:
                found.newest = []

    def _of(self, key: int) -> _Found:
        with self._alone:
            found = self._found.pop(key, None) or _Found()
            self._found[key] = found
            if len(self._found) > _MOST:
                self._found.pop(next(iter(self._found)))
        return found
