"""The stopping rules by name: when an answer may be given, and what stands behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from mislid._formatting import shown
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
"""The stopping rules of studies and simulations, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelihoodRatio(StoppingRule):
    """The generalised likelihood ratio test of linear models, as published comparisons use it.

    The statistic of a pair is `(mean_j - mean_i)^2 / (2 |x_i - x_j|^2_{V^-1})` in a ridge
    regression, and every pair's must exceed the threshold. With a misspecification it is the cost
    of the pair's closest alternative in the tube.

    Attributes
    ----------
    selective
        Whether a pair whose statistic was above the threshold once stays settled (Tirinzoni and
        Degenne 2022); an arm that beats all but m - 1, or for m = 1 that another beats, has no open
        pairs.
    threshold
        "logarithmic", ln((t + 1) / delta), or "heuristic", ln((1 + ln(t + 1)) / delta).
    ridge
        V begins with this times the identity, in units of the mean precision of a measurement;
        nothing where there is a misspecification.

    Examples
    --------
    >>> print(LikelihoodRatio(selective=True))
    glr-selective (no guarantee): likelihood ratio above ln((t + 1) / delta); pairs stay settled
    """

    name: str = field(init=False, repr=False)
    description: str = field(init=False, repr=False)
    proof: str = field(default=NO_GUARANTEE, init=False, repr=False)
    judge: Callable[[Any], Any] | None = field(default=None, init=False, repr=False)
    selective: bool = False
    threshold: Literal["logarithmic", "heuristic"] = "logarithmic"
    ridge: float = 1.0

    def __post_init__(self) -> None:
        known = {
            "logarithmic": "ln((t + 1) / delta)",
            "heuristic": "ln((1 + ln(t + 1)) / delta)",
        }
        if self.threshold not in known:
            raise ProblemError(
                f"threshold must be 'logarithmic' or 'heuristic'; got {shown(self.threshold)}"
            )
        if not 0.0 < self.ridge < float("inf"):
            raise ProblemError(f"ridge must be a positive number; got {shown(self.ridge)}")
        settled = "; pairs stay settled" if self.selective else ""
        description = f"likelihood ratio above {known[self.threshold]}{settled}"
        object.__setattr__(self, "name", "glr-selective" if self.selective else "glr")
        object.__setattr__(self, "description", description)

    def __str__(self) -> str:
        return f"{self.name} ({self.proof}): {self.description}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FurthestAnswer(StoppingRule):
    """The rule `heuristic`, for the furthest among the answers that a tolerance calls good enough.

    The answer of Jourdan and Degenne (2022): the one whose closest alternative is furthest at the
    present counts. Sampling rules that answer the closest alternative answer its. Without a
    tolerance nothing differs from `heuristic`.

    Examples
    --------
    >>> print(FurthestAnswer())
    furthest (no guarantee): as heuristic, for the furthest answer that is good enough
    """

    name: str = field(default="furthest", init=False, repr=False)
    description: str = field(
        default="as heuristic, for the furthest answer that is good enough", init=False, repr=False
    )
    proof: str = field(default=NO_GUARANTEE, init=False, repr=False)
    judge: Callable[[Any], Any] | None = field(default=None, init=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name} ({self.proof}): {self.description}"


PUBLISHED_RULES: Mapping[str, StoppingRule] = MappingProxyType(
    {
        rule.name: rule
        for rule in (LikelihoodRatio(), LikelihoodRatio(selective=True), FurthestAnswer())
    }
)
"""Rules of published comparisons, for simulations, by their names; studies do not stop by them."""


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


def as_stopping_rule(stopping: Any) -> StoppingRule:
    """The rule of this name, or an object with `judge(view)` as a rule.

    Parameters
    ----------
    stopping
        A name in `STOPPING_RULES` or `PUBLISHED_RULES`, or an object.
        Its attribute `guaranteed` says whether its error rate is proven to be at most delta;
        without it nothing is claimed.

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
    known = {**STOPPING_RULES, **PUBLISHED_RULES}
    if isinstance(stopping, str) and stopping in known:
        return known[stopping]
    judge = getattr(stopping, "judge", None)
    if not callable(judge) or isinstance(stopping, type):
        names = ", ".join(known)
        raise ProblemError(
            f"stopping must be one of {names}, or an object with judge(view); got {shown(stopping)}"
        )
    name = str(getattr(stopping, "name", type(stopping).__name__))
    if name in known:
        raise ProblemError(f"stopping must not call itself by a name of this package; got {name!r}")
    proven = bool(getattr(stopping, "guaranteed", False))
    return StoppingRule(
        name, "written in Python", "by its author" if proven else NO_GUARANTEE, judge
    )
