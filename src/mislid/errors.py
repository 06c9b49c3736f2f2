"""The exceptions and warnings of the package, one tree."""

from collections.abc import Sequence

__all__ = [
    "CertificateError",
    "DownloadError",
    "FileFormatError",
    "Interrupted",
    "MislidError",
    "MissingDataError",
    "MissingPackageError",
    "OutsideTubeWarning",
    "ProblemError",
]


class MislidError(Exception):
    """Anything this package raises on purpose.

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


class Interrupted(KeyboardInterrupt):
    """Someone pressed Ctrl-C during many runs; `rows` are those that had finished.

    Not an `Exception`, so that a script that catches those still ends.
    """

    def __init__(self, message: str, rows: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class OutsideTubeWarning(UserWarning):
    """The true means of an instance lie outside the model they were declared to belong to."""
