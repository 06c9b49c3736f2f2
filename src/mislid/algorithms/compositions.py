"""Algorithms: a sampling rule, what it measures first, and its details.

An algorithm says which arms to measure; when to stop is another rule's business. These are records
of options; `mislid.engine` has the compiled rule of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from mislid._words import shown
from mislid.algorithms.options import (
    NUMBER,
    Allowed,
    or_none,
    part,
    refuse_options,
    whole,
)
from mislid.algorithms.parts import AdaHedge, Direct, Empirical, Gain, Learner, Optimistic, Sampling
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.question import Question

_PULLS, _SUBSET = or_none(whole(1)), or_none(whole(0))


@dataclass(frozen=True)
class Algorithm:
    """What all algorithms share.

    `own_test` marks rules that come with a stopping test of their own, used in its place when the
    heuristic stopping rule is asked for, as in the published runs. `every_arm` measures all arms
    once first instead of a barycentric spanner. `authors` follows the details of the
    published runs where they differ from the text. `can_select` marks rules that can leave out
    pairs that are settled, as `Selective` asks them to. Options that cannot be are refused when an
    algorithm is made.
    """

    own_test = False
    can_select = False
    every_arm = False
    authors = False
    # What the options may be, by their names.
    _permitted: ClassVar[dict[str, Allowed]] = {}

    def __post_init__(self) -> None:
        refuse_options(self)

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

        Examples
        --------
        >>> from mislid import Model, Question
        >>> question = Question(Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1), m=2)
        >>> MisLid(pulls=5).check(question)
        >>> MisLid(per_answer=True).check(question)
        Traceback (most recent call last):
        ...
        mislid.errors.ProblemError: m must be 1 for an algorithm with a learner per answer; got 2
        """
        if not hasattr(question, "m"):
            raise ProblemError(f"question must be a mislid.Question; got {shown(question)}")
        self._refuse_question(question)

    def _refuse_question(self, question: Question) -> None:
        """Refuse questions, whatever the options are."""


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
    _permitted: ClassVar[dict[str, Allowed]] = {
        "learner": part(Learner),
        "gain": part(Gain),
        "sampling": part(Sampling),
        "steps": whole(0),
        "pulls": _PULLS,
        "subset": _SUBSET,
    }

    learner: Learner = field(default_factory=AdaHedge)
    gain: Gain = field(default_factory=Optimistic)
    sampling: Sampling = field(default_factory=Direct)
    steps: int = 1
    pulls: int | None = 1
    subset: int | None = 0
    per_answer: bool = False
    authors: bool = False
    every_arm: bool = False

    def _refuse_question(self, question: Question) -> None:
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
    _permitted: ClassVar[dict[str, Allowed]] = {
        "gain": part(Gain),
        "power": NUMBER,
        "exploration": NUMBER,
        "pulls": _PULLS,
        "subset": _SUBSET,
    }

    gain: Gain = field(default_factory=Empirical)
    power: float = 0.0
    exploration: float = 0.3
    every_arm: bool = False
    pulls: int | None = 1
    subset: int | None = 0
    authors: bool = False


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

    def _refuse_question(self, question: Question) -> None:
        self.algorithm.check(question)


def without_wrapper(algorithm: Any) -> Any:
    """The rule itself, of one that is selective."""
    return algorithm.algorithm if isinstance(algorithm, Selective) else algorithm
