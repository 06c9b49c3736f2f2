"""What a pair's own two arms prove where values are Gaussian, with variances that nobody knows.

The null of an arm is a mean x and any precision theta. It is compared with precisions g theta,
g ~ Gamma(alpha, alpha), and means that are h of their own standard deviations away, h ~ N(0, rho^2)
with a share of ETA, else |h| towards the side that speaks against the null. `docs/certificate.md`
derives the logarithm of that ratio, and how it is bounded for every theta at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid.verification.reading import Failure, Vector

RHO = np.array([0.005 * 3.0**power for power in range(7)])
ALPHA = np.maximum(6.0 / RHO**2, 0.5)
CENTRE, TAIL = 0.1, 1.5
ETA = 0.1
# Where [0, tau*] is cut, as parts of p*.
UPPER, LOWER = (np.array(cuts)[:, None] for cuts in ((1.0, 0.9, 0.7, 0.4), (0.9, 0.7, 0.4, 0.0)))
# Cells at first, and at most.
CELLS, MOST_CELLS = 16, 1_000_000
# How much a cell may lose, in nats, and parts of the whole that are not halved again.
LOSS, NARROW = 0.01, 1e-9
# Cells end so many standard errors beyond the two means.
BEYOND = 1.5
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Arm:
    """How many values, their mean, and the sum of squared distances from it."""

    n: float
    mean: float
    scatter: float

    @property
    def reach(self) -> float:
        """How far beyond the mean cells go."""
        return BEYOND * math.sqrt(self.scatter) / self.n

    @cached_property
    def _constant(self) -> Vector:
        """What depends on the number of values alone, with the logarithms of the weights."""
        n, weights = self.n, np.exp(-np.abs(np.log(RHO / CENTRE)) / TAIL)
        logs = np.array([math.lgamma(one + 0.5 * n) - math.lgamma(one) for one in ALPHA])
        logs -= 0.5 * n * np.log(ALPHA) + 0.5 * np.log1p(n * RHO**2)
        total: Vector = logs + np.log(weights / weights.sum())
        return total

    def log(self, r: float) -> float:
        """A bound from below for every variance and every mean at least r away from that here.

        r is negative on the side that speaks for the null, minus infinity for any mean.
        """
        far, q, a = self.n * r * r, 1.0 + self.n * RHO**2, ALPHA + 0.5 * self.n
        kappa = q
        if 0.0 < self.scatter + far < math.inf:
            kappa = (self.scatter + far) / (self.scatter + far / q)
        part = _against(a, kappa) if r >= 0.0 else _for(a, kappa)
        return float(np.logaddexp.reduce(self._constant + part))


def _against(a: Vector, kappa: Vector) -> Vector:
    """The least over tau of what depends on it, cut into pieces up to tau*, where r >= 0."""
    tau = np.maximum(a / kappa - ALPHA, 0.0)
    p = tau / (ALPHA + tau)
    upper = ALPHA * UPPER * p / (1.0 - UPPER * p)
    found: Vector = np.min(
        kappa * upper - a * np.log1p(upper / ALPHA) + _sign_known(a, kappa, LOWER * p), axis=0
    )
    return found


def _sign_known(a: Vector, kappa: Vector, p: Vector) -> Vector:
    """ln G from below, by the tail of Student's distribution with 2 a degrees of freedom."""
    excess = (kappa - 1.0) * p
    tail = DENSITY * 2.0 * a / (2.0 * a - 1.0) * np.exp((0.5 - a) * np.log1p(excess))
    tail = np.minimum(tail / np.sqrt(2.0 * a * excess), 0.5)
    found: Vector = np.log(ETA + (1.0 - ETA) * 2.0 * (1.0 - tail))
    return found


def _for(a: Vector, kappa: Vector) -> Vector:
    """The same for means between that here and one at kappa on the other side."""
    tau = a - ALPHA
    p = 0.5 * (1.0 + tau / a)
    cut = ALPHA * p / (1.0 - p)
    t = np.sqrt(2.0 * a * (kappa - 1.0) * p)
    G = ETA + (1.0 - ETA) * np.maximum(1.0 - 2.0 * DENSITY * t, 0.0)
    found: Vector = np.minimum(
        tau - a * np.log1p(tau / ALPHA) + np.log(G),
        cut - a * np.log1p(cut / ALPHA) + math.log(ETA),
    )
    return found


def by_two_arms(challenger: Arm, incumbent: Arm, tol: float) -> float:
    """Evidence of a pair, from below: the infimum over all means x of the incumbent.

    The challenger has at least x + tol. In a cell of x the one is at least what it is at the upper
    end, the other what it is at the lower end; beyond the cells one of them may be anywhere.
    """
    if not (challenger.n > 0.0 and incumbent.n > 0.0):
        return -math.inf
    near, far = challenger.mean - tol, incumbent.mean
    if not near < far:
        return -math.inf

    def both(x: float) -> tuple[float, float, float]:
        return x, incumbent.log(far - x), challenger.log(x - near)

    low, high = near - challenger.reach, far + incumbent.reach
    if not math.isfinite(high - low):
        return -math.inf
    points = [both(low + (high - low) * cell / CELLS) for cell in range(CELLS + 1)]
    least = min(up + down for _, up, down in points)
    bound = min(
        incumbent.log(far - low) + challenger.log(-math.inf),
        challenger.log(high - near) + incumbent.log(-math.inf),
    )
    cells = [(points[cell], points[cell + 1]) for cell in range(CELLS)]
    for _ in range(MOST_CELLS):
        if not cells:
            return min(bound, least)
        left, right = cells.pop()
        within = right[1] + left[2]
        if within >= least - LOSS or right[0] - left[0] <= NARROW * (high - low):
            bound = min(bound, within)
            continue
        middle = both(0.5 * (left[0] + right[0]))
        least = min(least, middle[1] + middle[2])
        cells += [(left, middle), (middle, right)]
    raise Failure("data must have fewer measurements for pairs to be derived again")
