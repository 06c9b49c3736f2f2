"""Algorithms: a sampling rule, what it measures first, and its details.

An algorithm says which arms to measure; when to stop is another rule's business. These are records
of options; `mislid.engine` has the compiled rule of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mislid.algorithms.parts import AdaHedge, Direct, Empirical, Gain, Learner, Optimistic, Sampling
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.question import Question


@dataclass(frozen=True)
class Algorithm:
    """What all algorithms share.

    `own_test` marks rules that come with a stopping test of their own, used in its place when the
    heuristic stopping rule is asked for, as in the published runs. `every_arm` measures all arms
    once first instead of a barycentric spanner. `authors` follows the details of the
    published runs where they differ from the text. `can_select` marks rules that can leave out
    pairs that are settled, as `Selective` asks them to.
    """

    own_test = False
    can_select = False
    every_arm = False
    authors = False

    def check(self, question: Question) -> None:
        """Refuse what the algorithm is not made for.

        Parameters
        ----------
        question
            What it would have to answer.

        Raises
        ------
        ProblemError
            If the algorithm cannot.
        """


def _refuse_tricks(pulls: int | None, subset: int | None) -> None:
    for name, value, least in (("pulls", pulls, 1), ("subset", subset, 0)):
        if value is not None and value < least:
            raise ProblemError(f"{name} must be at least {least}; got {value}")


@dataclass(frozen=True)
class MisLid(Algorithm):
    """The paper's game between a learner and the closest alternative (Algorithm 1).

    Attributes
    ----------
    learner, gain, sampling
        Its parts, from `mislid.algorithms`.
    steps, pulls
        Updates of the learner and measurements a round; with pulls=None as many as there are
        features.
    subset
        The alternative uses only so many random challengers besides recent ones; 0 for all, None
        for as many as there are features.
    per_answer
        Whether there is one learner per answer, as LinGame has for m = 1.
    authors
        Whether to follow the details of the published runs.
    every_arm
        Whether all arms are measured once first, or a barycentric spanner.
    """

    can_select = True

    learner: Learner = field(default_factory=AdaHedge)
    gain: Gain = field(default_factory=Optimistic)
    sampling: Sampling = field(default_factory=Direct)
    steps: int = 1
    pulls: int | None = 1
    subset: int | None = 0
    per_answer: bool = False
    authors: bool = False
    every_arm: bool = False

    def check(self, question: Question) -> None:
        """Refuse more than one best arm where there is one learner per answer."""
        _refuse_tricks(self.pulls, self.subset)
        if self.per_answer and question.m != 1:
            raise ProblemError(
                f"m must be 1 for an algorithm with a learner per answer; got {question.m}"
            )


@dataclass(frozen=True)
class BestResponse(Algorithm):
    """Measure where the alternative closest to the data so far is told apart best.

    With the rule `guaranteed`, and where features say nothing, the arm is that which the proof asks
    for; gain, power and exploration play no part then, unless the proof aims at all arms.

    Attributes
    ----------
    gain
        What an arm is worth, from `mislid.algorithms`.
    power
        The gain is divided by counts^power.
    exploration
        An arm with fewer than `exploration` sqrt(t) measurements goes first.
    every_arm
        Whether all arms are measured once first, or a barycentric spanner.
    pulls, subset, authors
        As for `MisLid`.
    """

    can_select = True

    gain: Gain = field(default_factory=Empirical)
    power: float = 0.0
    exploration: float = 0.3
    every_arm: bool = False
    pulls: int | None = 1
    subset: int | None = 0
    authors: bool = False

    def check(self, question: Question) -> None:
        """Refuse impossible numbers of pulls and challengers."""
        _refuse_tricks(self.pulls, self.subset)


@dataclass(frozen=True)
class Uniform(Algorithm):
    """Every arm in turn."""

    every_arm = True


@dataclass(frozen=True)
class Oracle(Algorithm):
    """Tracks the optimal allocation of the true means: a yardstick, not a method."""


@dataclass(frozen=True)
class Selective(Algorithm):
    """A sampling rule that does not look at pairs which the stopping rule has settled.

    Selective elimination (Tirinzoni and Degenne 2022). It needs a stopping rule that settles pairs
    one by one: `guaranteed`, or `LikelihoodRatio(selective=True)`. With others nothing changes.

    Attributes
    ----------
    algorithm
        A name, or a composition that can leave out pairs.
    """

    algorithm: Any = "mislid"

    def __post_init__(self) -> None:
        from mislid.algorithms.names import as_algorithm

        chosen = as_algorithm(self.algorithm)
        if not getattr(chosen, "can_select", False):
            raise ProblemError(
                "algorithm must be one that chooses among pairs, such as 'lingape', 'lingifa', "
                f"'lingame' or 'mislid', to be selective; got {self.algorithm!r}"
            )
        object.__setattr__(self, "algorithm", chosen)

    @property
    def every_arm(self) -> bool:  # type: ignore[override]
        """As for the rule itself."""
        return bool(self.algorithm.every_arm)

    @property
    def own_test(self) -> bool:  # type: ignore[override]
        """As for the rule itself."""
        return bool(self.algorithm.own_test)

    @property
    def authors(self) -> bool:  # type: ignore[override]
        """As for the rule itself."""
        return bool(self.algorithm.authors)

    def check(self, question: Question) -> None:
        """Refuse what the rule itself refuses."""
        self.algorithm.check(question)


def without_wrapper(algorithm: Any) -> Any:
    """The rule itself, of one that is selective."""
    return algorithm.algorithm if isinstance(algorithm, Selective) else algorithm
