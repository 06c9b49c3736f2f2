"""Values in [0, 1]: processes that tilt towards larger, or smaller, values.

For values X in [0, 1] with mean x, and b > 0, two inequalities hold:

exact
    E exp(b X) <= 1 - x + x e^b, because exp is convex; with equality for values 0 and 1.
empirical
    E exp(b (X - x) - psi(b) (X - c)^2) <= 1 with psi(b) = -ln(1 - b) - b, for 0 < b < 1 and any c
    in [0, 1] that is known before X (Fan et al., 2015): it profits from values that vary little.

So with n values, their sum S and V = sum (X - c)^2, where c was each time the guess
(1/2 + sum before) / (n before + 1), the average over tilts b of

    exp(b S - n ln(1 - x + x e^b))      or      exp(b (S - n x) - psi(b) V)

is E+(x). E-(x) has -b for b, and psi(b) as it is. The logarithms are convex in x.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.stopping.evidence import fading_logs

# Tilts; an effect on a rate x asks for about its size over x (1 - x).
EXACT_TILTS = tuple(0.005 * 2.0**power for power in range(11))
EMPIRICAL_TILTS = tuple(0.005 * 2.0**power for power in range(8))
# A tilt's weight falls by a factor e for every factor exp(TAIL) away from the centre.
CENTRE, TAIL = 0.1, 2.0
# The part of the weight that empirical tilts have where values may be between 0 and 1.
EMPIRICAL_SHARE = 0.5
# What is known of a minimum when it is no longer looked for, in nats.
ACCURACY, MOST_STEPS = 1e-10, 200

Function = Callable[[float], tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Tilts:
    """What E+ and E- average over.

    Attributes
    ----------
    sizes
        b (T,).
    prices
        psi(b) of empirical tilts (T,); 0 for exact ones, which come first.
    exact
        How many are exact.
    logs
        Logarithms of their weights (T,), which add up to 1.
    """

    sizes: Vector
    prices: Vector
    exact: int
    logs: Vector


class Tilted(NamedTuple):
    """Values of one arm.

    Attributes
    ----------
    n, total
        How many, and their sum.
    scatter
        V, the sum of squared distances from the guesses; of no use for values 0 and 1.
    """

    n: float
    total: float
    scatter: float = 0.0


def tilts_of(noise_model: str) -> Tilts:
    """The tilts for values that are "bounded", or "bernoulli".

    Examples
    --------
    >>> len(tilts_of("bernoulli").sizes), len(tilts_of("bounded").sizes)
    (11, 19)
    >>> round(float(np.exp(tilts_of("bounded").logs).sum()), 12)
    1.0
    """
    exact, empirical = np.array(EXACT_TILTS), np.array(EMPIRICAL_TILTS)
    if noise_model == "bernoulli":
        return Tilts(exact, np.zeros(len(exact)), len(exact), _logs(exact, 1.0))
    logs = [_logs(exact, 1.0 - EMPIRICAL_SHARE), _logs(empirical, EMPIRICAL_SHARE)]
    prices = [np.zeros(len(exact)), -np.log1p(-empirical) - empirical]
    sizes = np.concatenate([exact, empirical])
    return Tilts(sizes, np.concatenate(prices), len(exact), np.concatenate(logs))


def _logs(sizes: Vector, share: float) -> Vector:
    return fading_logs(sizes, CENTRE, TAIL, share)


def tilted_log(tilts: Tilts, sign: float, arm: Tilted, x: float) -> tuple[float, float]:
    """ln E+(x) for sign 1, ln E-(x) for sign -1, and its slope in x.

    Examples
    --------
    >>> arm = Tilted(n=100, total=20)
    >>> for x in (0.1, 0.2, 0.4):
    ...     up, _ = tilted_log(tilts_of("bernoulli"), 1.0, arm, x)
    ...     down, _ = tilted_log(tilts_of("bernoulli"), -1.0, arm, x)
    ...     print(round(up, 2), round(down, 2))
    2.24 -0.98
    -0.38 -0.36
    -1.38 6.37
    """
    tilt = sign * tilts.sizes
    n, exact = arm.n, tilts.exact
    logs, slopes = np.empty(len(tilt)), np.empty(len(tilt))
    growth = np.expm1(tilt[:exact])
    logs[:exact] = tilt[:exact] * arm.total - n * np.log1p(x * growth)
    slopes[:exact] = -n * growth / (1.0 + x * growth)
    logs[exact:] = tilt[exact:] * (arm.total - n * x) - tilts.prices[exact:] * arm.scatter
    slopes[exact:] = -n * tilt[exact:]
    logs += tilts.logs
    value = float(np.logaddexp.reduce(logs))
    return value, float(np.exp(logs - value) @ slopes)


def by_tilts(tilts: Tilts, challenger: Tilted, incumbent: Tilted, tolerance: float) -> float:
    """Evidence of a pair by its two arms, less the logarithm of the pair's share.

    The infimum over 0 <= x <= 1 - tolerance of ln E+(x) of the incumbent plus ln E-(x + tolerance)
    of the challenger.

    Parameters
    ----------
    tilts
        What the processes average over.
    challenger, incumbent
        Their values, scaled to [0, 1].
    tolerance
        From 0 on and below 1, in the same unit.

    Returns
    -------
    float
        A bound from below that is `ACCURACY` from the infimum at most; minus infinity where an
        arm was never measured.

    Examples
    --------
    >>> tilts = tilts_of("bernoulli")
    >>> round(by_tilts(tilts, Tilted(200, 10), Tilted(200, 60), 0.0), 2)
    18.13
    """
    if challenger.n == 0.0 or incumbent.n == 0.0:
        return -math.inf

    def value(x: float) -> tuple[float, float]:
        up, rise = tilted_log(tilts, 1.0, incumbent, x)
        down, fall = tilted_log(tilts, -1.0, challenger, x + tolerance)
        return up + down, rise + fall

    return least(value, 0.0, 1.0 - tolerance)


def least(function: Function, low: float, high: float) -> float:
    """A bound from below for a convex function on an interval.

    It is above its tangents. Those at two points between which the minimum is meet below it; the
    points are moved together until that is near.

    Parameters
    ----------
    function
        Gives a value and a slope.
    low, high
        The interval.

    Returns
    -------
    float
        At most the minimum.

    Examples
    --------
    >>> least(lambda x: ((x - 0.3) ** 2, 2 * (x - 0.3)), 0.0, 1.0) > -1e-9
    True
    """
    at_low, at_high = function(low), function(high)
    if at_low[1] >= 0.0:
        return at_low[0]
    if at_high[1] <= 0.0:
        return at_high[0]
    bound = -math.inf
    for step in range(MOST_STEPS):
        rise = at_high[1] - at_low[1]
        meet = low + (at_low[0] - at_high[0] + at_high[1] * (high - low)) / rise
        bound = at_low[0] + at_low[1] * (meet - low)
        if min(at_low[0], at_high[0]) - bound <= ACCURACY:
            break
        if step % 2 == 0:  # where the slope would be 0 if it were straight
            meet = low - at_low[1] * (high - low) / rise
        at = function(meet)
        if at[1] < 0.0:
            low, at_low = meet, at
        else:
            high, at_high = meet, at
    return bound
