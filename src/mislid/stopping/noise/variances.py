"""Gaussian values of unknown variance: processes that are good against every variance at once.

The null of an arm is a mean x and a variance 1/theta. It is compared with Gaussian values of
precision g theta, g ~ Gamma(alpha, alpha), whose mean is above x (E+) or below (E-) by |h|
standard deviations of their own, h ~ N(0, rho^2); with a share `TWO_SIDED` the sign is free. With
n values, their mean y and scatter SS = sum (X - y)^2, and with r = y - x for E+, x - y for E-,

    S = SS + n r^2,  S' = SS + n r^2 / q,  q = 1 + n rho^2,  a = alpha + n/2,
    kappa = S / S'  (from 1 to q, rising in |r|),  tau = theta S' / 2,  p = tau / (alpha + tau),

    ln E = ln Gamma(a) - ln Gamma(alpha) - (n/2) ln alpha - ln(q) / 2
           - a ln(1 + tau / alpha) + kappa tau + ln G,
    G = TWO_SIDED + (1 - TWO_SIDED) 2 T(t),  t^2 = 2 a (kappa - 1) p,

T the distribution function of Student's t with 2 a degrees of freedom; t has the sign of r. For a
fixed tau >= 0 this rises in kappa, as long as r >= 0. So the infimum over all variances is that
over tau at one kappa, and it only rises if the mean moves farther away. Where r < 0, on the side
that the displacements do not look at, G is less than 1 and at least TWO_SIDED.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.stopping.evidence import fading_logs

# Displacements, in standard deviations.
SIZES = tuple(0.005 * 3.0**power for power in range(7))
CENTRE, TAIL = 0.1, 1.5
# alpha is this over rho^2, as long as that is not too little.
PRECISION, LEAST_PRECISION = 6.0, 0.5
# The part of the displacements that may have either sign: where a mean is far on the wrong side,
# the others prove nothing.
TWO_SIDED = 0.1
# Where tau is less than its best value, the infimum is looked for in pieces; these parts of t^2.
PIECES = (1.0, 0.9, 0.7, 0.4)
# What a bound from below may lose, in nats; cells at first, and when they are too narrow to halve.
LOSS, CELLS, NARROW = 0.01, 16, 1e-9
# So many standard errors beyond the two means, cells end.
BEYOND = 1.5
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, slots=True, eq=False)
class Shifts:
    """What E+ and E- average over.

    Attributes
    ----------
    sizes, alphas, logs
        rho, alpha, and logarithms of their weights, which add up to 1, all (n,).
    """

    sizes: Vector
    alphas: Vector
    logs: Vector


class Sample(NamedTuple):
    """Values of one arm.

    Attributes
    ----------
    n, mean, scatter
        How many, their mean, and the sum of squared distances from it.
    """

    n: float
    mean: float
    scatter: float


def shifts() -> Shifts:
    """The displacements.

    Examples
    --------
    >>> found = shifts()
    >>> len(found.sizes), round(float(np.exp(found.logs).sum()), 12)
    (7, 1.0)
    """
    sizes = np.array(SIZES)
    alphas = np.maximum(PRECISION / sizes**2, LEAST_PRECISION)
    return Shifts(sizes, alphas, fading_logs(sizes, CENTRE, TAIL))


def _base(given: Shifts, n: float) -> tuple[Vector, Vector]:
    """What does not depend on kappa and tau (S,), and a (S,)."""
    alpha = given.alphas
    a = alpha + 0.5 * n
    logs = np.array([math.lgamma(one) for one in a]) - [math.lgamma(one) for one in alpha]
    logs -= 0.5 * n * np.log(alpha) + 0.5 * np.log1p(n * given.sizes**2)
    return logs, a


def _kappa(given: Shifts, arm: Sample, r: float) -> Vector:
    q = 1.0 + arm.n * given.sizes**2
    far = arm.n * r * r
    if arm.scatter + far == 0.0 or math.isinf(far):
        return q  # the least that any r != 0 has without scatter; the most that there is
    kappa: Vector = (arm.scatter + far) / (arm.scatter + far / q)
    return kappa


def _gain(a: Vector, kappa: Vector, p: Vector) -> Vector:
    """A bound from below for ln G, by one from above for the tail of Student's t.

    The tail beyond t is at most the integral of (s / t) times the density, which is at most
    DENSITY nu / (nu - 1) (1 + t^2 / nu)^((1 - nu) / 2) / t, nu = 2 a.
    """
    excess = (kappa - 1.0) * p
    with np.errstate(divide="ignore"):
        tail = DENSITY * 2.0 * a / (2.0 * a - 1.0) / np.sqrt(2.0 * a * excess)
        tail *= np.exp((0.5 - a) * np.log1p(excess))
    gain: Vector = np.log(2.0 - TWO_SIDED - 2.0 * (1.0 - TWO_SIDED) * np.minimum(tail, 0.5))
    return gain


def _wrong_side(a: Vector, alpha: Vector, kappa: Vector) -> Vector:
    """A bound from below for the part that depends on tau, where 0 >= r and kappa is the largest.

    Up to some tau by G there, as T(-t) >= 1/2 - DENSITY t; from there on by TWO_SIDED.
    """
    best = a - alpha
    p = 0.5 * (1.0 + best / a)
    tau = alpha * p / (1.0 - p)
    near = 1.0 - 2.0 * DENSITY * np.sqrt(2.0 * a * (kappa - 1.0) * p)
    G = TWO_SIDED + (1.0 - TWO_SIDED) * np.maximum(near, 0.0)
    before = best - a * np.log1p(best / alpha) + np.log(G)
    beyond = tau - a * np.log1p(tau / alpha) + math.log(TWO_SIDED)
    least: Vector = np.minimum(before, beyond)
    return least


def _right_side(a: Vector, alpha: Vector, kappa: Vector) -> Vector:
    """A bound from below for the part that depends on tau, where r >= 0."""
    best = np.maximum(a / kappa - alpha, 0.0)  # of tau, but for the gain
    most = best / (alpha + best)
    least = np.full(len(a), np.inf)
    for place, part in enumerate(PIECES):
        tau = alpha * part * most / (1.0 - part * most)
        below = PIECES[place + 1] if place + 1 < len(PIECES) else 0.0
        logs = kappa * tau - a * np.log1p(tau / alpha) + _gain(a, kappa, below * most)
        least = np.minimum(least, logs)
    return least


def shifted_log(given: Shifts, arm: Sample, r: float) -> float:
    """A bound from below for ln E, for every variance and every mean at least r away.

    Parameters
    ----------
    given
        What the process averages over.
    arm
        The values.
    r
        How far they are on the side that speaks against the null: the null's mean is at most
        y - r for E+, at least y + r for E-. Minus infinity for any mean.

    Returns
    -------
    float
        Of the average over displacements.

    Examples
    --------
    >>> arm = Sample(n=40, mean=0.0, scatter=40.0)
    >>> [round(shifted_log(shifts(), arm, r), 2) for r in (-math.inf, -0.1, 0.0, 0.3, 1.0)]
    [-2.68, -2.45, -0.38, 0.16, 7.65]
    """
    base, a = _base(given, arm.n)
    kappa = _kappa(given, arm, r)
    side = _right_side if r >= 0.0 else _wrong_side
    return float(np.logaddexp.reduce(base + side(a, given.alphas, kappa) + given.logs))


def by_shifts(given: Shifts, challenger: Sample, incumbent: Sample, tolerance: float) -> float:
    """Evidence of a pair by its two arms, less the logarithm of the pair's share.

    The infimum over x of ln E+(x) of the incumbent plus ln E-(x + tolerance) of the challenger.
    Over a cell x1 <= x <= x2 it is at least the former at x2 plus the latter at x1. Cells are
    halved until all have at least the least value that was seen, less `LOSS`; they reach beyond
    the two means, since one arm may be a little on the wrong side.

    Parameters
    ----------
    given
        What the processes average over.
    challenger, incumbent
        Their values.
    tolerance
        From 0 on, in their unit.

    Returns
    -------
    float
        A bound from below; minus infinity where the incumbent's mean is not the larger one, or an
        arm was never measured.

    Examples
    --------
    >>> j, i = Sample(n=60, mean=1.0, scatter=60.0), Sample(n=60, mean=0.0, scatter=60.0)
    >>> round(by_shifts(shifts(), i, j, 0.0), 2)
    5.7
    """
    near, far = challenger.mean - tolerance, incumbent.mean
    if challenger.n == 0.0 or incumbent.n == 0.0 or not near < far:
        return -math.inf

    def up(x: float) -> float:
        return shifted_log(given, incumbent, far - x)

    def down(x: float) -> float:
        return shifted_log(given, challenger, x - near)

    low, high = near - _beyond(challenger), far + _beyond(incumbent)
    anywhere = -math.inf
    bound = min(
        up(low) + shifted_log(given, challenger, anywhere),
        down(high) + shifted_log(given, incumbent, anywhere),
    )
    at = [low + (high - low) * cell / CELLS for cell in range(CELLS + 1)]
    values = [(x, up(x), down(x)) for x in at]
    least = min(one + other for _, one, other in values)
    cells = list(pairwise(values))
    while cells:
        left, right = cells.pop()
        known = left[2] + right[1]
        if known >= least - LOSS or right[0] - left[0] <= NARROW * (high - low):
            bound = min(bound, known)
            continue
        x = 0.5 * (left[0] + right[0])
        middle = x, up(x), down(x)
        least = min(least, middle[1] + middle[2])
        cells += [(left, middle), (middle, right)]
    return min(bound, least)


def _beyond(arm: Sample) -> float:
    return BEYOND * math.sqrt(arm.scatter) / arm.n
