"""What a pair's own two arms prove where values are Gaussian, with variances that nobody knows.

The null of an arm is a mean x and any precision theta. It is compared with precisions g theta, g ~
Gamma(alpha, alpha), and means that are h of their own standard deviations away, h ~ N(0, rho^2)
with a share of ETA, else |h| towards the side that speaks against the null.
`docs/certificate-proof.md` derives the logarithm of that ratio, and how it is bounded for every
theta at once. Which cells are looked at is found in doubles; what they prove, between bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.reading import Failure, Vector

RHO = np.array([0.005 * 3.0**power for power in range(7)])
CENTRE, TAIL = 0.1, 1.5
ETA = 0.1
# Where [0, tau*] is cut, as parts of p*.
UPPER, LOWER = (np.array(cuts)[:, None] for cuts in ((1.0, 0.9, 0.7, 0.4), (0.9, 0.7, 0.4, 0.0)))
# Cells at first, and at most.
CELLS, MOST_CELLS = 16, 100_000
# How much a cell may lose, in nats, and parts of the whole that are not halved again.
LOSS, NARROW = 0.01, 1e-9
# Cells end so many standard errors beyond the two means.
BEYOND = 1.5


def _weights() -> Interval:
    away = iv.log(around(RHO) / around(CENTRE)) / TAIL
    weights = iv.exp(exactly(-np.abs(away.middle)) + Interval(-away.radius, away.radius))
    return iv.log(weights / weights.sum())


SQUARES = around(RHO).square
_LARGE = exactly(6.0) / SQUARES
ALPHA = Interval(np.maximum(_LARGE.low, 0.5), np.maximum(_LARGE.high, 0.5))
NEAR_ALPHA = ALPHA.middle
LOGS = _weights()
# (2 pi)^(-1/2), from above.
DENSITY = float(iv.above(1.0 / math.sqrt(2.0 * math.pi)))


@dataclass(frozen=True)
class Arm:
    """How many values, and the sum of squared distances from their mean."""

    n: float
    scatter: float

    @property
    def reach(self) -> float:
        """How far beyond the mean cells go."""
        return BEYOND * math.sqrt(self.scatter) / self.n

    @cached_property
    def _a(self) -> Interval:
        return ALPHA + 0.5 * self.n

    @cached_property
    def _q(self) -> Interval:
        return SQUARES * self.n + 1.0

    @cached_property
    def _constant(self) -> Interval:
        """What depends on the number of values alone, with the logarithms of the weights.

        ln Gamma(a) - ln Gamma(alpha) - (n/2) ln alpha = (a - 1/2) ln(a / alpha) - n/2 and the
        difference of what Stirling's formula leaves: nothing large is taken from anything large.
        """
        half, a = 0.5 * self.n, self._a
        logs = (a - 0.5) * iv.log1p(exactly(half) / ALPHA) - half
        logs = logs + iv.log_gamma_beyond(a) - iv.log_gamma_beyond(ALPHA)
        return logs - iv.log(self._q) * 0.5 + LOGS

    def log(self, r: Vector) -> Interval:
        """A bound from below for every variance and every mean at least r (n,) from that here.

        r is negative on the side that speaks for the null, minus infinity for any mean. More kappa
        proves more on the side against the null, and less on the other: it is rounded accordingly.
        """
        far = exactly(r[:, None]).square * self.n
        kappa = (far + self.scatter) / (far / self._q + self.scatter)
        if self.scatter == 0.0:
            kappa = self._q[None, :].where(np.ones_like(kappa.low, np.bool_), kappa)
        least = np.where(np.isfinite(kappa.low), np.maximum(kappa.low, 1.0), 1.0)
        most = np.where(np.isfinite(kappa.high), kappa.high, np.inf)
        most = np.minimum(most, self._q.high)
        part = _against(self._a, exactly(least)).where(r[:, None] >= 0.0, _for(self._a, most))
        return iv.log_sum(self._constant + part)

    def nearly(self, r: float) -> float:
        """The same in doubles, for one r."""
        (constant, q, a), far = self._middles, self.n * r * r
        kappa = q
        if 0.0 < self.scatter + far < math.inf:
            kappa = (self.scatter + far) / (self.scatter + far / q)
        if r < 0.0:
            part = _for_nearly(a, 0.5 * self.n, kappa)
        else:
            tau = np.maximum(a / kappa - NEAR_ALPHA, 0.0)
            upper = NEAR_ALPHA * UPPER * tau / (NEAR_ALPHA + (1.0 - UPPER) * tau)
            known = _sign_nearly(a, kappa, LOWER * tau / (NEAR_ALPHA + tau))
            part = np.min(kappa * upper - a * np.log1p(upper / NEAR_ALPHA) + known, axis=0)
        return float(np.logaddexp.reduce(constant + part))

    @cached_property
    def _middles(self) -> tuple[Vector, Vector, Vector]:
        return self._constant.middle, self._q.middle, self._a.middle


def _against(a: Interval, kappa: Interval) -> Interval:
    """The least over tau of what depends on it, cut into pieces up to tau*, where r >= 0."""
    tau = (a / kappa - ALPHA).positive
    p = tau / (ALPHA + tau)
    up, low = around(UPPER[:, None]), around(LOWER[:, None])
    # Where p is `up` times that of tau.
    upper = ALPHA * tau * up / (ALPHA + tau * (exactly(1.0) - up).positive)
    found = kappa * upper - a * iv.log1p(upper / ALPHA) + _sign_known(a, kappa, p * low)
    return Interval(np.min(found.low, axis=0), np.min(found.high, axis=0))


def _sign_known(a: Interval, kappa: Interval, p: Interval) -> Interval:
    """ln G from below, by the tail of Student's distribution with 2 a degrees of freedom."""
    excess = ((kappa - 1.0) * p).positive
    tail = a * 2.0 / (a * 2.0 - 1.0) * iv.exp((exactly(0.5) - a) * iv.log1p(excess)) * DENSITY
    tail = tail / iv.sqrt(a * excess * 2.0)
    most = np.where(tail.high <= 0.5, tail.high, 0.5)
    return iv.log((exactly(1.0) - most) * (exactly(1.0) - around(ETA)) * 2.0 + around(ETA))


def _for(a: Interval, kappa: Vector) -> Interval:
    """The same for means between that here and one at kappa, at most, on the other side."""
    tau = a - ALPHA
    t = iv.sqrt((exactly(kappa) - 1.0).positive * (a + tau))
    known = (exactly(1.0) - t * DENSITY * 2.0).positive
    G = known * (exactly(1.0) - around(ETA)) + around(ETA)
    near = tau - a * iv.log1p(tau / ALPHA) + iv.log(G)
    cut = a + tau  # where p is half of what it is at tau, and half of 1
    beyond = cut - a * iv.log1p(cut / ALPHA) + iv.log(around(ETA))
    return Interval(np.minimum(near.low, beyond.low), np.minimum(near.high, beyond.high))


def _sign_nearly(a: Vector, kappa: Vector, p: Vector) -> Vector:
    excess = (kappa - 1.0) * p
    tail = DENSITY * 2.0 * a / (2.0 * a - 1.0) * np.exp((0.5 - a) * np.log1p(excess))
    tail = np.fmin(tail / np.sqrt(2.0 * a * excess), 0.5)
    found: Vector = np.log(ETA + (1.0 - ETA) * 2.0 * (1.0 - tail))
    return found


def _for_nearly(a: Vector, tau: float, kappa: Vector) -> Vector:
    alpha, cut = NEAR_ALPHA, a + tau
    G = ETA + (1.0 - ETA) * np.maximum(1.0 - 2.0 * DENSITY * np.sqrt((kappa - 1.0) * cut), 0.0)
    found: Vector = np.minimum(
        tau - a * np.log1p(tau / alpha) + np.log(G),
        cut - a * np.log1p(cut / alpha) + math.log(ETA),
    )
    return found


def by_two_arms(challenger: Arm, incumbent: Arm, gap: Interval) -> Interval:
    """Evidence of a pair, `gap` apart with the tolerance, from below: the infimum over its null.

    The incumbent's mean is x above the challenger's empirical one less the tolerance, and the
    challenger's at least that with the tolerance. In a cell of x the one is at least what it is at
    the upper end, the other what it is at the lower end; beyond the cells one of them may be
    anywhere.
    """
    if not gap.low > 0.0:
        return exactly(-math.inf)
    cells = _cells(challenger, incumbent, float(gap.low))
    if cells is None:
        return exactly(-math.inf)
    edges = np.unique(np.array(cells))
    anywhere = [-math.inf]
    apart = np.where(edges == gap.low, 0.0, iv.below(gap.low - edges))
    up = incumbent.log(np.concatenate([apart, anywhere]))
    down = challenger.log(np.concatenate([edges, anywhere]))
    whole = iv.joined([up[1:-1] + down[:-2], up[:1] + down[-1:], up[-1:] + down[-2:-1]])
    return Interval(np.asarray(np.min(whole.low)), np.asarray(np.min(whole.high)))


def _cells(challenger: Arm, incumbent: Arm, gap: float) -> list[float] | None:
    """The ends of cells, halved until each has the least value seen by then, less LOSS."""

    def both(x: float) -> tuple[float, float, float]:
        return x, incumbent.nearly(gap - x), challenger.nearly(x)

    low, high = -challenger.reach, gap + incumbent.reach
    if not math.isfinite(high - low):
        return None
    points = [both(low + (high - low) * cell / CELLS) for cell in range(CELLS)] + [both(high)]
    least = min(up + down for _, up, down in points)
    found = [point[0] for point in points]
    cells = [(points[cell], points[cell + 1]) for cell in range(CELLS)]
    while cells:
        left, right = cells.pop()
        if right[1] + left[2] >= least - LOSS or right[0] - left[0] <= NARROW * (high - low):
            continue
        middle = both(0.5 * (left[0] + right[0]))
        least = min(least, middle[1] + middle[2])
        cells += [(left, middle), (middle, right)]
        found.append(middle[0])
        if len(found) > MOST_CELLS:
            raise Failure("data must have fewer measurements for pairs to be derived again")
    return found
