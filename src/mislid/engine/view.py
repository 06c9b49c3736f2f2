"""Interfaces of rules written in Python: views, verdicts and protocols."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector

if TYPE_CHECKING:
    from mislid.geometry.alternatives import Alternative
    from mislid.question import Question


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a stopping rule.

    Attributes
    ----------
    decided
        Whether the answer may be given.
    statistic, threshold
        The evidence for the pair with the least evidence, and the threshold that it has to reach;
        nan if the rule has none.
    pair
        That pair (challenger, incumbent), or None.
    answer
        The m best arms, best first. By default the incumbents.
    samples
        Number of measurements; the engine fills it in.

    Examples
    --------
    >>> Verdict(True, statistic=8.0, threshold=5.0).decided
    True
    """

    decided: bool
    statistic: float = np.nan
    threshold: float = np.nan
    pair: tuple[int, int] | None = None
    answer: tuple[int, ...] | None = None
    samples: int = 0


@dataclass(frozen=True, eq=False)
class View:
    """The state of an identification at one decision; a copy, which a rule may keep.

    Attributes
    ----------
    question
        The question.
    samples
        Number of measurements.
    counts
        Measurements of every arm (K,), whole numbers.
    means
        Empirical means (K,), 0 where nothing was measured.
    estimate
        The model nearest to them (K,), in the weights of the counts.
    incumbents
        The m arms that are best in the estimate, best first.
    seed
        Seed of this decision's random numbers, see `rng`.

    Examples
    --------
    >>> from mislid import Model
    >>> from mislid.engine import Engine
    >>> from mislid.question import Question
    >>> engine = Engine(Question(Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1), m=1))
    >>> engine.observe(2, 0.9)
    >>> engine.view().counts, engine.view().means
    (array([0, 0, 1]), array([0. , 0. , 0.9]))
    """

    question: Question
    samples: int
    counts: NDArray[np.int64]
    means: Vector
    estimate: Vector
    incumbents: tuple[int, ...]
    seed: tuple[int, int] = field(repr=False)

    @property
    def weights(self) -> Vector:
        """Counts over squared noise (K,)."""
        weights: Vector = self.counts / self.question.noise**2
        return weights

    @cached_property
    def rng(self) -> np.random.Generator:
        """The random generator of this decision; a repeated run draws the same numbers."""
        key, position = self.seed
        return np.random.default_rng(np.random.SeedSequence(key, spawn_key=(position,)))

    @cached_property
    def closest_alternative(self) -> Alternative:
        """The model closest to the empirical means in which the incumbents are not the best."""
        from mislid.geometry.alternatives import closest_alternative

        question = self.question
        return closest_alternative(
            question.model,
            self.means,
            self.weights,
            question.m,
            tolerance=question.tolerance,
            incumbents=self.incumbents,
        )


@runtime_checkable
class SamplingProtocol(Protocol):
    """A sampling rule: any object that proposes the arm to measure next.

    It may have an attribute `every_arm`: whether all arms are measured once first (the default) or
    only a barycentric spanner of them. It may have a method `check(question)` that raises a
    `ProblemError` for unsupported questions.

    Examples
    --------
    A rule that measures the arm whose mean is least certain:

    >>> class LeastKnown:
    ...     def propose(self, view):
    ...         return int(np.argmin(view.weights))
    >>> from mislid import Instance, Model, identify
    >>> instance = Instance(Model(np.eye(3), 0.0), [0.2, 0.5, 0.9], noise=[0.1, 0.2, 0.3])
    >>> found = identify(instance, 1, algorithm=LeastKnown())
    >>> found.answer, bool(found.counts[2] > found.counts[1] > found.counts[0])
    ((2,), True)
    """

    def propose(self, view: View) -> int:
        """The arm to measure next.

        Parameters
        ----------
        view
            The state of the identification.

        Returns
        -------
        int
            0 to K - 1.
        """


@runtime_checkable
class StoppingProtocol(Protocol):
    """A stopping rule: any object that judges whether the measurements are enough.

    It may have attributes `name`, and `guaranteed`: whether its error rate is proven to be at most
    delta (by default not).

    Examples
    --------
    A rule that answers after 20 measurements of every arm, which proves nothing:

    >>> class Twenty:
    ...     def judge(self, view):
    ...         return Verdict(view.counts.min() >= 20)
    >>> from mislid import Instance, Model, identify
    >>> instance = Instance(Model(np.eye(3), 0.0), [0.2, 0.5, 0.9], noise=0.3)
    >>> found = identify(instance, 1, algorithm="uniform", stopping=Twenty())
    >>> found.answer, found.samples, found.certificate.proven
    ((2,), 60, False)
    """

    def judge(self, view: View) -> Verdict:
        """Judge whether the measurements are enough.

        Parameters
        ----------
        view
            As in `SamplingProtocol.propose`.

        Returns
        -------
        Verdict
            The verdict, with the answer unless that is the incumbents.
        """


BLAME = "raised by a rule written in Python"


def blame(problem: Exception, rule: str) -> None:
    """Add a note to an error with the name of the user's rule that raised it.

    Examples
    --------
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as problem:
    ...     blame(problem, "Lab.propose")
    ...     print(problem.__notes__)
    ['raised by a rule written in Python, Lab.propose']
    """
    problem.add_note(f"{BLAME}, {rule}")
