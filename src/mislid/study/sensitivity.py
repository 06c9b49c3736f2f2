"""The misspecification dial: what a study's data say if means may be farther from linear, or less.

docs/checks.md says what a value that is chosen after the data is worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix
from mislid.engine import Engine
from mislid.errors import ProblemError
from mislid.study.replay import Replay
from mislid.study.result import Label, PlainRecord
from mislid.study.suspicions import residuals_of

# The grid's values in every decade, and its decades.
MANTISSAS, DECADES = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), 3
# Where something changes is located to this, relatively; below this part of the grid, it is at 0.
ACCURACY, NEGLIGIBLE = 1e-3, 1e-9
# Beyond the grid, until the verdict is that of infinity.
DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """What the rule says to the data by now, with this misspecification.

    Attributes
    ----------
    misspecification
        The value that takes the place of the declared one.
    answer
        The m candidates that the estimates prefer, best first; None where the estimate could not be
        certified.
    statistic, threshold
        The evidence for the pair that is hardest to tell apart, and what it has to reach; both 0
        while there are too few measurements for the rule to be tested.
    decided
        Whether the stopping rule is satisfied.
    contradicted
        Whether the data contradict the misspecification itself, as being too small. A decision that
        rests on it says nothing then.
    """

    misspecification: float
    answer: tuple[Label, ...] | None
    statistic: float
    threshold: float
    decided: bool
    contradicted: bool


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """Where the answer changes.

    Attributes
    ----------
    misspecification
        Up to this value the estimates prefer `before`, and then `after`.
    before, after
        m candidates each, best first; None where the estimate could not be certified.
    """

    misspecification: float
    before: tuple[Label, ...] | None
    after: tuple[Label, ...] | None


@dataclass(frozen=True, slots=True)
class Sensitivity(PlainRecord):
    """How a study's answer depends on the misspecification.

    Attributes
    ----------
    declared
        The misspecification of the study; its guarantee is for this one.
    largest
        The largest misspecification for which the data by now decide; None if none does, infinite
        if they do without any structure. It was tested and decides; larger values of the grid, and
        one at most 0.1% larger, were tested and do not. Smaller ones need not: see `decides`.
    answer
        What they decide for at `largest`, best first; None if there is none.
    smallest, level
        The smallest misspecification that the data do not contradict, a lower confidence bound at
        this level, valid at all times at once.
    decides
        The ranges (low, high) of misspecifications for which the data by now decide, increasing.
    changes
        Where the preferred answer changes.
    table
        One row per value of a grid with 0, the declared one and infinity; empty before the first
        design is measured.
    """

    declared: float
    largest: float | None
    answer: tuple[Label, ...] | None
    smallest: float
    level: float
    decides: tuple[tuple[float, float], ...]
    changes: tuple[AnswerChange, ...]
    table: tuple[SensitivityRow, ...]


class _Verdict(NamedTuple):
    """What the rule says: the preferred arms, best first, and its evidence."""

    arms: tuple[int, ...] | None
    statistic: float
    threshold: float
    decided: bool

    def answer(self) -> frozenset[int] | None:
        return None if self.arms is None else frozenset(self.arms)

    def is_decided(self) -> bool:
        return self.decided


Aspect = Callable[[_Verdict], object]


class _Dial:
    """The rule's verdicts on the same data for other misspecifications."""

    def __init__(self, engine: Engine, features: Matrix) -> None:
        self.engine = engine
        self._verdicts: dict[float, _Verdict] = {}
        self.values = self._grid(_reach(engine, features))

    def at(self, misspecification: float) -> _Verdict:
        """Test as if this had been declared; nothing of earlier tests is made use of."""
        if misspecification not in self._verdicts:
            self._verdicts[misspecification] = _judge(self.engine, misspecification)
        return self._verdicts[misspecification]

    def _grid(self, reach: float) -> list[float]:
        """Round values up to where structure is worth nothing, and on to what infinity gives."""
        declared = self.engine.question.model.misspecification
        first = math.floor(math.log10(reach)) - DECADES
        powers = range(first, first + DECADES + 2)
        finite = [float(f"{a}e{power}") for power in powers for a in MANTISSAS]
        count = sum(value < reach for value in finite) + 1
        finite = sorted({0.0, *finite[:count], *([declared] if math.isfinite(declared) else [])})
        for _ in range(DOUBLINGS):
            if _same(self.at(finite[-1]), self.at(math.inf)):
                break
            finite.append(2.0 * finite[-1])
        return [*finite, math.inf]

    def flips(self, aspect: Aspect) -> Iterator[tuple[float, float]]:
        """Neighbouring misspecifications between which an aspect of the verdict changes."""
        for low, high in pairwise(self.values):
            while aspect(self.at(low)) != aspect(self.at(high)):
                before, low = self._locate(low, high, aspect)
                yield before, low

    def _locate(self, low: float, high: float, aspect: Aspect) -> tuple[float, float]:
        """Bisect for a change from what there is at `low`."""
        least, was = NEGLIGIBLE * self.values[-2], aspect(self.at(low))
        while math.isfinite(high) and high - low > ACCURACY * high and high > least:
            middle = 0.5 * (low + high)
            if aspect(self.at(middle)) == was:
                low = middle
            else:
                high = middle
        return low, high

    def decides(self) -> tuple[tuple[float, float], ...]:
        """The ranges in which the rule is satisfied."""
        ends = [0.0] if self.at(0.0).decided else []
        for before, after in self.flips(_Verdict.is_decided):
            ends.append(after if self.at(after).decided else before)
        if self.at(math.inf).decided:
            ends.append(math.inf)
        return tuple(zip(ends[::2], ends[1::2], strict=True))


def _same(one: _Verdict, other: _Verdict) -> bool:
    return (one.answer(), one.decided) == (other.answer(), other.decided)


def _reach(engine: Engine, features: Matrix) -> float:
    """A misspecification that allows for any order of two empirical means."""
    seen = engine.counts > 0
    means = engine.means[seen]
    fit = features[seen] @ np.linalg.lstsq(features[seen], means, rcond=None)[0]
    reach = float(np.max(np.abs(means - fit)) + np.ptp(means)) + engine.question.tolerance
    return reach if reach > 0.0 else float(np.min(engine.question.noise))


def _judge(engine: Engine, misspecification: float) -> _Verdict:
    """What the rule says to the same data, as if it had been asked with this misspecification."""
    question = engine.question
    model = question.model.with_misspecification(misspecification)
    other = Engine(question.replace(model=model), engine.algorithm, engine.stopping)
    other.reset(engine.counts, engine.sums)
    verdict = other.judge()
    estimated_nothing = other.unsolved > 0 and other.tests == 0
    return _Verdict(
        arms=None if estimated_nothing else other.incumbents,
        statistic=verdict.statistic if other.tests else 0.0,
        threshold=verdict.threshold if other.tests else 0.0,
        decided=verdict.decided,
    )


def sensitivity_of(replay: Replay, level: float) -> Sensitivity:
    """Turn the dial over the data that there are by now."""
    engine, labels = replay.engine, replay.state.candidates.labels
    features = replay.state.candidates.features
    if features is None:
        raise ProblemError(
            "sensitivity needs candidates with features: without them nothing is assumed to be "
            "linear, and there is no misspecification to vary"
        )
    declared = engine.question.model.misspecification
    if not np.all(engine.counts[engine.design] > 0):
        return Sensitivity(declared, None, None, 0.0, level, (), (), ())
    smallest = residuals_of(engine, features).least(level)
    dial = _Dial(engine, features)
    decides = dial.decides()
    largest = decides[-1][1] if decides else None

    def answer(misspecification: float) -> tuple[Label, ...] | None:
        arms = dial.at(misspecification).arms
        return None if arms is None else tuple(labels[arm] for arm in arms)

    def row(misspecification: float) -> SensitivityRow:
        _, statistic, threshold, decided = dial.at(misspecification)
        contradicted = misspecification < smallest
        return SensitivityRow(
            misspecification, answer(misspecification), statistic, threshold, decided, contradicted
        )

    return Sensitivity(
        declared=declared,
        largest=largest,
        answer=None if largest is None else answer(largest),
        smallest=smallest,
        level=level,
        decides=decides,
        changes=tuple(
            AnswerChange(after, answer(before), answer(after))
            for before, after in dial.flips(_Verdict.answer)
        ),
        table=tuple(row(misspecification) for misspecification in dial.values),
    )
