"""Gaussian values of arms whose standard deviations are not known.

The null is a mean x and any precision theta. It is compared with precisions g theta, where
g ~ Gamma(alpha, alpha), and means that are h of their own standard deviations away, h ~ N(0, rho^2)
with a share of ETA, else |h| towards the side that speaks against the null.
`docs/certificate.md` derives the logarithm of that ratio, and how it is bounded for every theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.reading import Vector

RHO = np.array([0.005 * 3.0**power for power in range(7)])
CENTRE, TAIL = 0.1, 1.5
ETA = 0.1
# Where [0, tau*] is cut, as parts of p*.
UPPER, LOWER = (np.array(cuts)[:, None] for cuts in ((1.0, 0.9, 0.7, 0.4), (0.9, 0.7, 0.4, 0.0)))
# Cells at first, and at most.
CELLS, MOST_CELLS = 16, 10_000
# How much a cell may lose, in nats, and parts of the whole that are not halved again.
LOSS, NARROW = 0.001, 1e-9
# Cells end so many standard errors beyond the two means.
BEYOND = 1.5


SQUARES = around(RHO).square
_LARGE = exactly(6.0) / SQUARES
ALPHA = Interval(np.maximum(_LARGE.low, 0.5), np.maximum(_LARGE.high, 0.5))
LOGS = iv.weights(around(RHO), CENTRE, TAIL)
# (2 pi)^(-1/2), from above.
DENSITY = float(iv.above(1.0 / math.sqrt(2.0 * math.pi)))


@dataclass(frozen=True)
class Arm:
    """How many values, and the sum of squared distances from their mean."""

    n: float
    scatter: Interval

    @cached_property
    def _parts(self) -> tuple[Interval, Interval, Interval]:
        """a, q, and what depends on the number of values alone, with the weights' logarithms.

        ln Gamma(a) - ln Gamma(alpha) - (n/2) ln alpha = (a - 1/2) ln(a / alpha) - n/2 and the
        difference of what Stirling's formula leaves: nothing large is taken from anything large.
        """
        half = 0.5 * self.n
        a, q = ALPHA + half, SQUARES * self.n + 1.0
        logs = (a - 0.5) * iv.log1p(exactly(half) / ALPHA) - half
        logs = logs + iv.log_gamma_beyond(a) - iv.log_gamma_beyond(ALPHA)
        return a, q, logs - iv.log(q) * 0.5 + LOGS

    def log(self, r: Vector) -> Interval:
        """A bound from below for every variance and every mean at least r (n,) from that here.

        r is negative on the side that speaks for the null, minus infinity for any mean. More kappa
        proves more on the side against the null, and less on the other: it is rounded accordingly.
        """
        (a, q, constant), far = self._parts, exactly(r[:, None]).square * self.n
        kappa = (far + self.scatter) / (far / q + self.scatter)
        if self.scatter.high == 0.0:
            kappa = q[None, :].where(np.ones_like(kappa.low, np.bool_), kappa)
        least = np.where(np.isfinite(kappa.low), np.maximum(kappa.low, 1.0), 1.0)
        most = np.where(np.isfinite(kappa.high), kappa.high, np.inf)
        most = np.minimum(most, q.high)
        part = _against(a, exactly(least)).where(r[:, None] >= 0.0, _for(a, most))
        return iv.log_sum(constant + part)


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


def by_two_arms(challenger: Arm, incumbent: Arm, gap: Interval) -> Interval:
    """Evidence of a pair, `gap` apart with the tolerance, from below: the infimum over its null.

    The incumbent's mean is x above the challenger's empirical one less the tolerance, and the
    challenger's at least that with the tolerance. In a cell of x the one is at least what it is at
    the upper end, the other what it is at the lower end; beyond the cells one of them may be
    anywhere.
    """
    out, beyond = (
        BEYOND * math.sqrt(one.scatter.middle) / one.n for one in (challenger, incumbent)
    )
    low, high = -out, float(gap.low) + beyond
    if not (gap.low > 0.0 and math.isfinite(high - low)):
        return exactly(-math.inf)

    def at(x: Vector) -> tuple[Vector, Vector]:
        apart = np.where(x == gap.low, 0.0, iv.below(gap.low - x))
        return incumbent.log(apart).low, challenger.log(x).low

    edges = low + (high - low) * np.arange(CELLS + 1.0) / CELLS
    up, down = at(edges)
    while edges.size <= MOST_CELLS:
        open_ = up[1:] + down[:-1] < np.min(up + down) - LOSS
        open_ &= np.diff(edges) > NARROW * (high - low)
        if not open_.any():
            break
        new = 0.5 * (edges[:-1] + edges[1:])[open_]
        order = np.argsort(np.concatenate([edges, new]), kind="stable")
        edges, up, down = (
            np.concatenate([one, more])[order]
            for one, more in zip((edges, up, down), (new, *at(new)), strict=True)
        )
    anywhere = np.array([-math.inf])
    least = incumbent.log(anywhere).low + down[-1], challenger.log(anywhere).low + up[0]
    return exactly(min(float(np.min(up[1:] + down[:-1])), float(least[0][0]), float(least[1][0])))
