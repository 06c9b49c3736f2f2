"""Do measurements scatter more than declared? A test for all times: docs/checks.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Dispersion:
    """How measurements scatter within their arms.

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
        """From measurements."""
        K = noise.shape[0]
        at = np.asarray(arms, dtype=np.int64)
        given = np.asarray(values, dtype=np.float64)
        counts = np.bincount(at, minlength=K).astype(np.float64)
        means = np.bincount(at, given, K) / np.maximum(counts, 1.0)
        rest = (given - means[at]) / noise[at]
        return cls(counts, np.bincount(at, rest * rest, K).astype(np.float64))

    def log_evidence(self, factor: float = 1.0) -> float:
        """The logarithm of the evidence against `factor` times the declared noise.

        If that is enough for every arm, it ever exceeds ln(1/level) with probability at most
        `level`, whatever rule chose the arms and however often one looks. One half of it is for all
        arms together, the other for one arm that is worse than the rest.
        """
        shrunk = self.squares / factor**2
        together = log_scatter(self.counts.sum(), shrunk.sum())
        apart = np.logaddexp.reduce(log_scatter(self.counts, shrunk)) - math.log(shrunk.size)
        return float(np.logaddexp(together, apart)) - math.log(2.0)

    def bound(self) -> float:
        """No less than `log_evidence()`, at next to no cost: the largest value of an integrand."""
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
        """The arms that scatter too much by themselves; the worst, if it takes all together."""
        alone = log_scatter(self.counts, self.squares)
        found = np.flatnonzero(alone >= math.log(2.0 * alone.size / level))
        worst = found if found.size else np.array([np.argmax(alone)])
        return [int(arm) for arm in worst[np.argsort(-alone[worst], kind="stable")]]

    def deviation(self, arm: int) -> float:
        """The sample standard deviation of an arm."""
        return math.sqrt(float(self.squares[arm]) / max(float(self.counts[arm]) - 1.0, 1.0))


def log_scatter(n: Numbers | float, square: Numbers | float) -> Numbers:
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
        found: Numbers = half + gammaln(order) + np.log(part) - order * np.log(half)
    # The series takes for ever where it is not needed.
    series = hyp1f1(1.0, np.where(tiny, order + 1.0, 1.0), np.where(tiny, half, 0.0))
    return np.where(tiny, np.log(series) - np.log(order), found)
