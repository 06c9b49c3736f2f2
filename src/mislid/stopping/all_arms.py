"""Displacements of all arms: evidence, and a forecast of the measurements needed for it.

Evidence is the cost of the closest alternative at shrunk weights, less a price:

ln M(lambda) = 1/2 sum_k q_k (y_k - lambda_k)^2 - 1/2 sum_k ln(1 + w_k s^2), with
q_k = w_k^2 s^2 / (1 + w_k s^2). A search dominates the time of a round, and this family is seldom
the first to settle a pair, so searches are rare.

Where deviations are near the walls of the tube, the closest alternative to the estimates must move
many arms, so measurements of a few of them refute it. Evidence along the features or by two arms
cannot use this. A short game forecasts the measurements needed: it finds the closest alternative at
an allocation, adds to the arm with the largest gain against it, and repeats.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import PerArm, Struct, Vector, inner, inner_loop, kernel
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.search import SearchSpace, aim_at_projection, project_means, search_pairs
from mislid.geometry.two_arms import ACCURACY, closest_unstructured
from mislid.stopping.evidence import Families, Family
from mislid.stopping.state import Setting, State, is_settled

# Searches are at least this factor apart in samples.
PAUSE = 1.02
# Rounds of a game; with a dozen arms, the cost is then within a fifth of the best allocation's.
ROUNDS = 32
# The game in the tube starts from FEW measurements in total and FLOOR of every arm.
FEW, FLOOR = 6.0, 0.1
# Relative accuracy of a game's searches.
ROUGHLY = 1e-3
# Factors in samples between forecasts: after one in favour of all arms, and after others. A game
# takes as long as thirty rounds, and longer with many arms and features.
AGAIN, WAIT = 1.2, 1.5
# The cost of the closest alternative exceeds its evidence by about PRICE nats, and
# PRICE_OF_AN_ARM nats for every measured arm.
PRICE, PRICE_OF_AN_ARM = 1.0, 0.4
# While pairs are open, at least this share of the needed nats counts as missing.
LEAST = 0.25


class Diagonal(Struct):
    """The last search for the closest alternative of the open pairs."""

    search: SearchSpace
    q: PerArm
    alternative: PerArm  # a model that reverses an open pair
    next: float  # samples at the next search


@inner_loop
def half_volume(weights: Vector, scale: float) -> float:
    """1/2 sum_k ln(1 + w_k s^2)."""
    total = 0.0
    for k in range(weights.shape[0]):
        total += math.log1p(weights[k] * scale * scale)
    return 0.5 * total


@inner_loop
def _cost(weights: Vector, means: Vector, scale: float, diagonal: Diagonal) -> float:
    """1/2 sum_k q_k (y_k - lambda_k)^2 for the known alternative."""
    total = 0.0
    for k in range(weights.shape[0]):
        expected = weights[k] * scale * scale
        miss = means[k] - diagonal.alternative[k]
        total += weights[k] * expected / (1.0 + expected) * miss * miss
    return 0.5 * total


@inner
def _best_scale(
    family: Family, weights: Vector, means: Vector, diagonal: Diagonal
) -> tuple[int, float]:
    """The scale with the most evidence against the alternative, and that evidence."""
    best, most = 0, -np.inf
    for n in range(family.scales.shape[0]):
        scale = family.scales[n]
        value = _cost(weights, means, scale, diagonal) - half_volume(weights, scale)
        if value + family.logs[n] > most:
            best, most = n, value + family.logs[n]
    return best, most


@inner
def leave_out_settled(setting: Setting, state: State, space: SearchSpace) -> None:
    """Exempt the pairs that are settled."""
    m = setting.m
    for a in range(state.counts.shape[0] - m):
        for b in range(m):
            i, j = state.test.challengers[a], state.incumbents[b]
            space.exempt[a * m + b] = is_settled(state.settled, i, j)


@inner
def _search(
    setting: Setting,
    state: State,
    weights: Vector,
    scale: float,
    diagonal: Diagonal,
) -> float:
    """Cost of the closest alternative of the open pairs at one scale; 0 if nothing is certified."""
    space = diagonal.search
    for k in range(weights.shape[0]):
        expected = weights[k] * scale * scale
        diagonal.q[k] = weights[k] * expected / (1.0 + expected)
    leave_out_settled(setting, state, space)
    bound = 0.0
    status, _, _ = project_means(setting.eps, state.means, diagonal.q, ACCURACY, space)
    if status != STALLED:
        status, _, bound, _, _, _, _ = search_pairs(
            setting.eps, state.incumbents, setting.tol, ACCURACY, space
        )
    if status != SOLVED:
        state.stalls += status == STALLED
        return 0.0
    return bound


@kernel
def price_of_the_rest(
    setting: Setting,
    state: State,
    weights: Vector,
    family: Family,
    level: float,
    diagonal: Diagonal,
) -> tuple[float, float, int]:
    """The least cost of all open pairs, the cost that would settle them, and the scale.

    There is no search while the evidence against a known model that reverses one of them is too
    small.
    """
    n, evidence = _best_scale(family, weights, state.means, diagonal)
    if evidence < level or state.samples < diagonal.next:
        return 0.0, np.inf, n
    diagonal.next = PAUSE * state.samples
    cost = _search(setting, state, weights, family.scales[n], diagonal)
    return cost, level + half_volume(weights, family.scales[n]) - family.logs[n], n


class AllArms(Struct):
    """The last forecast."""

    weights: PerArm  # allocation of the game
    left: float  # remaining measurements, infinite if another family is likely to end first
    next: float  # samples at the next forecast


@inner
def _answer(
    setting: Setting, state: State, weights: Vector, walls: bool, space: SearchSpace
) -> tuple[float, int, float]:
    """Cost of the alternative closest to the estimates, the arm with the largest gain, its gain.

    In the tube, or without its `walls`. The gain is the cost that one measurement adds, 0 if
    nothing was certified. No allocation gains more against this alternative.
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
    """The cost of the closest alternative per measurement under a good allocation.

    It is at most that of the best allocation, and close to it; 0 if a search certified nothing.
    `weights` (K,) starts the game and ends as its allocation.
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
    """Share `count` measurements in proportion to `wanted`; whether that is finite.

    Every arm gets FLOOR more, because searches take long at very uneven weights.
    """
    total = 0.0
    for k in range(weights.shape[0]):
        total += wanted[k] * setting.variance[k]
    for k in range(weights.shape[0]):
        weights[k] = count * wanted[k] / total + FLOOR / setting.variance[k]
    return total < np.inf


@inner
def _nats_needed(families: Families, weights: Vector) -> float:
    """An estimate of the closest alternative's cost when displacements of all arms refute it."""
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

    The rival is the family of two arms. By it, a pair has a cost of 1 when each arm has the weight
    `wanted` (K,), and is settled at the cost `price`; all pairs need `rival` more measurements. The
    same game without walls may find a better allocation for it. If a single alternative would not
    be refuted within `rival` measurements, the forecast is infinite without a game.
    """
    K, d = setting.X.shape
    if state.samples < max(forecast.next, float(K * d)):  # sooner, a game would take too long
        return
    forecast.next, forecast.left = WAIT * state.samples, np.inf
    if rival < K * d:  # and its forecasts of few measurements are inaccurate
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
