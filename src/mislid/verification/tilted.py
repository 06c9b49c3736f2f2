"""What a pair's own two arms prove where values are within a range, or 0 and 1.

For values in [0, 1] with mean x, and b > 0, E exp(b X) <= 1 - x + x e^b; and for b < 1 and a guess
c that was made before, E exp(b (X - x) - psi(b) (X - c)^2) <= 1 with psi(b) = -ln(1 - b) - b. So of
n values with sum S and V = sum (X - c)^2 the averages over b of

    exp(b S - n ln(1 - x + x e^b))   and   exp(b (S - n x) - psi(b) V)

are supermartingales if the mean is x, large if it is above. Against means below, the same is said
of 1 - X. `docs/certificate.md` has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid.verification.reading import Vector

EXACT = np.array([0.005 * 2.0**power for power in range(11)])
EMPIRICAL = np.array([0.005 * 2.0**power for power in range(8)])
# A weight falls by a factor e for every factor exp(TAIL) away from the centre.
CENTRE, TAIL = 0.1, 2.0
# An infimum is known to this, in nats, or after so many steps as well as doubles allow.
CLOSE, MOST_STEPS = 1e-11, 200


@dataclass(frozen=True)
class Arm:
    """How many values in [0, 1], their sum, and V; of values 0 and 1 there is none."""

    n: float
    total: float
    scatter: float | None

    @property
    def reflected(self) -> Arm:
        """The same of one less each value; V does not change."""
        return Arm(self.n, self.n - self.total, self.scatter)

    def log(self, x: float) -> tuple[float, float]:
        """The logarithm of the average if the mean is x, and its slope in x: convex, and falling.

        Where there is V, half of the weight is on processes with it.
        """
        grow = np.expm1(EXACT)
        exact = EXACT * self.total - self.n * np.log1p(x * grow) + _logs(EXACT)
        slopes = -self.n * grow / (1.0 + x * grow)
        if self.scatter is None:
            return _average(exact, slopes)
        price = -np.log1p(-EMPIRICAL) - EMPIRICAL
        other = EMPIRICAL * (self.total - self.n * x) - price * self.scatter + _logs(EMPIRICAL)
        both = np.concatenate([exact, other]) - math.log(2.0)
        return _average(both, np.concatenate([slopes, -self.n * EMPIRICAL]))


def _logs(sizes: Vector) -> Vector:
    weights = np.exp(-np.abs(np.log(sizes / CENTRE)) / TAIL)
    logs: Vector = np.log(weights / weights.sum())
    return logs


def _average(logs: Vector, slopes: Vector) -> tuple[float, float]:
    value = float(np.logaddexp.reduce(logs))
    return value, float(np.exp(logs - value) @ slopes)


def by_two_arms(challenger: Arm, incumbent: Arm, tol: float) -> float:
    """Evidence of a pair, from below: the infimum over 0 <= x <= 1 - tol.

    There the incumbent has mean x and the challenger x + tol. The sum of two convex functions is
    convex, so it is above its tangents at both ends of an interval, and where they meet is a bound.
    """
    if not (challenger.n > 0.0 and incumbent.n > 0.0):
        return -math.inf
    other = challenger.reflected

    def both(x: float) -> tuple[float, float]:
        up, down = incumbent.log(x), other.log(1.0 - x - tol)
        return up[0] + down[0], up[1] - down[1]

    low, high = 0.0, 1.0 - tol
    (left, fall), (right, rise) = both(low), both(high)
    if fall >= 0.0:
        return left
    if rise <= 0.0:
        return right
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
    return bound
