"""Whether the tube's walls spare measurements: how many are left for displacements of all arms.

Where deviations are near the walls, the closest alternative to the estimates has to move many arms,
and measurements of a few of them refute it; neither the features' fit nor two arms see that. How
fast, a short game tells: the alternative answers an allocation, and the allocation is given the arm
that tells this alternative best.
"""

from __future__ import annotations

import numpy as np

from mislid._jit import PerArm, Struct, Vector, inner, kernel
from mislid.geometry.newton import SOLVED
from mislid.geometry.search import SearchSpace, aim_at_projection, search_pairs
from mislid.geometry.two_arms import closest_unstructured
from mislid.stopping.diagonal import Diagonal, leave_out_settled
from mislid.stopping.evidence import Families
from mislid.stopping.state import Setting, State

# Rounds of a game: enough to be within a fifth of the best allocation with a dozen arms.
ROUNDS = 32
# Measurements that the game in the tube begins with, and those of every arm besides.
FEW, FLOOR = 6.0, 0.1
# Cost and certified bound of a game's searches agree to this.
ROUGHLY = 1e-3
# Factors in samples between forecasts: after one that speaks for all arms, and after others. A game
# takes as long as about thirty rounds, with many arms and features longer.
AGAIN, PAUSE = 1.2, 1.5
# About what the closest alternative's cost exceeds its evidence by: nats, and nats a measured arm.
PRICE, PRICE_OF_AN_ARM = 1.0, 0.4
# While pairs are open, at least this share of it is still needed.
LEAST = 0.25


class AllArms(Struct):
    """The last forecast."""

    weights: PerArm  # the game's
    left: float  # measurements, infinite where another family is likely to end first
    next: float  # samples before which there is no other forecast


@inner
def _answer(
    setting: Setting, state: State, weights: Vector, walls: bool, space: SearchSpace
) -> tuple[float, int, float]:
    """Cost of the alternative closest to the estimates, the arm that tells it best, its gain.

    In the tube, or without its `walls`. The gain is that of one measurement, 0 if nothing was
    certified: no allocation has more against this alternative.
    """
    if walls:
        aim_at_projection(weights, state.test, space)
        status, cost, _, _, _, _, _ = search_pairs(
            setting.eps, state.incumbents, setting.tol, ROUGHLY, space
        )
    else:
        status, cost, _, _ = closest_unstructured(
            state.projected, weights, state.incumbents, setting.tol, space
        )
    best, most = 0, 0.0
    if status == SOLVED:
        for k in range(weights.shape[0]):
            gain = 0.5 * space.below[k] * space.below[k] / setting.variance[k]
            if gain > most and setting.price[k] < np.inf:
                best, most = k, gain
    return cost, best, most


@inner
def nats_a_sample(
    setting: Setting, state: State, walls: bool, weights: Vector, space: SearchSpace
) -> float:
    """What a measurement adds to the closest alternative's cost under a good allocation.

    At most what it adds under the best one, and not much less; 0 if a search certified nothing.
    `weights` (K,) is where the game begins; it leaves its own.
    """
    total, rate = 0.0, 0.0
    for k in range(weights.shape[0]):
        total += weights[k] * setting.variance[k]
    for _ in range(ROUNDS):
        cost, best, gain = _answer(setting, state, weights, walls, space)
        if gain == 0.0:
            return 0.0
        rate = max(rate, cost / total)
        weights[best] += 1.0 / setting.variance[best]
        total += 1.0
    return rate


@inner
def begin_with_gaps(setting: Setting, wanted: Vector, count: float, weights: Vector) -> bool:
    """Share `count` measurements as two arms want it, and a few more; whether that can be done.

    A few more of every arm, because searches take long at very uneven weights.
    """
    total = 0.0
    for k in range(weights.shape[0]):
        total += wanted[k] * setting.variance[k]
    for k in range(weights.shape[0]):
        weights[k] = count * wanted[k] / total + FLOOR / setting.variance[k]
    return total < np.inf


@inner
def _nats_needed(families: Families, weights: Vector) -> float:
    """About what the closest alternative costs when displacements of all arms refute it."""
    likeliest = -np.inf
    for n in range(families.diagonal.logs.shape[0]):
        likeliest = max(likeliest, families.diagonal.logs[n])
    needed = families.level - likeliest + PRICE
    for k in range(weights.shape[0]):
        if weights[k] > 0.0:
            needed += PRICE_OF_AN_ARM
    return needed


@kernel
def forecast_all_arms(
    setting: Setting,
    state: State,
    families: Families,
    weights: Vector,
    wanted: Vector,
    price: float,
    rival: float,
    diagonal: Diagonal,
    forecast: AllArms,
) -> None:
    """Renew the forecast, if one is due.

    Two arms at a gap have a nat of cost when each has the weight `wanted` (K,), settle their pair
    at a cost of `price`, and are done after `rival` measurements if each arm gets what it lacks.
    They play the same game without walls, which may find a better allocation. There is none for all
    arms if not even the alternative that answers this allocation would be refuted before.
    """
    K, d = setting.X.shape
    if state.samples < max(forecast.next, float(K * d)):  # sooner, a game would take too long
        return
    forecast.next, forecast.left = PAUSE * state.samples, np.inf
    if rival < K * d:  # nor does it tell much of a few measurements
        return
    space, allocation = diagonal.search, forecast.weights
    leave_out_settled(setting, state, space)
    if not begin_with_gaps(setting, wanted, float(ROUNDS), allocation):
        return
    cost, _, _ = _answer(setting, state, weights, False, space)
    pace = nats_a_sample(setting, state, False, allocation, space)
    rival = min(rival, max(price - cost, 0.0) / pace)
    _, _, gain = _answer(setting, state, allocation, True, space)
    cost, _, now = _answer(setting, state, weights, True, space)
    needed = _nats_needed(families, weights)
    needed = max(needed - cost, LEAST * needed)
    if not needed < min(gain, now) * rival:
        return
    begin_with_gaps(setting, wanted, FEW, allocation)
    rate = nats_a_sample(setting, state, True, allocation, space)
    if needed < rate * rival:
        forecast.left, forecast.next = needed / rate, AGAIN * state.samples
