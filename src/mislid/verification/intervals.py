"""Interval arithmetic.

Every operation gives an interval that contains its exact results for all numbers within its
operands. What is assumed: sums, products, quotients and square roots of doubles are the nearest
double, or within TINY of the truth where they are that small; logarithms and exponentials are
within FUNCTIONS of it, relatively. Sums and products of matrices may be added up in any order.

A number that is not known at all, or not a number, ends up as nan, of which no comparison holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mislid.verification.reading import Matrix, Vector

# At least four times the relative error of one operation, 2^-53.
STEP = 2.0**-51
# Far above what underflow takes, even where the processor takes numbers below 2^-1022 for zero.
TINY = 1e-300
# 8 units in the last place; libraries promise less than 4.
FUNCTIONS = 2.0**-49


def below(x: ArrayLike, step: float = STEP) -> Vector:
    """Less than what was rounded to x."""
    x = np.asarray(x, np.float64)
    lower: Vector = x - (step * np.abs(x) + TINY)
    return lower


def above(x: ArrayLike, step: float = STEP) -> Vector:
    """More than what was rounded to x."""
    x = np.asarray(x, np.float64)
    upper: Vector = x + (step * np.abs(x) + TINY)
    return upper


@dataclass(frozen=True, eq=False)
class Interval:
    """Arrays of one shape: the numbers are at least `low` and at most `high`."""

    low: Vector
    high: Vector

    def __add__(self, other: Interval | ArrayLike) -> Interval:
        other = exactly(other)
        return Interval(below(self.low + other.low), above(self.high + other.high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval | ArrayLike) -> Interval:
        return self + -exactly(other)

    def __mul__(self, other: Interval | ArrayLike) -> Interval:
        other = exactly(other)
        ends = [one * end for one in (self.low, self.high) for end in (other.low, other.high)]
        return Interval(below(np.min(ends, axis=0)), above(np.max(ends, axis=0)))

    def __truediv__(self, other: Interval | ArrayLike) -> Interval:
        """By numbers above 0; by any other nothing is known."""
        other = exactly(other)
        low, high = (np.where(other.low > 0.0, end, math.nan) for end in (other.low, other.high))
        return self * Interval(below(1.0 / high), above(1.0 / low))

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.low[index], self.high[index])

    @property
    def size(self) -> Vector:
        """At least the absolute values."""
        found: Vector = np.maximum(np.abs(self.low), np.abs(self.high))
        return found

    @property
    def middle(self) -> Vector:
        """Numbers in between, as they are."""
        found: Vector = np.where(self.low == self.high, self.low, 0.5 * self.low + 0.5 * self.high)
        return found

    @property
    def radius(self) -> Vector:
        """How far the ends are from `middle`, at most."""
        middle = self.middle
        ends = above(np.maximum(above(self.high - middle), above(middle - self.low)))
        return np.where(self.low == self.high, 0.0, ends)

    @property
    def square(self) -> Interval:
        """The squares."""
        least = np.maximum(np.maximum(self.low, -self.high), 0.0)
        return Interval(np.maximum(below(least * least), 0.0), above(self.size * self.size))

    @property
    def positive(self) -> Interval:
        """The larger of each and 0."""
        return Interval(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))

    def sum(self, axis: int | None = None) -> Interval:
        """All of them, or along an axis."""
        terms = self.low.size if axis is None else self.low.shape[axis]
        step = STEP * (terms + 2)
        low, high = (
            np.sum(end, axis=axis) + sign * step * np.sum(np.abs(end), axis=axis)
            for end, sign in ((self.low, -1.0), (self.high, 1.0))
        )
        return Interval(below(low), above(high))

    def where(self, condition: ArrayLike, other: Interval | ArrayLike) -> Interval:
        """These where the condition holds, else the others."""
        other = exactly(other)
        keep = np.asarray(condition)
        return Interval(np.where(keep, self.low, other.low), np.where(keep, self.high, other.high))


def exactly(value: Interval | ArrayLike) -> Interval:
    """Doubles, as they are."""
    if isinstance(value, Interval):
        return value
    array = np.asarray(value, np.float64)
    return Interval(array, array)


def of_fraction(value: Fraction) -> Interval:
    """A rational number; nothing is known of one that is too large."""
    if value == 0:
        return exactly(0.0)
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.nan
    return Interval(below(nearest), above(nearest))


def of_fractions(values: Iterable[Fraction]) -> Interval:
    """Rational numbers as one array."""
    return stack([of_fraction(value) for value in values])


def product(left: Interval | Matrix, right: Interval | Matrix) -> Interval:
    """Matrix products, or of matrices and vectors."""
    a, b = exactly(left), exactly(right)
    middle = a.middle @ b.middle
    terms = a.low.shape[-1]
    inner, outer = np.abs(a.middle), np.abs(b.middle)
    radius = inner @ b.radius + a.radius @ (outer + b.radius)
    radius = radius + STEP * (terms + 4) * (inner @ outer) + (terms + 4) * TINY
    radius = radius * (1.0 + STEP * (4 * terms + 16))
    return Interval(below(middle - radius), above(middle + radius))


def _rising(function: Callable[[Vector], Vector]) -> Callable[[Interval | ArrayLike], Interval]:
    """A function that rises, at intervals."""

    def of(value: Interval | ArrayLike) -> Interval:
        given = exactly(value)
        low, high = function(given.low), function(given.high)
        return Interval(below(low, FUNCTIONS), above(high, FUNCTIONS))

    return of


sqrt = _rising(lambda x: np.sqrt(np.maximum(x, 0.0)))  # of numbers that are not negative
log = _rising(np.log)
log1p = _rising(np.log1p)
expm1 = _rising(np.expm1)
_exp = _rising(np.exp)


def exp(value: Interval | ArrayLike) -> Interval:
    """Exponentials, which are never negative."""
    return _exp(value).positive


def log_sum(logs: Interval) -> Interval:
    """The logarithm of the sum of exponentials, along the last axis."""
    return Interval(_log_sum(logs.low).low, _log_sum(logs.high).high)


def _log_sum(logs: Vector) -> Interval:
    largest = np.max(logs, axis=-1, keepdims=True)
    at = np.where(np.isfinite(largest), largest, 0.0)
    return log(exp(exactly(logs) - at).sum(axis=-1)) + at[..., 0]


def stack(parts: list[Interval]) -> Interval:
    """Single numbers as one array."""
    return Interval(
        np.array([float(one.low) for one in parts]), np.array([float(one.high) for one in parts])
    )


def joined(parts: list[Interval]) -> Interval:
    """Arrays one after the other."""
    return Interval(
        np.concatenate([one.low for one in parts]), np.concatenate([one.high for one in parts])
    )


def around(value: ArrayLike) -> Interval:
    """What was rounded once to these doubles."""
    return Interval(below(value), above(value))


def weights(sizes: Interval, centre: float, tail: float) -> Interval:
    """Logarithms of weights that add up to 1, proportional to exp(-|ln(size / centre)| / tail)."""
    away = log(sizes / around(centre))
    fall = exactly(-np.abs(away.middle) / tail) + Interval(-away.radius, away.radius)
    found = exp(fall)
    return log(found / found.sum())


# Of Stirling's series, from the seventh to the first, and the one after them.
STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
NEXT = 3617 / 122400


def log_gamma_beyond(x: Interval) -> Interval:
    """Binet's function: ln Gamma(x) less (x - 1/2) ln x - x + ln(2 pi) / 2, for x > 0.

    Stirling's series misses it by less than the first term that is left out; below 8 it is found
    from there, since ln Gamma(x) = ln Gamma(x + 1) - ln x.
    """
    added = exactly(np.zeros_like(x.low))
    for _ in range(8):
        near = x.low < 8.0
        if not near.any():
            break
        step = (x + 0.5) * log1p(exactly(1.0) / x) - 1.0
        added = (added + step).where(near, added)
        x = (x + 1.0).where(near, x)
    inverse = exactly(1.0) / x
    total = exactly(np.zeros_like(x.low))
    for coefficient in STIRLING:
        total = total * inverse.square + around(coefficient)
    missed = NEXT * inverse.high**15 * (1.0 + 1e-12)
    return added + total * inverse + Interval(-missed, missed)
