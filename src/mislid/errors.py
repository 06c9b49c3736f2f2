"""The exceptions and warnings of the package, one tree."""

__all__ = [
    "CertificateError",
    "FileFormatError",
    "MislidError",
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


class CertificateError(MislidError, ArithmeticError):
    """A solve could not certify its answer, so it returns none."""


class OutsideTubeWarning(UserWarning):
    """The true means of an instance lie outside the model they were declared to belong to."""
