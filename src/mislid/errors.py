"""Exceptions and warnings."""

from collections.abc import Sequence

__all__ = [
    "CertificateError",
    "ConflictingTellError",
    "ContradictedWarning",
    "CorruptStorageError",
    "DuplicatedStudyError",
    "FileFormatError",
    "FullStorageError",
    "ImplausibleValueWarning",
    "Interrupted",
    "LockedStorageError",
    "MislidError",
    "MissingDataError",
    "MissingPackageError",
    "OutsideTubeWarning",
    "ProblemError",
    "ReadOnlyStorageError",
    "StorageError",
    "UnknownOutcomeError",
    "UnknownStudyError",
    "UnknownTrialError",
]


class MislidError(Exception):
    """Base class of the exceptions of this package.

    Examples
    --------
    >>> issubclass(ProblemError, MislidError) and issubclass(ProblemError, ValueError)
    True
    """


class ProblemError(MislidError, ValueError):
    """A value is not allowed; the message names the argument, the value and what is allowed."""


class FileFormatError(ProblemError):
    """A file cannot be read, or lacks data that it must have."""


class MissingDataError(MislidError, FileNotFoundError):
    """A published file is not there or could not be fetched; the message says how to get it."""


class CertificateError(MislidError, ArithmeticError):
    """A solver could not certify its result, and returns none."""


class MissingPackageError(MislidError, ImportError):
    """An optional package is not installed; the message says how to get it."""


class UnknownStudyError(ProblemError, KeyError):
    """There is no study of this name; the message lists those there are."""

    __str__ = Exception.__str__


class DuplicatedStudyError(ProblemError):
    """A study of this name exists already."""


class UnknownTrialError(ProblemError, KeyError):
    """The study has handed out no such trial."""

    __str__ = Exception.__str__


class ConflictingTellError(ProblemError):
    """A trial was told something else before; the study keeps what it was told first."""


class StorageError(MislidError):
    """A storage of studies failed; the message says what to do."""


class CorruptStorageError(StorageError):
    """The stored data are damaged: of one study, whose name is `study`, or all."""

    study: str | None = None


class UnknownOutcomeError(StorageError):
    """The connection broke during a commit: whether it succeeded is not known.

    Calling again with the same key counts once.

    Parameters
    ----------
    message
        What happened.
    key
        The one to call again with; None where the same call never counts twice.
    """

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class LockedStorageError(StorageError):
    """Another process holds the lock of the storage for too long."""


class ReadOnlyStorageError(StorageError):
    """The storage cannot be written to."""


class FullStorageError(StorageError):
    """There is no room left for another event."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed during many runs; `rows` are those that had finished.

    Not an `Exception`, so that a script that catches those still ends.

    Parameters
    ----------
    message
        How many runs had finished, and where they are kept.
    rows
        The finished runs, one record each.
    """

    def __init__(self, message: str, rows: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class OutsideTubeWarning(UserWarning):
    """The true means of an instance are outside of its model."""


class ContradictedWarning(UserWarning):
    """A study's data refute a declaration: nothing is proved until that is corrected."""


class ImplausibleValueWarning(UserWarning):
    """A value is far outside of what the other data allow, like a typing error."""
