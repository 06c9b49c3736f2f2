"""Gaussian values whose standard deviation nobody knows, and which is the same for all arms.

The null is means lambda and a standard deviation sigma. Evidence M of `stopping.evidence`, with
displacements in units of sigma, says something of the means only if sigma is not much larger than
the values let one expect. So M is multiplied by a process that grows if sigma is too large: for a
tilt h >= 0

    S_h(sigma) = exp(1/2 L(h) - h SS / (2 sigma^2)),  L(h) = sum_k sum_{n <= n_k} ln(1 + h (n-1)/n)

with SS the squared distances of all values from the means of their arms. Displacement by
displacement the product is a supermartingale under the null, whatever rule chooses the arms:
docs/certificate.md has the proof. Every scale s of the displacements has tilts that are
multiples of s^2, as it is made for numbers of values that are about 1 / s^2; one of them is 0.

The evidence of a pair is the least over all sigma. With theta = 1/sigma^2, M grows in theta and S_h
falls. So on a cell between two values of theta M is at least that of the lower one, and S_h at
least that of the upper one: the least over the cells is a bound from below.

Weights are counts and scales are sizes here, those of a noise of 1: noise sigma divides the gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid._validation import Matrix, Vector

# Tilts of a scale s, in units of s^2 over the number of arms (of features, along these), and their
# shares. Without a tilt M stands alone, for a sigma that is smaller than values let one expect.
TILTS, SHARES = (0.0, 1.0, 4.0, 16.0), (0.2, 0.3, 0.3, 0.2)
# Lower ends of the cells, in units of the estimated 1/sigma^2: even, then ever wider; from the last
# one on to infinity.
EVEN, END, WIDE, LAST = 256, 1.5, 16, 8.0
# Of the level of the means, the part below which distances from them are rounding.
DIGITS = 1e-14
# Numbers that are in memory at once.
AT_ONCE = 2_000_000


def spread_of(
    noise_model: str, counts: Vector, means: Vector, scatter: Vector | None
) -> Spread | None:
    """What values say of a noise that all arms share, where that is the noise model.

    Parameters
    ----------
    noise_model
        What is known of the noise.
    counts, means, scatter
        Numbers of values, their means, and sums of squared distances from these (K,).

    Returns
    -------
    Spread or None
        None for all other noise models.

    Examples
    --------
    >>> spread_of("known", np.ones(2), np.ones(2), None) is None
    True
    """
    if noise_model != "unknown-equal":
        return None
    apart = np.zeros_like(counts) if scatter is None else scatter
    return Spread(counts, apart, float(np.max(np.abs(means))))


def cell_ends() -> Vector:
    """Lower ends of the cells (J,), in units of the estimated 1/sigma^2.

    Examples
    --------
    >>> ends = cell_ends()
    >>> ends[[0, 256, -1]].round(9).tolist(), len(ends)
    ([0.0, 1.5, 8.0], 272)
    """
    even = END / EVEN * np.arange(EVEN)
    return np.concatenate([even, END * (LAST / END) ** (np.arange(WIDE) / (WIDE - 1))])


@dataclass(frozen=True, eq=False)
class Spread:
    """What values say of the standard deviation that all arms share.

    Attributes
    ----------
    counts, scatter
        Numbers of values, and sums of their squared distances from the mean of their arm (K,).
    level
        The largest absolute value of the means: less than its last digits is no scatter.

    Examples
    --------
    >>> spread = Spread(np.array([50.0, 51.0, 1.0]), np.array([180.0, 216.0, 0.0]))
    >>> spread.freedom, spread.variance
    (99.0, 4.0)
    """

    counts: Vector
    scatter: Vector
    level: float = 0.0

    @property
    def freedom(self) -> float:
        """Values less the arms that were measured."""
        return float(np.sum(np.maximum(self.counts - 1.0, 0.0)))

    @property
    def total(self) -> float:
        """The scatter of all arms together; 0 where it is but rounding."""
        found = float(np.sum(self.scatter))
        return found if found > float(np.sum(self.counts)) * (DIGITS * self.level) ** 2 else 0.0

    @property
    def variance(self) -> float:
        """What values let one expect of sigma^2; 1 where they do not scatter at all."""
        return self.total / self.freedom if self.total > 0.0 else 1.0

    @cached_property
    def precisions(self) -> Vector:
        """Lower ends (J,) of the cells of 1/sigma^2."""
        return cell_ends() / self.variance

    def logs(self, sizes: Vector, dimension: int) -> Matrix:
        """ln of the tilts' average at the upper ends of the cells, for scales (S,): (S, J).

        Parameters
        ----------
        sizes
            The scales of displacements, in units of the noise.
        dimension
            The number of arms or, along features, of these.

        Returns
        -------
        ndarray
            In the last cell, which has no end, what is left is the share of the tilt 0; so it is
            everywhere where values do not scatter at all, which is not taken for a sign that there
            is no noise: they may be rounded.
        """
        upper = np.append(self.precisions[1:], math.inf)
        found = np.full((len(sizes), len(upper)), math.log(SHARES[0]))
        if self.total == 0.0:
            return found
        for tilt, share in zip(TILTS[1:], SHARES[1:], strict=True):
            h = tilt / dimension * sizes**2
            halves = np.array([0.5 * self.volume(one) for one in h.tolist()])
            fallen = 0.5 * self.total * h[:, None] * upper
            found = np.logaddexp(found, math.log(share) + halves[:, None] - fallen)
        return found

    def volume(self, h: float) -> float:
        """L(h): the sum of ln(1 + h (n - 1) / n) over the values, the n-th of its arm each."""
        from scipy.special import gammaln

        n, eta = self.counts[self.counts > 0.0], h / (1.0 + h)
        parts = n * math.log1p(h) + gammaln(n + 1.0 - eta) - gammaln(n + 1.0)
        return float(np.sum(parts)) - n.size * math.lgamma(1.0 - eta)

    def by_costs(self, sizes: Vector, heights: Vector, costs: Vector) -> float:
        """The least evidence over sigma of exp(heights + costs / sigma^2) at scales (S,)."""
        given = heights[None, :], costs[None, :], np.ones(1)
        return float(self.least(sizes, len(self.counts), *given)[0])

    def least(
        self,
        sizes: Vector,
        dimension: int,
        heights: Matrix,
        rates: Matrix,
        gaps: Vector,
        starts: Matrix | None = None,
    ) -> Vector:
        """The least evidence over sigma where that of a known sigma is known.

        At sigma it is the logarithm of the sum of exp(heights + rates (gaps / sigma + starts)^2)
        over the scales.

        Parameters
        ----------
        sizes, dimension
            As of `logs`.
        heights, rates, starts
            Of all scales, for n pairs (n, S); no starts are 0.
        gaps
            (n,).

        Returns
        -------
        ndarray
            Bounds from below (n,); minus infinity where a gap is not above 0.
        """
        found = np.full(len(gaps), -math.inf)
        roots, logs = np.sqrt(self.precisions), self.logs(sizes, dimension)
        begun = np.zeros((1, 1)) if starts is None else starts
        heights, rates, begun = (
            np.broadcast_to(one, (len(gaps), len(sizes))) for one in (heights, rates, begun)
        )
        positive, size = np.flatnonzero(gaps > 0.0), max(1, AT_ONCE // logs.size)
        for first in range(0, len(positive), size):
            at = positive[first : first + size]
            apart = gaps[at, None, None] * roots + begun[at][:, :, None]
            with np.errstate(over="ignore"):
                terms = heights[at][:, :, None] + rates[at][:, :, None] * apart**2 + logs
            found[at] = np.min(np.logaddexp.reduce(terms, axis=1), axis=1)
        return found
