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
    """A published file is missing or could not be fetched; the message says how to get it."""


class CertificateError(MislidError, ArithmeticError):
    """A solver could not certify its result, so there is none."""


class MissingPackageError(MislidError, ImportError):
    """An optional package is not installed; the message says how to get it."""


class UnknownStudyError(ProblemError, KeyError):
    """There is no study of this name; the message lists the existing ones."""

    __str__ = Exception.__str__


class DuplicatedStudyError(ProblemError):
    """A study of this name exists already."""


class UnknownTrialError(ProblemError, KeyError):
    """The study has handed out no such trial."""

    __str__ = Exception.__str__


class ConflictingTellError(ProblemError):
    """A trial was told another value before; the study keeps the first one."""


class StorageError(MislidError):
    """A storage of studies failed; the message says what to do."""


class CorruptStorageError(StorageError):
    """The stored data are damaged: of one study, whose name is `study`, or all."""

    study: str | None = None


class UnknownOutcomeError(StorageError):
    """The connection broke during a commit, which may or may not have succeeded.

    A second call with the same key is counted once.

    Parameters
    ----------
    message
        What happened.
    key
        Idempotency key for the second call; None if a repeated call never counts twice.
    """

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class LockedStorageError(StorageError):
    """Another process has held the lock of the storage for too long."""


class ReadOnlyStorageError(StorageError):
    """The storage cannot be written to."""


class FullStorageError(StorageError):
    """The storage has no room for another event."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed during a replication; `rows` are the finished runs.

    It is not an `Exception`, so a script that catches every `Exception` still ends.

    Parameters
    ----------
    message
        The number of finished runs, and where they are stored.
    rows
        The finished runs, one record each.
    """

    def __init__(self, message: str, rows: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class OutsideTubeWarning(UserWarning):
    """The true means of an instance are outside its model."""


class ContradictedWarning(UserWarning):
    """The data refute a declaration; nothing is proved until it is corrected."""


class ImplausibleValueWarning(UserWarning):
    """A value is so far from what the other data predict that it may be a typing error."""
