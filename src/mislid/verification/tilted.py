"""What a pair's own two arms prove where values are within a range, or 0 and 1.

For values in [0, 1] with mean x, and b > 0, E exp(b X) <= 1 - x + x e^b; and for b < 1 and a guess
c that was made before, E exp(b (X - x) - psi(b) (X - c)^2) <= 1 with psi(b) = -ln(1 - b) - b. So of
n values with sum S and V = sum (X - c)^2 the averages over b of

    exp(b S - n ln(1 - x + x e^b))   and   exp(b (S - n x) - psi(b) V)

are supermartingales if the mean is x, large if it is above. Against means below, the same is said
of 1 - X. `docs/certificate-proof.md` has the proofs. Doubles find where the infimum is; what it is
at least is computed between bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.reading import Vector

EXACT = np.array([0.005 * 2.0**power for power in range(11)])
EMPIRICAL = np.array([0.005 * 2.0**power for power in range(8)])
# A weight falls by a factor e for every factor exp(TAIL) away from the centre.
CENTRE, TAIL = 0.1, 2.0
# An infimum is known to this, in nats, or after so many steps as well as doubles allow.
CLOSE, MOST_STEPS = 1e-11, 200
# How far from there slopes have a certain sign: tried first, and fourfold so often.
FIRST_STEP, MOST_WIDENINGS = 1e-11, 30


def _logs(sizes: Vector) -> Interval:
    weights = iv.fading(around(sizes), CENTRE, TAIL)
    return iv.log(weights / weights.sum())


# Of every tilt: b, the logarithm of its weight, and e^b - 1, or psi(b).
EXACT_LOGS, GROWTHS = _logs(EXACT), iv.expm1(around(EXACT))
EMPIRICAL_LOGS = _logs(EMPIRICAL)
PRICES = -iv.log1p(-around(EMPIRICAL)) - around(EMPIRICAL)


@dataclass(frozen=True)
class Arm:
    """How many values in [0, 1], their sum, and V; of values 0 and 1 there is none.

    Rounding may have taken `lost` from the sum.
    """

    n: int
    total: Fraction
    scatter: float | None
    lost: Fraction = Fraction(0)

    @property
    def reflected(self) -> Arm:
        """The same of one less each value; V does not change."""
        return Arm(self.n, self.n - self.total, self.scatter, self.lost)

    @cached_property
    def _sum(self) -> Interval:
        return iv.within(self.total, self.lost)

    def nearly(self, x: float) -> tuple[float, float]:
        """The logarithm of the average if the mean is x, and its slope in x: convex, and falling.

        Where there is V, half of the weight is on processes with it.
        """
        n, total, grow = float(self.n), float(self._sum.middle), GROWTHS.middle
        logs = EXACT * total - n * np.log1p(x * grow) + EXACT_LOGS.middle
        slopes = -n * grow / (1.0 + x * grow)
        if self.scatter is not None:
            other = EMPIRICAL * (total - n * x) - PRICES.middle * self.scatter
            logs = np.concatenate([logs, other + EMPIRICAL_LOGS.middle]) - math.log(2.0)
            slopes = np.concatenate([slopes, -n * EMPIRICAL])
        value = float(np.logaddexp.reduce(logs))
        return value, float(np.exp(logs - value) @ slopes)

    def log(self, x: Interval) -> tuple[Interval, Interval]:
        """The same between bounds."""
        n = float(self.n)
        parts = x * GROWTHS
        logs = around(EXACT) * self._sum - iv.log1p(parts) * n + EXACT_LOGS
        slopes = -(GROWTHS * n / (parts + 1.0))
        if self.scatter is not None:
            other = around(EMPIRICAL) * (self._sum - x * n) - PRICES * self.scatter
            other, steady = other + EMPIRICAL_LOGS, -(around(EMPIRICAL) * n)
            logs, slopes = iv.joined([logs, other]) - iv.log(2.0), iv.joined([slopes, steady])
        value = iv.log_sum(logs)
        return value, (iv.exp(logs - value) * slopes).sum()


def by_two_arms(challenger: Arm, incumbent: Arm, tol: Fraction) -> Interval:
    """Evidence of a pair, from below: the infimum over 0 <= x <= 1 - tol.

    There the incumbent has mean x and the challenger x + tol. The sum f of two convex functions is
    convex. Let f fall at x1, or x1 = 0, and rise at x2 >= x1, or x2 >= 1 - tol: then the infimum is
    between them, above every average of the two tangents, a line that is least at one of its ends.
    """
    other, end = challenger.reflected, float(iv.above(float(1 - tol)))
    near, step = _nearest(other, incumbent, tol), FIRST_STEP

    def both(x: float) -> tuple[Interval, Interval]:
        up = incumbent.log(exactly(x))
        down = other.log(iv.of_fraction(1 - Fraction(x) - tol))
        return up[0] + down[0], up[1] - down[1]

    x1 = x2 = near
    falls = rises = False
    for _ in range(MOST_WIDENINGS):
        if not falls:
            x1 = max(near - step, 0.0)
            f1, s1 = both(x1)
            falls = x1 == 0.0 or bool(s1.high <= 0.0)
        if not rises:
            x2 = min(near + step, end)
            f2, s2 = both(x2)
            rises = x2 == end or bool(s2.low >= 0.0)
        if falls and rises:
            break
        step *= 4.0
    else:
        return exactly(math.nan)
    fall, rise = min(float(s1.middle), 0.0), max(float(s2.middle), 0.0)
    share = rise / (rise - fall) if rise > fall else float(fall >= 0.0)
    width, rest = exactly(x2) - x1, exactly(1.0) - share
    left = f1 * share + (f2 - s2 * width) * rest
    right = (f1 + s1 * width) * share + f2 * rest
    least = min(float(one.low) for one in (left, right, f1, f2))
    return Interval(np.asarray(least), np.minimum(f1.high, f2.high))


def _nearest(other: Arm, incumbent: Arm, tol: Fraction) -> float:
    """Where the infimum is, nearly: tangents meet at what a point has, less CLOSE."""
    apart = float(tol)

    def both(x: float) -> tuple[float, float]:
        up, down = incumbent.nearly(x), other.nearly(1.0 - x - apart)
        return up[0] + down[0], up[1] - down[1]

    low, high = 0.0, float(iv.above(float(1 - tol)))
    (left, fall), (right, rise) = both(low), both(high)
    if fall >= 0.0:
        return low
    if rise <= 0.0:
        return high
    for _ in range(MOST_STEPS):
        meet = (left - right + rise * high - fall * low) / (rise - fall)
        bound = left + fall * (meet - low)
        middle = 0.5 * (low + high)
        if min(left, right) - bound <= CLOSE or not low < middle < high:
            break
        value, slope = both(middle)
        if slope < 0.0:
            low, left, fall = middle, value, slope
        else:
            high, right, rise = middle, value, slope
    return low if left < right else high
