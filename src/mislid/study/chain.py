"""The chain of a log: every entry carries a seal of itself and of the one before.

A seal is a SHA-256, without a secret: whoever changes, adds, drops or swaps entries has to write
all later seals anew, and then the last one, the head, is another. docs/reliability.md says what
that detects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from mislid.errors import CorruptStorageError
from mislid.study.events import Entry


def seal_of(before: str, entry: Entry) -> str:
    """The seal of an entry that follows one with the seal `before`, which is empty for none.

    >>> seal_of("", Entry(1, 12.5, "told", '{"trial":0,"value":0.7}'))[:12]
    '86b0ee57c5bf'
    """
    line = f"{before}\n{entry.sequence} {entry.time!r} {entry.kind} {entry.body}"
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


class Chain:
    """Follows a log from its beginning, or from a seal that is known.

    Entries of a storage that kept no seals have none. They may begin a log, and none may follow one
    that has a seal.

    Attributes
    ----------
    sequence, head
        Number and seal of the last entry.
    first
        Seal of the first entry: the study's identity, which its copies share.
    """

    def __init__(self, sequence: int = 0, head: str = "", first: str = "") -> None:
        self.sequence, self.head, self.first = sequence, head, first
        self._sealed = bool(head)

    def take_in(self, entries: Sequence[Entry]) -> list[Entry]:
        """The next entries of the log, with their seals; refuses what was not written so."""
        return [self._checked(entry) for entry in entries]

    def seal(self, entries: Sequence[Entry]) -> list[Entry]:
        """New entries, with their seals."""
        return [self._link(entry) for entry in entries]

    def _checked(self, entry: Entry) -> Entry:
        if entry.sequence != self.sequence + 1:
            raise broken(
                f"event {self.sequence + 1} of the study is missing, event {entry.sequence!r} was "
                "found in its place"
            )
        given, linked = entry.seal, self._link(entry)
        if given != linked.seal and (given or self._sealed):
            found = "its seal is missing" if not given else "its seal is of something else"
            raise broken(f"event {entry.sequence} of the study is not what was written: {found}")
        self._sealed = bool(given)
        return linked

    def _link(self, entry: Entry) -> Entry:
        self.head = seal_of(self.head, entry)
        self.sequence = entry.sequence
        self.first = self.first or self.head
        return entry if entry.seal == self.head else replace(entry, seal=self.head)


def broken(found: str) -> CorruptStorageError:
    """The error for a log that was changed.

    Parameters
    ----------
    found
        What is wrong, as the beginning of a sentence.

    Returns
    -------
    CorruptStorageError
        To be raised.
    """
    return CorruptStorageError(
        f"{found}. Nothing is decided from it: `mislid study check` looks at the whole log; "
        "restore the storage from a backup"
    )
