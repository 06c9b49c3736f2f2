"""What a study needs of the place where it is kept: an append-only log per study, and a lock.

A storage knows nothing of what the entries mean. `mislid.study.storage` has those there are; one
suite of tests, `mislid.testing.StorageSuite`, is for all of them and for others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, cast

from mislid._formatting import did_you_mean, shown
from mislid.errors import DuplicatedStudyError, StorageError, UnknownStudyError
from mislid.study.events import Entry, Log


class Collision(StorageError):
    """The database undid a transaction because of another one; doing it again will help."""


class Line(NamedTuple):
    """What a storage says of a study without its entries.

    Attributes
    ----------
    name, key
        Of the study.
    last
        Number of its entries.
    summary
        Of all of them, or None where none was given with the last one.
    """

    name: str
    key: int
    last: int
    summary: str | None


class Storage(ABC):
    """Studies by name; within a storage a study has a key that no later one is given again.

    Besides the errors below, what reads or writes raises a `StorageError` where the place itself
    does not do its work, such as a disk that is full or a server that went away.
    """

    @abstractmethod
    def create(self, name: str, entries: Sequence[Entry]) -> int:
        """Begin a study with these entries, all or none.

        Parameters
        ----------
        name
            Of the study, a text that is not empty.
        entries
            Numbered from 1.

        Returns
        -------
        int
            The study's key.

        Raises
        ------
        ProblemError
            If the name is no text, or an empty one.
        DuplicatedStudyError
            If the name is taken: `name_taken_error`.
        CorruptStorageError
            If the entries are not numbered from 1.
        """

    @abstractmethod
    def lines(self) -> list[Line]:
        """A line about every study, in alphabetical order.

        Returns
        -------
        list of Line
            Of all studies.
        """

    @abstractmethod
    def read(self, key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        """As `Log.read`; does not wait for writers.

        Parameters
        ----------
        key
            Of the study.
        after, most
            As for `Log.read`.

        Returns
        -------
        list of Entry
            In their order.

        Raises
        ------
        UnknownStudyError
            If the study has been deleted: `study_deleted_error`.
        """

    @abstractmethod
    def locked(self, key: int) -> AbstractContextManager[Log]:
        """The study's log for one writer; others wait.

        Parameters
        ----------
        key
            Of the study.

        Returns
        -------
        context manager of Log
            What is appended is kept, all or none, when the block ends without an exception.

        Raises
        ------
        UnknownStudyError
            If the study has been deleted.
        """

    @abstractmethod
    def delete(self, key: int) -> None:
        """Remove a study and its entries.

        Parameters
        ----------
        key
            Of the study; no later study may get it.

        Raises
        ------
        UnknownStudyError
            If the study has been deleted.
        """

    def close(self) -> None:  # noqa: B027  # not every storage has any
        """Give up connections; the storage opens new ones when it is used again."""

    def faults(self, key: int) -> list[str]:
        """What is wrong with a study that reading its entries does not show, in words.

        Parameters
        ----------
        key
            Of the study, which need not be there any more.

        Returns
        -------
        list of str
            Empty unless a storage looks.

        Raises
        ------
        StorageError
            If a storage that looks cannot be read.
        """
        del key
        return []

    def names(self) -> dict[str, int]:
        """The keys of all studies by name, in alphabetical order.

        Returns
        -------
        dict
            From names to keys.
        """
        return {line.name: line.key for line in self.lines()}

    def find(self, name: str) -> int:
        """The key of the study of this name.

        Parameters
        ----------
        name
            Of the study.

        Returns
        -------
        int
            The key.

        Raises
        ------
        UnknownStudyError
            If there is no such study; the message names some that there are.
        """
        names, given = self.names(), cast(object, name)
        if not isinstance(given, str) or given not in names:
            known = ", ".join(repr(other) for other in list(names)[:5]) or "none"
            more = ", ..." if len(names) > 5 else ""
            raise UnknownStudyError(
                f"study_name must be of a study in this storage, {known}{more}; got {shown(name)}"
                f"{did_you_mean(name, names)}"
            )
        return names[name]


def name_taken_error(name: str) -> DuplicatedStudyError:
    """The error for a name that is taken.

    Parameters
    ----------
    name
        Of the study that is there already.

    Returns
    -------
    DuplicatedStudyError
        To be raised.

    Examples
    --------
    >>> raise name_taken_error("assay")
    Traceback (most recent call last):
    ...
    mislid.errors.DuplicatedStudyError: study_name must be new; got 'assay', which is there ...
    """
    return DuplicatedStudyError(
        f"study_name must be new; got {name!r}, which is there already: give another name, or "
        "go on with it by load_if_exists=True (--load-if-exists)"
    )


def study_deleted_error() -> UnknownStudyError:
    """The error for a study that was there before.

    Returns
    -------
    UnknownStudyError
        To be raised.

    Examples
    --------
    >>> str(study_deleted_error())
    'the study has been deleted meanwhile: create it again to go on'
    """
    return UnknownStudyError("the study has been deleted meanwhile: create it again to go on")
