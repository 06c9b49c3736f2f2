"""The data, and what they amount to at a time: numbers, means and scatter, in exact arithmetic.

Doubles are integers over a power of two, so sums of values and of their squares are integers. No
digit is lost, whatever the level of the means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mislid.verification.intervals import above, below
from mislid.verification.question import Kind, Question
from mislid.verification.reading import Arms, Value, Vector

# Numbers of values are exact up to here.
MOST_VALUES = 1 << 53
# How far the number of ones among values 0 and 1 may be from an integer.
WHOLE = 1e-6


@dataclass(frozen=True)
class Moment:
    """All data up to a time.

    Of each arm the number of values (R,), their sum and the sum of their squares as integers over
    `units`, and bounds on all values.
    """

    counts: Vector
    sums: list[int]
    squares: list[int]
    units: tuple[int, int]
    least: Vector
    most: Vector

    @cached_property
    def means(self) -> list[Fraction]:
        """The means (R,); 0 where there are no values."""
        given = zip(self.sums, self.counts.tolist(), strict=True)
        return [Fraction(total, self.units[0] * max(int(n), 1)) for total, n in given]

    @cached_property
    def scatter(self) -> list[Fraction]:
        """Sums (R,) of squared distances from the means."""
        given = zip(self.counts.tolist(), self.sums, self.squares, strict=True)
        return [
            Fraction(square, self.units[1])
            - Fraction(total * total, max(int(n), 1) * self.units[0] ** 2)
            for n, total, square in given
        ]


@dataclass(frozen=True)
class Record:
    """Entries: their arms, means in the sign where more is better, numbers and squares."""

    R: int
    arm: Arms
    value: Vector
    count: Arms
    squares: Vector

    def test_times(self, K: int) -> list[int]:
        """Entries after which assumptions are tested: the numbers of values grow by a tenth."""
        reached, found, wanted = np.cumsum(self.count), {len(self.arm)} - {0}, K + 1
        while wanted < reached[-1:].sum():
            found.add(int(np.searchsorted(reached, wanted)) + 1)
            wanted = max(wanted + 1, wanted * 11 // 10)
        return sorted(found)

    def moments(self, times: list[int]) -> Iterator[Moment]:
        """The data at increasing times."""
        count = self.count.tolist()
        (whole, unit), (told, part) = integers(self.value), integers(self.squares)
        sums = [n * x for n, x in zip(count, whole, strict=True)]
        both = zip(sums, whole, told, strict=True)
        squares = [s * x * part + q * unit * unit for s, x, q in both]
        # Values told together are so far from their mean, at most.
        reach = above(np.sqrt(self.squares * (1.0 - 1.0 / self.count)))
        low, high = below(self.value - reach).tolist(), above(self.value + reach).tolist()
        R, arm = self.R, self.arm.tolist()
        counts, totals, scatter = [0] * R, [0] * R, [0] * R
        least, most = [np.inf] * R, [-np.inf] * R
        for begin, time in pairwise([0, *times]):
            for n in range(begin, time):
                k = arm[n]
                counts[k] += count[n]
                totals[k] += sums[n]
                scatter[k] += squares[n]
                least[k] = min(least[k], low[n])
                most[k] = max(most[k], high[n])
            yield Moment(
                np.array(counts, np.float64), totals[:], scatter[:], (unit, unit * unit * part),
                np.array(least), np.array(most),
            )  # fmt: skip


def integers(values: Vector) -> tuple[list[int], int]:
    """Doubles as integers over one denominator."""
    ratios = [value.as_integer_ratio() for value in values.ravel().tolist()]
    denominator = max((one[1] for one in ratios), default=1)  # powers of two
    return [top * (denominator // bottom) for top, bottom in ratios], denominator


def entries_of(data: Value) -> int:
    """How many entries there are."""
    return len(data.parts("arm", "value", "count", "squares")["arm"].plain())


def read_record(given: Value, question: Question) -> Record:
    """Data that the declared noise allows, of candidates that had arrived."""
    parts, kind = given.parts("arm", "value", "count", "squares"), question.kind
    arm = parts["arm"].integers(None, 0, question.R - 1)
    N = arm.size
    early = np.array(question.arrived)[arm] > np.arange(N)
    _refuse(parts["arm"], early, "that of a candidate that had arrived")
    value = question.sign * parts["value"].vector(N)
    count, squares = np.ones(N, np.int64), np.zeros(N)
    if not parts["count"].absent:
        count = parts["count"].integers(N, 1, MOST_VALUES)
        if sum(count.tolist()) > MOST_VALUES:
            raise parts["count"].fail(f"at most {MOST_VALUES} values in all")
    if not parts["squares"].absent:
        squares = parts["squares"].vector(N, 0.0)
    elif kind not in (Kind.KNOWN, Kind.BERNOULLI) and np.any(count > 1):
        raise parts["squares"].fail("a list where values are told together")
    _refuse(parts["squares"], (count == 1) & (squares != 0.0), "0 of one value")
    if question.has_bets:
        outside = (value < question.low) | (value > question.high)
        _refuse(parts["value"], outside, "within the range")
    if kind == Kind.BERNOULLI:
        ones = value * count
        _refuse(parts["value"], np.abs(ones - np.rint(ones)) > WHOLE, "of values 0 and 1")
    return Record(question.R, arm, value, count, squares)


def _refuse(given: Value, wrong: NDArray[np.bool_], wanted: str) -> None:
    if wrong.any():
        raise given.entries()[int(np.argmax(wrong))].fail(wanted)
