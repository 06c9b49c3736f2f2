"""Evidence of a pair of arms with Gaussian noise of unknown variance.

The null of an arm is a mean x and a variance 1/theta. It is compared with Gaussian values of
precision g theta, g ~ Gamma(alpha, alpha), whose mean is above x (E+) or below (E-) by |h|
standard deviations of their own, h ~ N(0, rho^2); with a share `TWO_SIDED` the sign is free. With
n values, their mean y and scatter SS = sum (X - y)^2, and with r = y - x for E+, x - y for E-,

    S = SS + n r^2,  S' = SS + n r^2 / q,  q = 1 + n rho^2,  a = alpha + n/2,
    kappa = S / S'  (from 1 to q, rising in |r|),  tau = theta S' / 2,  p = tau / (alpha + tau),

    ln E = ln Gamma(a) - ln Gamma(alpha) - (n/2) ln alpha - ln(q) / 2
           - a ln(1 + tau / alpha) + kappa tau + ln G,
    G = TWO_SIDED + (1 - TWO_SIDED) 2 T(t),  t^2 = 2 a (kappa - 1) p,

with T the distribution function of Student's t with 2 a degrees of freedom; t has the sign of r.
For fixed tau >= 0 and r >= 0 this rises in kappa. So the infimum over all variances is the infimum
over tau at one kappa, and it rises if the mean moves farther away. For r < 0, the side opposite to
the displacements, G is less than 1 and at least TWO_SIDED.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mislid._jit import Matrix, PerArm, Struct, Vector, inner, kernel
from mislid.stopping.evidence import fading_logs

# Displacements, in standard deviations.
SIZES = tuple(0.005 * 3.0**power for power in range(7))
CENTRE, TAIL = 0.1, 1.5
# alpha is PRECISION / rho^2, and at least LEAST_PRECISION.
PRECISION, LEAST_PRECISION = 6.0, 0.5
# The share of the displacements with a free sign. If the mean is far on the wrong side, E would
# vanish without them.
TWO_SIDED = 0.1
# For tau below its best value, the infimum is taken over pieces, which end at these parts of t^2.
PIECES = (1.0, 0.9, 0.7, 0.4, 0.0)
# The loss of a lower bound in nats, the number of cells at first, and their least relative width.
LOSS, CELLS, NARROW = 0.01, 16, 1e-9
# Cells end this many standard errors beyond the two means.
BEYOND = 1.5
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
# Largest number of open cells, because each is halved at most 30 times.
MOST_CELLS = CELLS + 64


class Shifts(Struct):
    """The displacements that E+ and E- average over."""

    rhos: Vector  # (S,)
    alphas: Vector  # (S,)
    logs: Vector  # (S,) of their weights
    # The terms of ln E that depend on the number of values alone, and this number.
    bases: Annotated[Matrix, ("K", "S")]
    known: PerArm
    terms: Vector  # (S,) work
    cells: Matrix  # (MOST_CELLS, 6) work


Arm = tuple[int, float, float, float]  # which one, count, mean and scatter


@inner
def _set_base(shifts: Shifts, arm: Arm) -> None:
    k, n = arm[0], arm[1]
    if shifts.known[k] == n:
        return
    shifts.known[k] = n
    for s in range(shifts.rhos.shape[0]):
        alpha, rho = shifts.alphas[s], shifts.rhos[s]
        base = math.lgamma(alpha + 0.5 * n) - math.lgamma(alpha) - 0.5 * n * math.log(alpha)
        shifts.bases[k, s] = base - 0.5 * math.log1p(n * rho * rho)


@inner
def _gain(a: float, kappa: float, p: float) -> float:
    """A bound from below for ln G, by one from above for the tail of Student's t.

    The tail beyond t is at most the integral of (s / t) times the density, which is at most
    DENSITY nu / (nu - 1) (1 + t^2 / nu)^((1 - nu) / 2) / t, nu = 2 a.
    """
    excess = (kappa - 1.0) * p
    if excess <= 0.0:
        return 0.0
    tail = DENSITY * 2.0 * a / (2.0 * a - 1.0) / math.sqrt(2.0 * a * excess)
    tail *= math.exp((0.5 - a) * math.log1p(excess))
    return math.log(2.0 - TWO_SIDED - 2.0 * (1.0 - TWO_SIDED) * min(tail, 0.5))


@inner
def _right_side(a: float, alpha: float, kappa: float) -> float:
    best = max(a / kappa - alpha, 0.0)
    most, least = best / (alpha + best), np.inf
    for piece in range(len(PIECES) - 1):
        p = PIECES[piece] * most
        tau = alpha * p / (1.0 - p)
        value = kappa * tau - a * math.log1p(tau / alpha)
        least = min(least, value + _gain(a, kappa, PIECES[piece + 1] * most))
    return least


@inner
def _wrong_side(a: float, alpha: float, kappa: float) -> float:
    # Up to some tau by G there, as T(-t) >= 1/2 - DENSITY t; from there on by TWO_SIDED.
    best = a - alpha
    p = 0.5 * (1.0 + best / a)
    tau = alpha * p / (1.0 - p)
    near = 1.0 - 2.0 * DENSITY * math.sqrt(2.0 * a * (kappa - 1.0) * p)
    gain = math.log(TWO_SIDED + (1.0 - TWO_SIDED) * max(near, 0.0))
    before = best - a * math.log1p(best / alpha) + gain
    return min(before, tau - a * math.log1p(tau / alpha) + math.log(TWO_SIDED))


@kernel
def shifted_log(shifts: Shifts, arm: Arm, r: float) -> float:
    """A bound from below for ln E, for every variance and every mean at least r away."""
    k, n, _, scatter = arm
    _set_base(shifts, arm)
    terms, most, far = shifts.terms, -np.inf, n * r * r
    for s in range(terms.shape[0]):
        alpha = shifts.alphas[s]
        a, q = alpha + 0.5 * n, 1.0 + n * shifts.rhos[s] * shifts.rhos[s]
        kappa = q
        if scatter + far > 0.0 and far < np.inf:
            kappa = (scatter + far) / (scatter + far / q)
        side = _right_side(a, alpha, kappa) if r >= 0.0 else _wrong_side(a, alpha, kappa)
        terms[s] = shifts.bases[k, s] + side + shifts.logs[s]
        most = max(most, terms[s])
    mass = 0.0
    for s in range(terms.shape[0]):
        mass += math.exp(terms[s] - most)
    return most + math.log(mass)


@inner
def _tie(i: Arm, j: Arm, tol: float) -> float:
    """A likely mean of j if the two are level: between their means, by their precisions."""
    near, far = i[2] - tol, j[2]
    wi, wj = i[1] * i[1] * j[3], j[1] * j[1] * i[3]
    share = wj / (wi + wj) if wi + wj > 0.0 else 0.5
    return near + share * (far - near)


@inner
def at_tie_of_shifted(shifts: Shifts, i: Arm, j: Arm, tol: float) -> float:
    """A quick estimate of the evidence of a pair."""
    x = _tie(i, j, tol)
    return shifted_log(shifts, j, j[2] - x) + shifted_log(shifts, i, x + tol - i[2])


@inner
def _ceiling(arm: Arm, r: float) -> float:
    """ln of the largest ratio of likelihoods, n/2 ln(1 + n r^2 / SS)."""
    n, scatter = arm[1], arm[3]
    return 0.5 * n * math.log1p(n * r * r / scatter) if scatter > 0.0 else np.inf


@inner
def shifted_ceiling(i: Arm, j: Arm, tol: float) -> float:
    """A quick upper bound on the evidence of a pair."""
    x = _tie(i, j, tol)
    return _ceiling(j, j[2] - x) + _ceiling(i, x + tol - i[2])


@inner
def _beyond(arm: Arm) -> float:
    return BEYOND * math.sqrt(arm[3]) / arm[1]


@inner
def shifted_evidence(shifts: Shifts, i: Arm, j: Arm, tol: float, level: float) -> float:
    """Evidence of a pair of measured arms; if it is less than `level`, any number below `level`.

    The infimum over x of ln E+(x) of the incumbent plus ln E-(x + tol) of the challenger. Over a
    cell x1 <= x <= x2 it is at least the former at x2 plus the latter at x1. Cells are halved until
    all have at least the least value that was seen, less `LOSS`; they reach beyond the two means.
    """
    near, far = i[2] - tol, j[2]
    if not near < far:
        return -np.inf
    first = at_tie_of_shifted(shifts, i, j, tol)
    if first < level:
        return first
    low, high = near - _beyond(i), far + _beyond(j)
    bound = shifted_log(shifts, j, far - low) + shifted_log(shifts, i, -np.inf)
    bound = min(bound, shifted_log(shifts, i, high - near) + shifted_log(shifts, j, -np.inf))
    cells, least = shifts.cells, np.inf
    x, up, down = low, shifted_log(shifts, j, far - low), shifted_log(shifts, i, low - near)
    least = up + down
    for cell in range(CELLS):
        cells[cell, 0], cells[cell, 1], cells[cell, 2] = x, up, down
        x = low + (high - low) * (cell + 1) / CELLS
        up, down = shifted_log(shifts, j, far - x), shifted_log(shifts, i, x - near)
        cells[cell, 3], cells[cell, 4], cells[cell, 5] = x, up, down
        least = min(least, up + down)
    waiting = CELLS
    while waiting > 0 and bound >= level and least >= level:
        cell = cells[waiting - 1]
        waiting -= 1
        known = cell[2] + cell[4]
        if known >= least - LOSS or cell[3] - cell[0] <= NARROW * (high - low):
            bound = min(bound, known)
            continue
        x = 0.5 * (cell[0] + cell[3])
        up, down = shifted_log(shifts, j, far - x), shifted_log(shifts, i, x - near)
        least = min(least, up + down)
        after = cells[waiting + 1]
        after[0], after[1], after[2] = x, up, down
        after[3], after[4], after[5] = cell[3], cell[4], cell[5]
        cell[3], cell[4], cell[5] = x, up, down
        waiting += 2
    return min(bound, least)


class Sample(NamedTuple):
    """Values of one arm: their number, their mean, and squared distances from it."""

    n: float
    mean: float
    scatter: float


def shifts(K: int = 2) -> Shifts:
    """The displacements, with room for K arms; weights add up to 1.

    Examples
    --------
    >>> round(float(np.exp(shifts().logs).sum()), 12)
    1.0
    """
    rhos = np.array(SIZES)
    return Shifts.zeros(
        {"K": K, "S": rhos.size},
        rhos=rhos,
        alphas=np.maximum(PRECISION / rhos**2, LEAST_PRECISION),
        logs=fading_logs(rhos, CENTRE, TAIL),
        terms=np.zeros(rhos.size),
        cells=np.zeros((MOST_CELLS, 6)),
    )


def log_of_shifts(given: Shifts, arm: Sample, r: float) -> float:
    """`shifted_log` of a sample.

    Examples
    --------
    >>> arm = Sample(n=40, mean=0.0, scatter=40.0)
    >>> [round(log_of_shifts(shifts(), arm, r), 2) for r in (-math.inf, -0.1, 0.0, 0.3, 1.0)]
    [-2.68, -2.45, -0.38, 0.16, 7.65]
    """
    return shifted_log(given, (0, *arm), r)


def by_shifts(given: Shifts, challenger: Sample, incumbent: Sample, tolerance: float) -> float:
    """`shifted_evidence` of two samples: minus infinity where an arm was never measured.

    Examples
    --------
    >>> j, i = Sample(n=60, mean=1.0, scatter=60.0), Sample(n=60, mean=0.0, scatter=60.0)
    >>> round(by_shifts(shifts(), i, j, 0.0), 2)
    5.7
    """
    if challenger.n == 0.0 or incumbent.n == 0.0:
        return -math.inf
    return shifted_evidence(given, (0, *challenger), (1, *incumbent), tolerance, -math.inf)
