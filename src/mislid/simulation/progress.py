"""Looking at a run: while it goes on, and why it stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector
from mislid.geometry.alternatives import Alternative, closest_alternative
from mislid.model import Model

# Without a step of their own, calls are this factor apart in samples.
GROWTH = 1.05


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """How far a run has come: a copy, which the run does not change any more.

    Attributes
    ----------
    samples, counts
        Measurements in all, and of every arm (K,).
    means
        Empirical means (K,), 0 where nothing was measured.
    answer
        The m arms that seem best, best first; None before they can be estimated, and until the end
        where a rival algorithm stops by its own test.
    statistic, threshold, pair
        Of the last stopping test: the evidence that the answer is right, what it must reach, and
        the pair (challenger, incumbent) that is hardest to tell apart. Not a number, and None,
        before the first test and where a rival algorithm stops by its own.
    tested
        Number of samples at that test; 0 before the first.
    finished
        Whether this is the last call.
    """

    samples: int
    counts: NDArray[np.int64]
    means: Vector
    answer: tuple[int, ...] | None
    statistic: float
    threshold: float
    pair: tuple[int, int] | None
    tested: int
    finished: bool

    @property
    def evidence(self) -> float:
        """The statistic as a share of the threshold: a run stops when it reaches 1."""
        return self.statistic / self.threshold


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a stopping rule saw when it decided.

    Attributes
    ----------
    rule, proven
        The stopping rule, and whether its error rate is proved.
    pair, statistic, threshold
        The (challenger, incumbent) that was hardest to tell apart, the evidence for it, and what
        that had to reach.
    model, means, weights, incumbents, tolerance
        What the closest alternative is computed from: the model set, empirical means (K,), counts
        divided by the noise's square (K,), and the answer.
    """

    rule: str
    proven: bool
    statistic: float
    threshold: float
    pair: tuple[int, int] | None
    model: Model = field(repr=False)
    means: Vector = field(repr=False)
    weights: Vector = field(repr=False)
    incumbents: tuple[int, ...] = field(repr=False)
    tolerance: float = field(repr=False)

    @cached_property
    def alternative(self) -> Alternative:
        """The closest alternative to the empirical means at weights counts / noise^2, (K,) each."""
        return closest_alternative(
            self.model,
            self.means,
            self.weights,
            len(self.incumbents),
            tolerance=self.tolerance,
            incumbents=self.incumbents,
        )


Callback = Callable[[Progress], object]


class Schedule:
    """When to look next.

    >>> schedule = Schedule(None, 12)
    >>> [schedule.after(samples) for samples in (0, 12, 100)]
    [12, 13, 105]
    >>> Schedule(50, 12).after(120)
    150
    """

    def __init__(self, every: int | None, first: int) -> None:
        self.every, self.first = every, first

    def after(self, samples: int) -> int:
        """The number of samples, above the present one, at which a call is due."""
        if self.every is not None:
            return (samples // self.every + 1) * self.every
        return max(self.first, samples + 1, math.ceil(GROWTH * samples))
