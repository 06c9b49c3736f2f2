"""Tests of assumptions that hold at all times; docs/checks.md derives them.

`Dispersion` tests whether measurements scatter more than declared, `Residuals` whether means are
farther from linear than declared. The evidence of the latter is the diagonal family, with its
share, of the M of the rule `guaranteed`: the refutations here and the proofs there hold on one
event.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mislid._validation import Vector
from mislid.geometry.projection import Projection, project
from mislid.model import Model
from mislid.stopping.equal import Spread
from mislid.stopping.evidence import Family, diagonal_weights, families_of

# Relative accuracy of the smallest misspecification that is not contradicted; it counts as 0 if it
# is below NEGLIGIBLE times the means' size.
ACCURACY, NEGLIGIBLE = 1e-4, 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Dispersion:
    """The scatter of measurements within their arms.

    Attributes
    ----------
    counts
        Measurements of every arm (K,).
    squares
        Sums (K,) of squared deviations from the arm's own mean, in units of the declared noise^2.

    Examples
    --------
    >>> calm = Dispersion.of([0, 0, 0, 0], [1.0, -1.0, 1.0, -1.0], np.array([1.0]))
    >>> round(calm.log_evidence(), 2)
    -0.52
    >>> wild = Dispersion.of([0, 0, 0, 0], [9.0, -9.0, 9.0, -9.0], np.array([1.0]))
    >>> round(wild.log_evidence(), 1)
    147.4
    """

    counts: Vector
    squares: Vector

    @classmethod
    def of(cls, arms: object, values: object, noise: Vector) -> Dispersion:
        """Compute the scatter of measurements."""
        K = noise.shape[0]
        at = np.asarray(arms, dtype=np.int64)
        given = np.asarray(values, dtype=np.float64)
        counts = np.bincount(at, minlength=K).astype(np.float64)
        means = np.bincount(at, given, K) / np.maximum(counts, 1.0)
        rest = (given - means[at]) / noise[at]
        return cls(counts, np.bincount(at, rest * rest, K).astype(np.float64))

    def log_evidence(self, factor: float = 1.0) -> float:
        """The logarithm of the evidence against `factor` times the declared noise.

        If that factor suffices for every arm, the evidence ever exceeds ln(1/level) with
        probability at most `level`, whatever rule chose the arms. One half of it is for all arms
        together, the other for one arm that is worse than the rest.
        """
        shrunk = self.squares / factor**2
        together = log_scatter(self.counts.sum(), shrunk.sum())
        apart = np.logaddexp.reduce(log_scatter(self.counts, shrunk)) - math.log(shrunk.size)
        return float(np.logaddexp(together, apart)) - math.log(2.0)

    def bound(self) -> float:
        """A quick upper bound on `log_evidence()`: the largest value of an integrand."""
        n = np.append(self.counts, self.counts.sum())
        q = np.append(self.squares, self.squares.sum())
        wild = (q > n) & (n > 0.0)
        n, q = n[wild], q[wild]
        return 0.5 * float(np.max(q - n - n * np.log(q / n), initial=0.0))

    def least_factor(self, level: float) -> float:
        """The smallest factor, at least 1, by which noise must grow not to be contradicted."""
        limit = -math.log(level)
        if self.log_evidence() <= limit:
            return 1.0
        from scipy.optimize import brentq

        # With deviations of the declared size on average there is no evidence at all.
        seen = self.counts > 0.0
        largest = math.sqrt(float(np.max(self.squares[seen] / self.counts[seen])))
        return float(brentq(lambda factor: self.log_evidence(factor) - limit, 1.0, largest))

    def suspects(self, level: float) -> list[int]:
        """The arms whose own scatter is too large; if only all together are, the worst arm."""
        alone = log_scatter(self.counts, self.squares)
        found = np.flatnonzero(alone >= math.log(2.0 * alone.size / level))
        worst = found if found.size else np.array([np.argmax(alone)])
        return [int(arm) for arm in worst[np.argsort(-alone[worst], kind="stable")]]

    def deviation(self, arm: int) -> float:
        """The sample standard deviation of an arm."""
        return math.sqrt(float(self.squares[arm]) / max(float(self.counts[arm]) - 1.0, 1.0))


def log_scatter(n: Vector | float, square: Vector | float) -> Vector:
    """Logarithm of the integral of p^(n/2) exp((1 - p) q / 2) over 0 < p < 1, for q = `square`.

    It is that of an incomplete gamma function, and -ln(n/2 + 1) for q = 0. Where that function is
    too small for a number, a series with a ratio of q / n takes its place.
    """
    from scipy.special import gammainc, gammaln, hyp1f1

    order, half = 0.5 * np.asarray(n) + 1.0, 0.5 * np.asarray(square)
    order, half = np.broadcast_arrays(order, half)
    part = gammainc(order, half)
    tiny = part <= 1e-250
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found: Vector = half + gammaln(order) + np.log(part) - order * np.log(half)
    # Evaluate the slow series only where it is needed.
    series = hyp1f1(1.0, np.where(tiny, order + 1.0, 1.0), np.where(tiny, half, 0.0))
    return np.where(tiny, np.log(series) - np.log(order), found)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Deviations of the means from linear models.

    Attributes
    ----------
    model
        The features; its own misspecification does not matter.
    means, weights
        Empirical means (K,), 0 without measurements, and counts over squared noise (K,).
    family
        Displacements of all arms from a model, with their weights in M.
    spread
        The scatter, with one unknown noise for all arms; weights and scales are then those of a
        noise of 1.

    Examples
    --------
    >>> counts, means, noise = np.array([[50.0, 50.0], [0.0, 3.0], [1.0, 1.0]])
    >>> two = Residuals.of(Model(np.ones((2, 1)), 0.0), counts, means, noise)
    >>> two.contradict(0.0, 0.01), two.contradict(1.5, 0.01), round(two.least(0.01), 1)
    (True, False, 1.0)
    """

    model: Model
    means: Vector
    weights: Vector
    family: Family
    spread: Spread | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        counts: Vector,
        means: Vector,
        noise: Vector,
        spread: Spread | None = None,
    ) -> Residuals:
        """Build the test from measurements."""
        # Neither the misspecification, if finite, nor m and delta matter to this family.
        family = families_of(model.K, 1, True, 0.5, noise).diagonal
        return cls(model, means, counts / noise**2, family, spread)

    def log_evidence(self, misspecification: float) -> float:
        """The logarithm of the evidence against this misspecification; it falls as that grows.

        If the means are that close to linear, it ever exceeds ln(1/level) with probability at most
        `level`, whatever rule chose the arms and however often one looks.
        """
        costs, prices = np.array(
            [(self.nearest(misspecification, q).bound, price) for q, price in self._scales()]
        ).T
        heights = self.family.logs - prices
        if self.spread is not None:
            return self.spread.by_costs(self.family.scales, heights, costs)
        return float(np.logaddexp.reduce(heights + costs))

    def contradict(self, misspecification: float, level: float) -> bool:
        """Whether the evidence exceeds ln(1/level)."""
        nearest = self.nearest(misspecification, self.weights).means
        if self.cannot_contradict(nearest, level):
            return False
        return self.log_evidence(misspecification) > -math.log(level)

    def cannot_contradict(self, model: Vector, level: float) -> bool:
        """Whether a model (K,) of the tube is near enough to exclude a contradiction.

        An average exceeds a limit only if one of its terms does.
        """
        cost = 0.5 * float(np.sum(self.weights * (self.means - model) ** 2))
        if self.spread is not None:
            # Evidence is at most that at the estimated noise, where the process of the scatter is
            # at most 1.
            cost /= self.spread.variance
        share = float(np.logaddexp.reduce(self.family.logs))
        terms = (_largest_share(q, self.weights) * cost - price for q, price in self._scales())
        return max(terms) + share <= -math.log(level)

    def least(self, level: float) -> float:
        """The smallest misspecification that is not contradicted, from below."""
        if not self.contradict(0.0, level):
            return 0.0
        largest = float(np.max(np.abs(self.means)))  # zero is a linear model
        low, high = 0.0, largest
        while high - low > ACCURACY * high and high > NEGLIGIBLE * largest:
            middle = 0.5 * (low + high)
            if self.contradict(middle, level):
                low = middle
            else:
                high = middle
        return low

    def farthest(self, misspecification: float) -> int:
        """The arm that is farthest from the nearest model, in units of its uncertainty."""
        rest = self.means - self.nearest(misspecification, self.weights).means
        return int(np.argmax(self.weights * rest * rest))

    def nearest(self, misspecification: float, weights: Vector) -> Projection:
        """The nearest model of this misspecification."""
        return project(self.model.with_misspecification(misspecification), self.means, weights)

    def _scales(self) -> Iterator[tuple[Vector, float]]:
        """Weights (K,) of the projection, and the price, scale by scale."""
        return (diagonal_weights(self.weights, float(scale)) for scale in self.family.scales)


def _largest_share(part: Vector, whole: Vector) -> float:
    """The largest of the ratios of two weights, where there are any."""
    seen = whole > 0.0
    return float(np.max(part[seen] / whole[seen]))
