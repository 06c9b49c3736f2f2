"""What is known of the noise: which data are possible, and what a pair's own two arms prove."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mislid.verification import tilted, variances
from mislid.verification.geometry import Pair
from mislid.verification.intervals import Interval, stack
from mislid.verification.reading import Failure, Value, Vector, refuse_difference

KNOWN, UNKNOWN, BOUNDED, BERNOULLI = "known", "unknown", "bounded", "bernoulli"
EQUAL = "unknown-equal"
# Sums of values within a range may be outside of it by rounding, and so may squares.
ROUNDING = 1e-9


class Measured(Protocol):
    """What was measured of K arms."""

    @property
    def counts(self) -> Vector:
        """How often each arm was measured."""

    @property
    def scatter(self) -> Vector:
        """How far its values are apart."""

    @property
    def exact(self) -> list[Fraction]:
        """The means."""

    @property
    def lost(self) -> list[Fraction]:
        """What rounding may have taken from them."""

    def gap(self, pair: Pair, tol: float) -> Interval:
        """By how much an incumbent, with the tolerance, is above a challenger."""


@dataclass(frozen=True)
class NoiseModel:
    """A model by its name, and the range of values in the sign in which more is better."""

    name: str = KNOWN
    low: float = 0.0
    high: float = 1.0

    @property
    def width(self) -> float:
        """Of the range."""
        return self.high - self.low

    @property
    def has_scatter(self) -> bool:
        """Whether counts and sums do not say all."""
        return self.name in (UNKNOWN, EQUAL, BOUNDED)

    @property
    def is_equal(self) -> bool:
        """Whether all arms share a standard deviation that nobody knows."""
        return self.name == EQUAL

    @property
    def has_own_evidence(self) -> bool:
        """Whether a pair's two arms are not judged by displacements."""
        return self.name in (UNKNOWN, BOUNDED, BERNOULLI)

    def read_scatter(self, given: Value, counts: Vector) -> Vector:
        """How far values are apart (K,): nothing where counts and sums say all.

        Of unknown noise, squared distances from the mean; of values within a range, from guesses
        that were made before each, in units of the squared range.
        """
        if not self.has_scatter:
            if not given.absent:
                raise given.fail(f"null where the noise is {self.name}")
            return np.zeros(counts.size)
        found = np.array([entry.number(0.0) for entry in given.entries(counts.size)])
        alone = counts < (1.0 if self.name == BOUNDED else 2.0)
        _refuse(alone & (found != 0.0), f"{given.name}[{{}}] must be 0 of so few measurements")
        if self.name == BOUNDED:
            most = counts * (1.0 + ROUNDING)
            _refuse(found > most, f"{given.name}[{{}}] must be at most the count")
        return found

    def refuse_sums(self, name: str, counts: Vector, sums: Vector) -> None:
        """Refuse sums (K,) that no values of the model have."""
        if self.name not in (BOUNDED, BERNOULLI):
            return
        slack = ROUNDING * self.width * counts
        outside = (sums < self.low * counts - slack) | (sums > self.high * counts + slack)
        _refuse(outside, f"{name}[{{}}] must be of values within settings.reward_range")
        if self.name == BERNOULLI:
            _refuse(sums != np.floor(sums), f"{name}[{{}}] must be a whole number: of values 0, 1")

    def refuse_later(self, name: str, counts: Vector, sums: Vector, scatter: Vector) -> None:
        """Refuse what is new between two times, counts, sums and scatter (K,), if it cannot be."""
        self.refuse_sums(f"{name}.sums", counts, sums)
        _refuse(
            (scatter < 0.0) | ((counts == 0.0) & (scatter != 0.0)),
            f"{name}.scatter[{{}}] must be at most that of the next time, and equal as the count",
        )
        if self.name == BOUNDED:
            most = counts * (1.0 + ROUNDING)
            _refuse(scatter > most, f"{name}.scatter[{{}}] must be nearer to that of the next time")

    def refuse_calm(
        self,
        name: str,
        before: tuple[Vector, Vector],
        after: tuple[Vector, Vector],
        grown: Vector,
    ) -> None:
        """Refuse scatter of bounded values that has `grown` (K,) by less than guesses ask for.

        Counts and sums (K,) are those of two times. The guess c = (1/2 + S) / (n + 1) moves by
        e / (n + 1) with a value that is e away from it, so that by Cauchy and Schwarz sum e^2 is at
        least the squared way over the sum of 1 / (n + 1)^2, which is at most what is taken here.
        """
        if self.name != BOUNDED:
            return
        (n, total), (more, sums) = before, after
        guesses = [
            (0.5 + (part - count * self.low) / self.width) / (count + 1.0)
            for count, part in ((n, total), (more, sums))
        ]
        steps = 1.0 / (n + 1.5) - 1.0 / (more + 1.5)
        moved = np.square(guesses[1] - guesses[0])
        least = np.divide(moved, steps, out=np.zeros_like(moved), where=steps > 0.0)
        level = 1.0 + max(abs(self.low), abs(self.high)) / self.width
        slack = ROUNDING * (1.0 + least) + 1e-13 * level * (1.0 + more)
        _refuse(grown < least - slack, f"{name}[{{}}] must be larger: the values are not alike")

    def by_two_arms(self, data: Measured, pairs: list[Pair], tol: float) -> Interval:
        """What the own two arms of pairs (n,) prove, but for the pairs' share."""
        n, scatter = data.counts.tolist(), data.scatter.tolist()
        if not all(n[i] > 0.0 and n[j] > 0.0 for i, j in pairs):
            raise Failure("evidence of two arms must be of arms that were measured")
        if self.name == UNKNOWN:
            apart = [variances.Arm(*arm) for arm in zip(n, scatter, strict=True)]
            return stack(
                [variances.by_two_arms(apart[i], apart[j], data.gap((i, j), tol)) for i, j in pairs]
            )
        given = zip(n, data.exact, data.lost, scatter, strict=True)
        scaled = [self._scaled(*arm) for arm in given]
        share = Fraction(tol) / self._exact_width
        return stack([tilted.by_two_arms(scaled[i], scaled[j], share) for i, j in pairs])

    def rounding(self, most: float) -> float:
        """By how much evidence that is stated may be off, where an arm has so many values."""
        if self.name in (UNKNOWN, EQUAL):  # logarithms of gamma functions have so many digits
            return 1e-9 + 1e-14 * most
        level = 1.0 + max(abs(self.low), abs(self.high)) / self.width
        return 2e-10 + 1e-14 * level * most

    @property
    def _exact_width(self) -> Fraction:
        return Fraction(self.high) - Fraction(self.low)

    def _scaled(self, count: float, mean: Fraction, lost: Fraction, scatter: float) -> tilted.Arm:
        """Values of an arm, scaled to [0, 1]; by rounding their sum may be outside of that."""
        n, low = int(count), Fraction(self.low)
        scaled = min(max((mean - low) / self._exact_width, Fraction(0)), Fraction(1))
        off = n * lost / self._exact_width
        return tilted.Arm(n, n * scaled, scatter if self.has_scatter else None, off)


def _refuse(wrong: NDArray[np.bool_], sentence: str) -> None:
    """Refuse if anything (K,) is wrong, with a sentence that names the first."""
    if np.any(wrong):
        raise Failure(sentence.format(int(np.argmax(wrong))))


def read_noise_model(parts: dict[str, Value], noise: Vector, tol: float, sign: float) -> NoiseModel:
    """The model of the settings, which fits the rest of them."""
    name = parts["noise_model"].text(KNOWN, UNKNOWN, BOUNDED, BERNOULLI, EQUAL)
    low, high = _read_range(parts["reward_range"], name)
    if name in (UNKNOWN, EQUAL) and np.any(noise != 1.0):
        raise parts["noise"].fail("1 where it is unknown")
    if name == UNKNOWN and parts["structured"].flag():
        raise parts["structured"].fail("false where the noise is unknown: features prove nothing")
    if name == BERNOULLI and sign < 0.0:
        raise parts["direction"].fail("maximize for values 0 and 1")
    if name in (BOUNDED, BERNOULLI):
        refuse_difference(parts["noise"], float(np.max(noise)), 0.5 * (high - low), 1e-14)
        refuse_difference(parts["noise"], float(np.min(noise)), 0.5 * (high - low), 1e-14)
        if not tol < high - low:
            raise parts["tolerance"].fail("less than the range of values")
    return NoiseModel(name, low, high) if sign > 0.0 else NoiseModel(name, -high, -low)


def _read_range(given: Value, name: str) -> tuple[float, float]:
    if name in (KNOWN, UNKNOWN, EQUAL):
        if not given.absent:
            raise given.fail(f"null where the noise is {name}")
        return 0.0, 1.0
    low, high = given.vector(2).tolist()
    if not low < high or (name == BERNOULLI and (low, high) != (0.0, 1.0)):
        raise given.fail("0 and 1" if name == BERNOULLI else "the least and the largest value")
    return low, high
