"""Evidence of a pair where values are in [0, 1], by tilted processes.

For values X in [0, 1] with mean x, and b > 0, two inequalities hold:

exact
    E exp(b X) <= 1 - x + x e^b, because exp is convex; with equality for values 0 and 1.
empirical
    E exp(b (X - x) - psi(b) (X - c)^2) <= 1 with psi(b) = -ln(1 - b) - b, for 0 < b < 1 and any c
    in [0, 1] that is known before X (Fan et al., 2015). It is strong for values that vary little.

So with n values, their sum S and V = sum (X - c)^2, where c was each time the guess
(1/2 + sum before) / (n before + 1), the average over tilts b of

    exp(b S - n ln(1 - x + x e^b))      or      exp(b (S - n x) - psi(b) V)

is E+(x). For E-(x), -b replaces b, and psi(b) stays. The logarithms are convex in x.

Counts, sums and scatter of an arm are those of its values, scaled to [0, 1].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mislid._jit import Struct, Vector, inner, kernel
from mislid.stopping.evidence import fading_logs

# Tilts. The best tilt for a change of a rate x is about the change over x (1 - x).
EXACT_TILTS = tuple(0.005 * 2.0**power for power in range(11))
EMPIRICAL_TILTS = tuple(0.005 * 2.0**power for power in range(8))
# A tilt's weight falls by a factor e for every factor exp(TAIL) away from the centre.
CENTRE, TAIL = 0.1, 2.0
# The part of the weight that empirical tilts have where values may be between 0 and 1.
EMPIRICAL_SHARE = 0.5
# Accuracy of a minimum, in nats.
ACCURACY, MOST_STEPS = 1e-10, 200
# Terms are left out if they are this many nats below the largest one.
NEGLIGIBLE = 45.0


class Tilts(Struct):
    """The tilts that E+ and E- average over; exact tilts come first."""

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
    """A likely mean of j if the two are level."""
    return min(max((i[1] + j[1] - i[0] * tol) / (i[0] + j[0]), 0.0), 1.0 - tol)


@inner
def at_tie_of_tilted(tilts: Tilts, i: Arm, j: Arm, tol: float) -> float:
    """An upper bound on the evidence of a pair, and a good estimate."""
    return _both(tilts, i, j, tol, tie_of_tilted(i, j, tol))[0]


@inner
def tilted_evidence(tilts: Tilts, i: Arm, j: Arm, tol: float, level: float) -> float:
    """Evidence of a pair of measured arms; if it is less than `level`, any number below `level`.

    The infimum over 0 <= x <= 1 - tol of ln E+(x) of the incumbent plus ln E-(x + tol) of the
    challenger. A convex function is above its tangents: those at two points between which the
    minimum is meet below it, and the points are moved together until that is near.
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
    """The largest value of ln E(x) over all tilts."""
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
    """A quick upper bound on the evidence of a pair."""
    x = tie_of_tilted(i, j, tol)
    return _ceiling(tilts, 1.0, j, x) + _ceiling(tilts, -1.0, i, x + tol)


class Tilted(NamedTuple):
    """Values of one arm in [0, 1]: their number, their sum, and V."""

    n: float
    total: float
    scatter: float = 0.0


def tilts_of(noise_model: str) -> Tilts:
    """The tilts for values that are "bounded", or "bernoulli"; weights add up to 1.

    Examples
    --------
    >>> len(tilts_of("bernoulli").sizes), len(tilts_of("bounded").sizes)
    (11, 19)
    """
    exact, empirical = np.array(EXACT_TILTS), np.array(EMPIRICAL_TILTS)
    share = 1.0
    if noise_model == "bernoulli":
        empirical = empirical[:0]
    else:
        share = 1.0 - EMPIRICAL_SHARE
    sizes = np.concatenate([exact, empirical])
    logs = fading_logs(exact, CENTRE, TAIL, share)
    if empirical.size:
        logs = np.append(logs, fading_logs(empirical, CENTRE, TAIL, EMPIRICAL_SHARE))
    return Tilts(
        sizes=sizes,
        growth=np.expm1(sizes),
        shrinkage=np.expm1(-sizes),
        prices=np.concatenate([np.zeros(exact.size), -np.log1p(-empirical) - empirical]),
        exact=exact.size,
        logs=logs,
        terms=np.zeros(sizes.size),
    )


def by_tilts(tilts: Tilts, challenger: Tilted, incumbent: Tilted, tolerance: float) -> float:
    """`tilted_evidence` of any pair: minus infinity where an arm was never measured.

    Examples
    --------
    >>> round(by_tilts(tilts_of("bernoulli"), Tilted(200, 10), Tilted(200, 60), 0.0), 2)
    18.13
    """
    if challenger.n == 0.0 or incumbent.n == 0.0:
        return -math.inf
    return tilted_evidence(tilts, challenger, incumbent, tolerance, -math.inf)
