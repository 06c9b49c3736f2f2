"""Storage interface: one append-only log per study, with a lock.

Storages do not interpret entries. `mislid.study.storage` has the implementations, and
`mislid.testing.StorageSuite` tests them and custom ones.
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
    """The database rolled back a transaction because of a concurrent one; a retry may succeed."""


class Line(NamedTuple):
    """A study in the list of a storage, without its entries.

    Attributes
    ----------
    name, key
        The study's name and key.
    last
        Number of its entries.
    summary
        Summary of all entries, or None if none was given with the last one.
    """

    name: str
    key: int
    last: int
    summary: str | None


class Storage(ABC):
    """A collection of studies by name.

    Within a storage, every study has a key that no later study reuses. Besides the errors below,
    every method that reads or writes raises a `StorageError` if the storage itself fails, such as a
    full disk or a lost connection.
    """

    @abstractmethod
    def create(self, name: str, entries: Sequence[Entry]) -> int:
        """Create a study with its first entries, all or none.

        Parameters
        ----------
        name
            The study's name, a nonempty text.
        entries
            The entries, numbered from 1.

        Returns
        -------
        int
            The study's key.

        Raises
        ------
        ProblemError
            If the name is not a text, or is empty.
        DuplicatedStudyError
            If the name is taken: `name_taken_error`.
        CorruptStorageError
            If the entries are not numbered from 1.
        """

    @abstractmethod
    def lines(self) -> list[Line]:
        """The list of all studies, in alphabetical order.

        Returns
        -------
        list of Line
            One line per study.
        """

    @abstractmethod
    def read(self, key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        """Read entries of a study like `Log.read`, without waiting for writers.

        Parameters
        ----------
        key
            The study's key.
        after, most
            As for `Log.read`.

        Returns
        -------
        list of Entry
            The entries, in order.

        Raises
        ------
        UnknownStudyError
            If the study has been deleted: `study_deleted_error`.
        """

    @abstractmethod
    def locked(self, key: int) -> AbstractContextManager[Log]:
        """The study's log, locked for one writer; other writers wait.

        Parameters
        ----------
        key
            The study's key.

        Returns
        -------
        context manager of Log
            If the block raises no exception, all appended entries are kept; otherwise none.

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
            The study's key, which no later study may get.

        Raises
        ------
        UnknownStudyError
            If the study has been deleted.
        """

    def close(self) -> None:  # noqa: B027  # not every storage has any
        """Close all connections; a later call opens new ones."""

    def faults(self, key: int) -> list[str]:
        """Descriptions of faults that reading a study's entries does not reveal.

        Parameters
        ----------
        key
            The study's key; the study may have been deleted.

        Returns
        -------
        list of str
            One description per fault. Always empty for storages without such a check.

        Raises
        ------
        StorageError
            If the check cannot read the storage.
        """
        del key
        return []

    def names(self) -> dict[str, int]:
        """The keys of all studies by name, in alphabetical order.

        Returns
        -------
        dict
            A map from names to keys.
        """
        return {line.name: line.key for line in self.lines()}

    def find(self, name: str) -> int:
        """The key of a study.

        Parameters
        ----------
        name
            The study's name.

        Returns
        -------
        int
            The key.

        Raises
        ------
        UnknownStudyError
            If there is no such study; the message names some existing ones.
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
        The name of the existing study.

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
    """The error for a study that has been deleted.

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
