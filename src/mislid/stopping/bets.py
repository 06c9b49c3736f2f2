"""Evidence of a pair where values are in [0, 1], by bets.

With values X that have the mean x, and a bet b between 0 and 1, the factor 1 - b + b X / x is not
negative and has the mean 1. So the products over the values of an arm, and of 1 - X for 1 - x, are
martingales, and so are their averages over bets with fixed weights,

    E+(x) = sum_b w_b prod (1 - b + b X / x),    E-(x) = sum_b w_b prod (1 - b + b (1-X) / (1-x)):

E+ is small where the mean is x or less, E- where it is x or more. The bets have the odds
b / (1 - b) = 2^(1.5 k - 11), k = 0 ... 10, and weights proportional to exp(-|ln(4 odds)| / 4).

E- is E+ of the values 1 - X at 1 - x, so one side is enough here. ln E+ falls in x and is convex
in x, since the slope of ln(1 - b + b X / x), -b X / (x ((1 - b) x + b X)), rises in x. The evidence
of a pair is the least of ln E+(x) of the incumbent plus ln E-(x + tol) of the challenger over all
x from 0 to 1 - tol, as the one falls and the other rises.

The values themselves are not needed. Of n values let the mean be y, the scatter (sum of squared
distances from y) n v, and no value less than c < y. Then every product is at least that of two
atoms with the same mean and variance,

    n v / (v + (y-c)^2) values at c,    n (y-c)^2 / (v + (y-c)^2) values at top = y + v / (y-c).

*Proof.* f(X) = ln(1 - b + b X / x) has a derivative of third order that is not negative. Let p be
the parabola with p(c) = f(c), p(top) = f(top) and p'(top) = f'(top). For X >= c the difference
f(X) - p(X) = f'''(.) (X - c) (X - top)^2 / 6 >= 0, and the sum of p over the values depends on
their number, mean and variance alone: it is that over the two atoms, where p = f. A smaller c, or
more scatter, proves less and nothing that is wrong. For values 0 and 1 it is the product itself.

Values 0 or 1 ("bernoulli") have tilts in place of bets: exp(b X) / (1 - x + x e^b), 11 of them with
b = 0.005 2^k and weights proportional to exp(-|ln(b / 0.1)| / 2). These have the mean 1 as well,
and all that was said above is true of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mislid._jit import Struct, Vector, inner, kernel
from mislid.stopping.evidence import fading_logs

# Of bets the odds; a bet on a mean asks for about its relative size over the relative variance.
ODDS, ODDS_CENTRE, ODDS_TAIL = tuple(2.0 ** (1.5 * k - 11.0) for k in range(11)), 0.25, 4.0
# Of tilts the sizes; an effect on a rate x asks for about its size over x (1 - x).
TILTS, TILTS_CENTRE, TILTS_TAIL = tuple(0.005 * 2.0**k for k in range(11)), 0.1, 2.0
# c is so much less than the least value that rounding is nothing beside the distance of the mean.
MARGIN, TINY = 1e-9, 1e-100
# What is known of a minimum when it is no longer looked for, in nats.
ACCURACY, MOST_STEPS = 1e-10, 200
# The largest bet that the quick bound looks at.
ALL = 1.0 - 1e-9
# Evidence is not looked at nearer to the ends; terms so much smaller than the largest are left out.
EDGE, NEGLIGIBLE = 1e-12, 45.0


class Bets(Struct):
    """What E+ and E- average over."""

    sizes: Vector  # (B,) b
    growth: Vector  # (B,) e^b - 1 of tilts, 0 of bets
    logs: Vector  # (B,) of their weights
    tilted: bool
    terms: Vector  # (B,) work


# Values as two atoms: the lower one, how many values are there, and the same of the upper one.
Atoms = tuple[float, float, float, float]


@inner
def _atoms(n: float, total: float, scatter: float, least: float) -> Atoms:
    mean, low = total / n, max(least - MARGIN, 0.0)
    apart, variance = mean - low, scatter / n
    if not apart > TINY:
        return low, n, low, 0.0
    share = apart * apart / (variance + apart * apart)
    return low, n * (1.0 - share), mean + variance / apart, n * share


@inner
def atoms_above(n: float, total: float, scatter: float, least: float, most: float) -> Atoms:
    """The atoms for E+."""
    return _atoms(n, total, scatter, least)


@inner
def atoms_below(n: float, total: float, scatter: float, least: float, most: float) -> Atoms:
    """The atoms of 1 - X, for E-."""
    return _atoms(n, n - total, scatter, 1.0 - most)


@inner
def log_wealth(bets: Bets, atoms: Atoms, x: float) -> tuple[float, float]:
    """ln E+(x) of atoms, at least, and its slope in x, for x > 0."""
    low, few, top, rest = atoms
    n, total = few + rest, few * low + rest * top
    terms, most = bets.terms, -np.inf
    for k in range(terms.shape[0]):
        b = bets.sizes[k]
        if bets.tilted:
            term = b * total - n * math.log1p(x * bets.growth[k])
        else:
            term = few * math.log1p(b * (low / x - 1.0)) + rest * math.log1p(b * (top / x - 1.0))
        terms[k] = term + bets.logs[k]
        most = max(most, terms[k])
    mass, slope = 0.0, 0.0
    for k in range(terms.shape[0]):
        if terms[k] < most - NEGLIGIBLE:
            continue
        weight, b = math.exp(terms[k] - most), bets.sizes[k]
        mass += weight
        if bets.tilted:
            slope -= weight * n * bets.growth[k] / (1.0 + x * bets.growth[k])
        else:
            left = (1.0 - b) * x
            slope -= weight * b / x * (few * low / (left + b * low) + rest * top / (left + b * top))
    return most + math.log(mass), slope / mass


@kernel
def _both(bets: Bets, up: Atoms, down: Atoms, room: float, x: float) -> tuple[float, float]:
    rise, slope = log_wealth(bets, up, x)
    fall, back = log_wealth(bets, down, room - x)
    return rise + fall, slope - back


@inner
def _spread_of(atoms: Atoms) -> float:
    """About the variance of the mean of values."""
    low, few, top, rest = atoms
    n = few + rest
    return (few * rest * (top - low) * (top - low) / n + 0.25) / (n * (n + 1.0))


@inner
def _mean(atoms: Atoms) -> float:
    return (atoms[0] * atoms[1] + atoms[2] * atoms[3]) / (atoms[1] + atoms[3])


@inner
def tie_of_bets(up: Atoms, down: Atoms, room: float) -> float:
    """A mean of the incumbent at which the two may well be level, from `EDGE` to room - `EDGE`."""
    own, other = _spread_of(up), _spread_of(down)
    tie = (_mean(up) * other + (room - _mean(down)) * own) / (own + other)
    return min(max(tie, EDGE), room - EDGE)


@inner
def at_tie_of_bets(bets: Bets, up: Atoms, down: Atoms, tol: float) -> float:
    """At least the evidence of a pair, and about that."""
    room = max(1.0 - tol, 2.0 * EDGE)
    return _both(bets, up, down, room, tie_of_bets(up, down, room))[0]


@inner
def bets_evidence(bets: Bets, up: Atoms, down: Atoms, tol: float, level: float) -> float:
    """Evidence of a pair of measured arms; if it is less than `level`, something less than that.

    `up` is the incumbent's `atoms_above`, `down` the challenger's `atoms_below`. A convex function
    is above its tangents: those at two points between which the minimum is meet below it, and the
    points are moved together until that is near.
    """
    room = 1.0 - tol
    if room < 0.0:
        return np.inf
    if room <= 2.0 * EDGE:  # at the least both fall where the other arm is at the end
        return _both(bets, up, down, 2.0 * EDGE, EDGE)[0]
    low = high = tie_of_bets(up, down, room)
    at_low, slope_low = at_high, slope_high = _both(bets, up, down, room, low)
    step = math.sqrt(_spread_of(up))
    while slope_low > 0.0 and at_low >= level:
        if low == EDGE:  # below, the tangent bounds it
            return at_low - slope_low * EDGE
        high, at_high, slope_high = low, at_low, slope_low
        low, step = max(low - step, EDGE), 4.0 * step
        at_low, slope_low = _both(bets, up, down, room, low)
    while slope_high < 0.0 and at_high >= level:
        if high == room - EDGE:
            return at_high + slope_high * EDGE
        low, at_low, slope_low = high, at_high, slope_high
        high, step = min(high + step, room - EDGE), 4.0 * step
        at_high, slope_high = _both(bets, up, down, room, high)
    bound = min(at_low, at_high)
    if bound < level:
        return bound
    for turn in range(MOST_STEPS):
        rise = slope_high - slope_low
        if not rise > 0.0:
            break
        meet = min(max(low + (at_low - at_high + slope_high * (high - low)) / rise, low), high)
        bound = at_low + slope_low * (meet - low)
        if min(at_low, at_high) - bound <= ACCURACY:
            break
        if turn % 2 == 0:
            meet = low - slope_low * (high - low) / rise
        value, slope = _both(bets, up, down, room, meet)
        if value < level:
            return value
        if slope < 0.0:
            low, at_low, slope_low = meet, value, slope
        else:
            high, at_high, slope_high = meet, value, slope
    return bound


@inner
def _ceiling(atoms: Atoms, x: float) -> float:
    """The most that ln E+(x) of atoms could be with the best of all bets."""
    low, few, top, rest = atoms
    lose, win = low / x - 1.0, top / x - 1.0
    gain = (few * lose + rest * win) / (few + rest)
    if gain <= 0.0:
        return 0.0
    best = 1.0 if lose >= 0.0 else min(-gain / (lose * win), ALL)
    return few * math.log1p(best * lose) + rest * math.log1p(best * win)


@inner
def bets_ceiling(up: Atoms, down: Atoms, tol: float) -> float:
    """At least the evidence of a pair, quickly."""
    room = max(1.0 - tol, 2.0 * EDGE)
    x = tie_of_bets(up, down, room)
    return _ceiling(up, x) + _ceiling(down, room - x)


class Values(NamedTuple):
    """Values of one arm in [0, 1].

    Attributes
    ----------
    n, total
        Their number and their sum.
    scatter
        Their squared distances from their mean.
    least, most
        Values between which all of them are.
    """

    n: float
    total: float
    scatter: float = 0.0
    least: float = 0.0
    most: float = 1.0


def bets_of(noise_model: str) -> Bets:
    """The bets for values that are "bounded", the tilts for "bernoulli"; weights add up to 1.

    Examples
    --------
    >>> bets_of("bounded").sizes.round(3).tolist()[-3:]
    [0.667, 0.85, 0.941]
    """
    tilted, odds, sizes = noise_model == "bernoulli", np.array(ODDS), np.array(TILTS)
    return Bets(
        sizes=sizes if tilted else odds / (1.0 + odds),
        growth=np.expm1(sizes) if tilted else np.zeros(odds.size),
        logs=fading_logs(sizes, TILTS_CENTRE, TILTS_TAIL)
        if tilted
        else fading_logs(odds, ODDS_CENTRE, ODDS_TAIL),
        tilted=tilted,
        terms=np.zeros(odds.size),
    )


@kernel
def _log_of_values(bets: Bets, sign: float, values: Vector, x: float) -> tuple[float, float]:
    n, total, scatter, least, most = values[0], values[1], values[2], values[3], values[4]
    if sign > 0.0:
        return log_wealth(bets, atoms_above(n, total, scatter, least, most), x)
    found, slope = log_wealth(bets, atoms_below(n, total, scatter, least, most), 1.0 - x)
    return found, -slope


@kernel
def _pair_evidence(bets: Bets, i: Vector, j: Vector, tol: float) -> float:
    up = atoms_above(j[0], j[1], j[2], j[3], j[4])
    down = atoms_below(i[0], i[1], i[2], i[3], i[4])
    return bets_evidence(bets, up, down, tol, -np.inf)


def log_of_bets(bets: Bets, sign: float, arm: Values, x: float) -> tuple[float, float]:
    """ln E+(x) for sign 1, ln E-(x) for sign -1, at least, and its slope in x.

    Examples
    --------
    >>> arm = Values(n=100, total=20, scatter=4)
    >>> [round(log_of_bets(bets_of("bounded"), 1.0, arm, x)[0], 2) for x in (0.1, 0.15, 0.2)]
    [11.92, 1.79, -0.83]
    """
    numbers = np.array(arm, dtype=np.float64)
    at = min(max(float(x), EDGE), 1.0 - EDGE)
    found: tuple[float, float] = _log_of_values(bets, float(sign), numbers, at)
    return found


def by_bets(bets: Bets, challenger: Values, incumbent: Values, tolerance: float) -> float:
    """`bets_evidence` for Python; minus infinity where an arm was never measured.

    Examples
    --------
    >>> i, j = Values(200, 10, 4.0, 0.0, 0.6), Values(200, 60, 6.0, 0.1, 0.9)
    >>> round(by_bets(bets_of("bounded"), i, j, 0.0), 2)
    44.87
    """
    if challenger.n == 0.0 or incumbent.n == 0.0:
        return -math.inf
    i, j = np.array(challenger, dtype=np.float64), np.array(incumbent, dtype=np.float64)
    return float(_pair_evidence(bets, i, j, float(tolerance)))
