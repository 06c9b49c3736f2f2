"""The stopping rules by name: when an answer may be given, and what stands behind it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mislid._words import shown
from mislid.errors import ProblemError

NO_GUARANTEE = "no guarantee"


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """What a person should know about a rule.

    Attributes
    ----------
    name
        As `stopping=` takes it.
    description
        One line.
    proof
        What bounds the probability of a wrong answer by delta, or "no guarantee". A proof holds for
        any sampling rule that does not look ahead, and for means within the declared
        misspecification.
    judge
        The rule itself where it is written in Python; None for compiled ones.

    Examples
    --------
    >>> print(STOPPING_RULES["heuristic"])
    heuristic (no guarantee): one threshold ln((1 + ln(t + 1)) / delta), as in the published runs
    """

    name: str
    description: str
    proof: str
    judge: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def guaranteed(self) -> bool:
        """Whether the probability of a wrong answer is proven to be at most delta."""
        return self.proof != NO_GUARANTEE

    def __str__(self) -> str:
        label = "proven" if self.guaranteed else NO_GUARANTEE
        return f"{self.name} ({label}): {self.description}"


STOPPING_RULES: Mapping[str, StoppingRule] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            StoppingRule(
                "guaranteed",
                "every pair settled, at some time, by evidence centred at the null",
                "Ville's inequality for the likelihood ratio of displaced means",
            ),
            StoppingRule(
                "paper",
                "the paper's min(beta_uns, beta_lin), beta_lin corrected",
                "the paper's, with delta/2 in beta_lin; beta_lin waits for V >= 2 L^2 I",
            ),
            StoppingRule(
                "paper-printed",
                "the paper's thresholds as printed, for comparison",
                NO_GUARANTEE,
            ),
            StoppingRule(
                "heuristic",
                "one threshold ln((1 + ln(t + 1)) / delta), as in the published runs",
                NO_GUARANTEE,
            ),
        )
    }
)


# Rules of earlier releases: two parts of what `guaranteed` was. Its proof has taken their place.
RETIRED = ("mixture", "pairwise")

# How studies call rules that are written in Python: this, then module and class.
PYTHON = "python:"


def stopping_rule_called(name: str) -> StoppingRule:
    """What is known of a rule that a study names.

    Examples
    --------
    >>> stopping_rule_called("python:lab:Patient").guaranteed
    False
    """
    return STOPPING_RULES.get(name) or StoppingRule(name, "written in Python", NO_GUARANTEE)


def retirement(name: str) -> str:
    """What to tell those who ask for a rule that is retired.

    Examples
    --------
    >>> retirement("mixture")
    "stopping='mixture' is now 'guaranteed', whose proof needs fewer measurements"
    """
    return f"stopping={name!r} is now 'guaranteed', whose proof needs fewer measurements"


def as_stopping_rule(stopping: Any) -> StoppingRule:
    """The rule of this name, or an object with `judge(view)` as a rule.

    Parameters
    ----------
    stopping
        A name in `STOPPING_RULES` or of a rule that is retired, or an object. Its attribute
        `guaranteed` says whether its error rate is proven to be at most delta; without it nothing
        is claimed.

    Returns
    -------
    StoppingRule
        With the object's `judge`, if it is one.

    Raises
    ------
    ProblemError
        If it is neither.

    Examples
    --------
    >>> as_stopping_rule("paper").guaranteed
    True
    """
    if isinstance(stopping, StoppingRule):
        return stopping
    if isinstance(stopping, str) and stopping in RETIRED:
        warnings.warn(retirement(stopping), DeprecationWarning, stacklevel=2)
        stopping = "guaranteed"
    if isinstance(stopping, str) and stopping in STOPPING_RULES:
        return STOPPING_RULES[stopping]
    judge = getattr(stopping, "judge", None)
    if not callable(judge) or isinstance(stopping, type):
        names = ", ".join(STOPPING_RULES)
        raise ProblemError(
            f"stopping must be one of {names}, or an object with judge(view); got {shown(stopping)}"
        )
    name = str(getattr(stopping, "name", type(stopping).__name__))
    if name in STOPPING_RULES:
        raise ProblemError(f"stopping must not call itself by a name of this package; got {name!r}")
    proven = bool(getattr(stopping, "guaranteed", False))
    return StoppingRule(
        name, "written in Python", "by its author" if proven else NO_GUARANTEE, judge
    )
