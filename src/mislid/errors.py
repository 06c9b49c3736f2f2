"""The exceptions and warnings of the package, one tree."""

from collections.abc import Sequence

__all__ = [
    "CertificateError",
    "ConflictingTellError",
    "ContradictedWarning",
    "CorruptStorageError",
    "DownloadError",
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
    "SchemaVersionError",
    "StorageError",
    "UnknownOutcomeError",
    "UnknownStudyError",
    "UnknownTrialError",
]


class MislidError(Exception):
    """Anything this package raises on purpose.

    Examples
    --------
    >>> issubclass(ProblemError, MislidError) and issubclass(ProblemError, ValueError)
    True
    """


class ProblemError(MislidError, ValueError):
    """A value that was passed in is not allowed; the message names it and what is."""


class FileFormatError(ProblemError):
    """A file cannot be read, or lacks what an instance needs."""


class MissingDataError(MislidError, FileNotFoundError):
    """A published file is not in the data directory; the message says how to get it."""


class DownloadError(MislidError):
    """A published file could not be fetched; the message says how to go on, or by hand."""


class CertificateError(MislidError, ArithmeticError):
    """A solve could not certify its answer, so it returns none."""


class MissingPackageError(MislidError, ImportError):
    """An optional package is not installed; the message says how to get it."""


class UnknownStudyError(ProblemError, KeyError):
    """There is no study of this name; the message lists those there are."""

    __str__ = Exception.__str__


class DuplicatedStudyError(ProblemError):
    """There is a study of this name already."""


class UnknownTrialError(ProblemError, KeyError):
    """The study has handed out no such trial."""

    __str__ = Exception.__str__


class ConflictingTellError(ProblemError):
    """A trial was told something else before; the study keeps what it was told first."""


class StorageError(MislidError):
    """The place where studies are kept does not do its work; the message says what would help."""


class CorruptStorageError(StorageError):
    """What is stored cannot be read as studies."""


class UnknownOutcomeError(StorageError):
    """The connection broke while something was being written: whether it was is not known.

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
    """Another process has held the storage for too long."""


class ReadOnlyStorageError(StorageError):
    """The storage cannot be written to."""


class FullStorageError(StorageError):
    """There is no room left for another event."""


class SchemaVersionError(StorageError):
    """The storage was written by an older or newer release, in another schema."""


class Interrupted(KeyboardInterrupt):
    """Someone pressed Ctrl-C during many runs; `rows` are those that had finished.

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
    """The true means of an instance lie outside the model they were declared to belong to."""


class ContradictedWarning(UserWarning):
    """A study's data refute what was declared: it claims no proof until that is mended."""


class ImplausibleValueWarning(UserWarning):
    """A value that was told is far outside of everything that is known, as a typing error is."""
