"""Evidence of a pair of arms with Gaussian noise of unknown variance.

`mislid.stopping.noise.variances` says why; the same steps in the same order.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from mislid._jit import Matrix, PerArm, Struct, Vector, inner, kernel

# As in `mislid.stopping.noise.variances`.
TWO_SIDED = 0.1
PIECES = (1.0, 0.9, 0.7, 0.4, 0.0)
LOSS, CELLS, NARROW, BEYOND = 0.01, 16, 1e-9, 1.5
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
# Cells that wait to be looked at are never so many: each is halved at most 30 times.
MOST_CELLS = CELLS + 64


class Shifts(Struct):
    """What E+ and E- average over."""

    scales: Vector  # (S,)
    alphas: Vector  # (S,)
    logs: Vector  # (S,) of their weights
    # ln Gamma(a) and all else that depends on the number of values alone, and for which number.
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
    for s in range(shifts.scales.shape[0]):
        alpha, rho = shifts.alphas[s], shifts.scales[s]
        base = math.lgamma(alpha + 0.5 * n) - math.lgamma(alpha) - 0.5 * n * math.log(alpha)
        shifts.bases[k, s] = base - 0.5 * math.log1p(n * rho * rho)


@inner
def _gain(a: float, kappa: float, p: float) -> float:
    """A bound from below for ln G."""
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
        a, q = alpha + 0.5 * n, 1.0 + n * shifts.scales[s] * shifts.scales[s]
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
    """A mean of j at which the two may well be level: between the two, by their precisions."""
    near, far = i[2] - tol, j[2]
    wi, wj = i[1] * i[1] * j[3], j[1] * j[1] * i[3]
    share = wj / (wi + wj) if wi + wj > 0.0 else 0.5
    return near + share * (far - near)


@inner
def at_tie_of_shifted(shifts: Shifts, i: Arm, j: Arm, tol: float) -> float:
    """About the evidence of a pair."""
    x = _tie(i, j, tol)
    return shifted_log(shifts, j, j[2] - x) + shifted_log(shifts, i, x + tol - i[2])


@inner
def _ceiling(arm: Arm, r: float) -> float:
    """ln of the largest ratio of likelihoods, n/2 ln(1 + n r^2 / SS)."""
    n, scatter = arm[1], arm[3]
    return 0.5 * n * math.log1p(n * r * r / scatter) if scatter > 0.0 else np.inf


@inner
def shifted_ceiling(i: Arm, j: Arm, tol: float) -> float:
    """At least the evidence of a pair, quickly."""
    x = _tie(i, j, tol)
    return _ceiling(j, j[2] - x) + _ceiling(i, x + tol - i[2])


@inner
def _beyond(arm: Arm) -> float:
    return BEYOND * math.sqrt(arm[3]) / arm[1]


@inner
def shifted_evidence(shifts: Shifts, i: Arm, j: Arm, tol: float, level: float) -> float:
    """Evidence of a pair of measured arms; if it is less than `level`, something less than that.

    As `mislid.stopping.noise.variances.by_shifts`.
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
