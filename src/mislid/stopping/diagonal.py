"""Displacements of all arms: evidence by the closest alternative at shrunk weights.

ln M(lambda) = 1/2 sum_k q_k (y_k - lambda_k)^2 - 1/2 sum_k ln(1 + w_k s^2), with
q_k = w_k^2 s^2 / (1 + w_k s^2). A search takes longer than all else in a round, and this family is
seldom the first to settle a pair: it is asked now and then.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import PerArm, Struct, Vector, inner, inner_loop, kernel
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.search import SearchSpace, project_means, search_pairs
from mislid.geometry.two_arms import ACCURACY
from mislid.stopping.evidence import Family
from mislid.stopping.state import Setting, State, is_settled

# Searches are at least this factor apart in samples.
PAUSE = 1.02


class Diagonal(Struct):
    """The last search."""

    search: SearchSpace
    q: PerArm
    alternative: PerArm  # some model that reverses an open pair
    next: float  # samples before which there is no other search


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
    """The scale at which the alternative has most evidence against it, and how much."""
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
    """What all open pairs cost at least by all arms, what would settle them, and at which scale.

    Not looked at while a known model that reverses one of them has too little evidence against it.
    """
    n, evidence = _best_scale(family, weights, state.means, diagonal)
    if evidence < level or state.samples < diagonal.next:
        return 0.0, np.inf, n
    diagonal.next = PAUSE * state.samples
    cost = _search(setting, state, weights, family.scales[n], diagonal)
    return cost, level + half_volume(weights, family.scales[n]) - family.logs[n], n
