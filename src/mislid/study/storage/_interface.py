"""What a study needs of the place where it is kept: an append-only log per study, and a lock.

A storage knows nothing of what the entries mean. `mislid.study.storage` has those there are; the
tests hold one suite that each must pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from mislid.errors import (
    CorruptStorageError,
    DuplicatedStudyError,
    StorageError,
    UnknownStudyError,
)
from mislid.study.events import Entry


class Collision(StorageError):
    """The database undid a transaction because of another one; doing it again will help."""


class Line(NamedTuple):
    """What a storage says of a study without its entries: their number, and a summary if given."""

    name: str
    key: int
    last: int
    summary: str | None


class Log(ABC):
    """One study's log, while nobody else can add to it."""

    @abstractmethod
    def read(self, after: int = 0, most: int | None = None) -> list[Entry]:
        """The entries whose sequence number is above `after`, in order, or the first `most`."""

    @abstractmethod
    def append(self, entries: Sequence[Entry], summary: str | None = None) -> None:
        """Add entries, numbered on from the last one; `refuse_gap` otherwise.

        The summary is of all entries by then, for `Storage.lines`; one of fewer is dropped.
        """


class Storage(ABC):
    """Studies by name; within a storage a study has a key that no later one is given again."""

    @abstractmethod
    def create(self, name: str, entries: Sequence[Entry]) -> int:
        """Begin a study with these entries, all or none, and give its key.

        Raises `DuplicatedStudyError` where the name is taken.
        """

    @abstractmethod
    def lines(self) -> list[Line]:
        """A line about every study, in alphabetical order."""

    @abstractmethod
    def read(self, key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        """As `Log.read`; waits for nobody.

        Raises `UnknownStudyError` where the study has been deleted.
        """

    @abstractmethod
    def locked(self, key: int) -> AbstractContextManager[Log]:
        """The study's log for one writer.

        What was appended is kept, all or none, when the block ends without an exception.
        """

    @abstractmethod
    def delete(self, key: int) -> None:
        """Remove a study and its entries."""

    def close(self) -> None:  # noqa: B027  # not every storage has any
        """Give up connections; the storage opens new ones when it is used again."""

    def names(self) -> dict[str, int]:
        """The keys of all studies by name, in alphabetical order."""
        return {line.name: line.key for line in self.lines()}

    def find(self, name: str) -> int:
        """The key of the study of this name."""
        names = self.names()
        if name not in names:
            known = ", ".join(repr(other) for other in list(names)[:5]) or "none"
            more = ", ..." if len(names) > 5 else ""
            raise UnknownStudyError(
                f"study_name must be of a study in this storage, {known}{more}; got {name!r}"
            )
        return names[name]


def refuse_gap(last: int, entries: Sequence[Entry]) -> None:
    """Refuse entries that do not go on from the last one."""
    for place, entry in enumerate(entries, start=last + 1):
        if entry.sequence != place:
            raise CorruptStorageError(
                f"event {place} must come next; got event {entry.sequence}: read the log again "
                "before adding to it"
            )


def taken(name: str) -> DuplicatedStudyError:
    """The error for a name that is taken."""
    return DuplicatedStudyError(
        f"study_name must be new; got {name!r}, which is there already: give another name, or "
        "load_if_exists=True to go on with it"
    )


def gone() -> UnknownStudyError:
    """The error for a study that was there before."""
    return UnknownStudyError("the study has been deleted meanwhile: create it anew to go on")
