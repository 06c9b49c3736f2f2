"""Evidence of a pair where values are in [0, 1]; `mislid.stopping.noise.tilted` says why.

Counts, sums and scatter of an arm are those of its values, scaled to [0, 1].
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Struct, Vector, inner, kernel

# What is known of a minimum when it is no longer looked for, in nats.
ACCURACY, MOST_STEPS = 1e-10, 200
# Terms that are so much smaller than the largest one are left out, in nats.
NEGLIGIBLE = 45.0


class Tilts(Struct):
    """What E+ and E- average over; exact tilts come first."""

    sizes: Vector  # (T,)
    growth: Vector  # (T,) e^b - 1
    shrinkage: Vector  # (T,) e^-b - 1
    prices: Vector  # (T,) psi(b) of empirical tilts
    exact: int
    logs: Vector  # (T,) of their weights
    terms: Vector  # (T,) work


Arm = tuple[float, float, float]  # count, sum and scatter


@inner
def tilted_log(tilts: Tilts, sign: float, arm: Arm, x: float) -> tuple[float, float]:
    """ln E+(x) for sign 1, ln E-(x) for sign -1, and its slope in x."""
    n, total, scatter = arm
    growth = tilts.growth if sign > 0.0 else tilts.shrinkage
    terms, most = tilts.terms, -np.inf
    for k in range(terms.shape[0]):
        b = sign * tilts.sizes[k]
        if k < tilts.exact:
            term = b * total - n * math.log1p(x * growth[k])
        else:
            term = b * (total - n * x) - tilts.prices[k] * scatter
        terms[k] = term + tilts.logs[k]
        most = max(most, terms[k])
    mass, slope = 0.0, 0.0
    for k in range(terms.shape[0]):
        if terms[k] < most - NEGLIGIBLE:
            continue
        weight = math.exp(terms[k] - most)
        mass += weight
        if k < tilts.exact:
            slope -= weight * n * growth[k] / (1.0 + x * growth[k])
        else:
            slope -= weight * n * sign * tilts.sizes[k]
    return most + math.log(mass), slope / mass


@kernel
def _both(tilts: Tilts, i: Arm, j: Arm, tol: float, x: float) -> tuple[float, float]:
    up, rise = tilted_log(tilts, 1.0, j, x)
    down, fall = tilted_log(tilts, -1.0, i, x + tol)
    return up + down, rise + fall


@inner
def tie_of_tilted(i: Arm, j: Arm, tol: float) -> float:
    """A mean of j at which the two may well be level."""
    return min(max((i[1] + j[1] - i[0] * tol) / (i[0] + j[0]), 0.0), 1.0 - tol)


@inner
def at_tie_of_tilted(tilts: Tilts, i: Arm, j: Arm, tol: float) -> float:
    """At least the evidence of a pair, and about that."""
    return _both(tilts, i, j, tol, tie_of_tilted(i, j, tol))[0]


@inner
def tilted_evidence(tilts: Tilts, i: Arm, j: Arm, tol: float, level: float) -> float:
    """Evidence of a pair of measured arms; if it is less than `level`, something less than that.

    As `mislid.stopping.noise.tilted.by_tilts`.
    """
    first = at_tie_of_tilted(tilts, i, j, tol)
    if first < level:
        return first
    low, high = 0.0, 1.0 - tol
    at_low, slope_low = _both(tilts, i, j, tol, low)
    at_high, slope_high = _both(tilts, i, j, tol, high)
    if slope_low >= 0.0:
        return at_low
    if slope_high <= 0.0:
        return at_high
    bound = -np.inf
    for step in range(MOST_STEPS):
        rise = slope_high - slope_low
        meet = low + (at_low - at_high + slope_high * (high - low)) / rise
        bound = at_low + slope_low * (meet - low)
        if min(at_low, at_high) - bound <= ACCURACY:
            break
        if step % 2 == 0:
            meet = low - slope_low * (high - low) / rise
        value, slope = _both(tilts, i, j, tol, meet)
        if value < level:
            return value
        if slope < 0.0:
            low, at_low, slope_low = meet, value, slope
        else:
            high, at_high, slope_high = meet, value, slope
    return bound


@inner
def _log_ratio(y: float, x: float) -> float:
    """y ln(y / x)."""
    if y <= 0.0:
        return 0.0
    return y * math.log(y / x) if x > 0.0 else np.inf


@inner
def _ceiling(tilts: Tilts, sign: float, arm: Arm, x: float) -> float:
    """The most that ln E(x) could be with the best of all tilts."""
    n, total, scatter = arm
    mean = total / n
    away = sign * (mean - x)
    if away <= 0.0:
        return 0.0
    most = n * (_log_ratio(mean, x) + _log_ratio(1.0 - mean, 1.0 - x))
    if tilts.exact < tilts.sizes.shape[0]:
        # The largest b u - psi(b) v over 0 < b < 1 is u - v ln(1 + u / v).
        less = scatter * math.log1p(n * away / scatter) if scatter > 0.0 else 0.0
        most = max(most, n * away - less)
    return most


@inner
def tilted_ceiling(tilts: Tilts, i: Arm, j: Arm, tol: float) -> float:
    """At least the evidence of a pair, quickly."""
    x = tie_of_tilted(i, j, tol)
    return _ceiling(tilts, 1.0, j, x) + _ceiling(tilts, -1.0, i, x + tol)
