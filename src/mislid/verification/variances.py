"""Gaussian values whose variances are not known: of each arm, or one that all arms share.

Of each arm: the null is a mean x and any precision theta. It is compared with precisions g theta,
g ~ Gamma(alpha, alpha), and means that are h of their own standard deviations away, h ~ N(0, rho^2)
with a share of ETA, else |h| towards the side that speaks against the null.
`docs/certificate.md` derives the logarithm of that ratio, and how it is bounded for every theta at
once. Which cells are looked at is found in doubles; what they prove, between bounds.

Shared by all arms: beside each displacement stands a process that grows if sigma is too large. For
a tilt h it is

    S_h = exp(1/2 sum over values of ln(1 + h (n - 1) / n) - h SS / (2 sigma^2)),

the n-th value of its arm each, and SS the squared distances of all values from the means of their
arms. `docs/certificate.md` says why the product is a supermartingale. Evidence in units of
sigma grows with theta = 1/sigma^2, and S_h falls. So where theta is in a cell, the product is at
least the evidence at the lower end of the cell times S_h at its upper end; the least over cells
that cover everything counts, rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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


SQUARES = around(RHO).square
_LARGE = exactly(6.0) / SQUARES
ALPHA = Interval(np.maximum(_LARGE.low, 0.5), np.maximum(_LARGE.high, 0.5))
NEAR_ALPHA = ALPHA.middle
LOGS = iv.weights(around(RHO), CENTRE, TAIL)
# (2 pi)^(-1/2), from above.
DENSITY = float(iv.above(1.0 / math.sqrt(2.0 * math.pi)))


@dataclass(frozen=True)
class Arm:
    """How many values, and the sum of squared distances from their mean."""

    n: float
    scatter: Interval

    @property
    def reach(self) -> float:
        """How far beyond the mean cells go."""
        return BEYOND * math.sqrt(self.scatter.middle) / self.n

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
        if self.scatter.high == 0.0:
            kappa = self._q[None, :].where(np.ones_like(kappa.low, np.bool_), kappa)
        least = np.where(np.isfinite(kappa.low), np.maximum(kappa.low, 1.0), 1.0)
        most = np.where(np.isfinite(kappa.high), kappa.high, np.inf)
        most = np.minimum(most, self._q.high)
        part = _against(self._a, exactly(least)).where(r[:, None] >= 0.0, _for(self._a, most))
        return iv.log_sum(self._constant + part)

    def nearly(self, r: float) -> float:
        """The same in doubles, for one r."""
        (constant, q, a), far = self._middles, self.n * r * r
        kappa, scatter = q, float(self.scatter.middle)
        if 0.0 < scatter + far < math.inf:
            kappa = (scatter + far) / (scatter + far / q)
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
            raise Failure("data must have fewer values for pairs to be derived")
    return found


# Tilts in units of s^2 / dimension for a scale s, and their shares.
TILTS, SHARES = (0.0, 1.0, 4.0, 16.0), (0.2, 0.3, 0.3, 0.2)
# Lower ends of 256 cells of theta up to 1.5 times the estimated one, and of 16 ever wider ones up
# to 8 times that, of which the last has no end.
_WIDE = iv.exp(iv.log(around(8.0 / 1.5)) * around(np.arange(16.0) / 15.0)) * 1.5
ENDS = iv.joined([exactly(1.5 / 256.0 * np.arange(256.0)), _WIDE])
# Of the level of the means, the part below which distances from them are rounding.
DIGITS = 1e-14
# Numbers (cells times pairs times scales) that are in memory at once.
AT_ONCE = 200_000
# A logarithm of nothing.
NOTHING = -1e9


@dataclass(frozen=True, eq=False)
class Cells:
    """Lower ends (J,) of cells of theta, and logarithms (J, S) that tilts add to the scales."""

    precisions: Interval
    logs: Interval

    def least(self, at: Callable[[Interval], Interval], heights: Interval) -> Interval:
        """The least over the cells of the logarithm of a sum over the scales.

        Terms (..., S) are `heights` and what `at` says of several theta at once, which grows.
        """
        found, ranks = list[Interval](), heights.low.ndim
        size = max(1, AT_ONCE // heights.low.size)
        for first in range(0, self.precisions.low.size, size):
            part = slice(first, first + size)
            precisions = self.precisions[part][(slice(None), *[None] * ranks)]
            logs = self.logs[part][(slice(None), *[None] * (ranks - 1))]
            found.append(iv.log_sum(at(precisions) + heights + logs))
        low, high = (
            np.min([np.min(getattr(one, end), axis=0) for one in found], axis=0)
            for end in ("low", "high")
        )
        return Interval(low, high)


def estimated_precision(counts: Vector, means: Vector, scatter: Interval) -> Interval | None:
    """Theta by all values together.

    None where they do not scatter but by rounding, which is not taken for a sign that there is no
    noise.
    """
    total, level = scatter.sum(), float(np.max(np.abs(means)))
    if not float(total.low) > float(np.sum(counts)) * (DIGITS * level) ** 2:
        return None
    return exactly(float(np.sum(np.maximum(counts - 1.0, 0.0)))) / total


def cells_of(
    counts: Vector, means: Vector, scatter: Interval, sizes: Interval, dimension: int
) -> Cells:
    """The cells for displacements of these sizes (S,) in units of the noise.

    `dimension` is the number of arms or, along features, of these.
    """
    shape, share = (ENDS.low.size, sizes.low.size), iv.log(around(SHARES[0]))
    alone = Interval(np.full(shape, share.low), np.full(shape, share.high))
    unit = estimated_precision(counts, means, scatter)
    if unit is None:
        return Cells(ENDS, alone)
    freedom = float(np.sum(np.maximum(counts - 1.0, 0.0)))
    upper = iv.joined([ENDS[1:], ENDS[-1:]])[:, None]
    parts = [alone]
    for tilt, part in list(zip(TILTS, SHARES, strict=True))[1:]:
        h = sizes.square * tilt / float(dimension)
        # SS theta is the freedom times the end of a cell.
        falls = h[None, :] * upper * (0.5 * freedom)
        process = volume(counts, h)[None, :] * 0.5 - falls + iv.log(around(part))
        ended = np.arange(1, shape[0] + 1)[:, None] < shape[0]
        parts.append(process.where(np.broadcast_to(ended, shape), NOTHING))
    low, high = (np.stack([getattr(one, end) for one in parts], -1) for end in ("low", "high"))
    return Cells(ENDS * unit, iv.log_sum(Interval(low, high)))


def volume(counts: Vector, h: Interval) -> Interval:
    """The sum of ln(1 + h (n - 1) / n) over values, the n-th of its arm each, for tilts (S,).

    For an arm, with e = h / (1 + h), that is n ln(1 + h) - ln Gamma(1 - e) and
    ln Gamma(n + 1 - e) - ln Gamma(n + 1), of which the large parts are taken together:
    (n + 1/2 - e) ln(1 - e / (n + 1)) - e ln(n + 1) + e, and what Binet's function adds.
    """
    n = exactly(counts[counts > 1.0])[None, :]
    h = h[:, None]
    e = h / (h + 1.0)
    below = exactly(1.0) / (h + 1.0)  # 1 - e
    first = iv.log1p(-e / (n + 1.0)) * (n + below - 0.5) - iv.log(n + 1.0) * e + e
    first = first + iv.log_gamma_beyond(n + below) - iv.log_gamma_beyond(n + 1.0)
    # ln Gamma(1 - e), by Binet's function; its constant ln(2 pi) / 2 is that of Gamma(1) = 1.
    one = iv.log(below) * (below - 0.5) - below + iv.log_gamma_beyond(below)
    one = one + 1.0 - iv.log_gamma_beyond(exactly(np.ones_like(below.low)))
    return (first + iv.log1p(h) * n - one).sum(axis=1)
