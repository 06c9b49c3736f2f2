"""The verdict on a certificate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """What of a certificate does not hold; true where everything does.

    Attributes
    ----------
    failures
        One sentence for each statement that does not hold.

    Examples
    --------
    >>> print(Check(()))
    holds
    >>> bool(Check(("the multipliers do not sum to zero: 0.3",)))
    False
    """

    failures: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every statement of the certificate holds."""
        return not self.failures

    def __bool__(self) -> bool:
        """Whether every statement of the certificate holds."""
        return self.ok

    def __str__(self) -> str:
        """Say "holds" or what fails."""
        return "holds" if self.ok else "; ".join(self.failures)
