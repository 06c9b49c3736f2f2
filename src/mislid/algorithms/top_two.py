"""EB-TCI (Jourdan, Degenne, Baudry, de Heide and Kaufmann, 2022): a leader and its challenger.

The leaders are the incumbents of the estimate. The pair has the least cost plus logarithms of its
counts; without these, an arm with a misleading mean could wait for ever. One of its two arms is
measured, each with probability 1/2.

Near alternatives are the pairs that cost nearly as little as the closest alternative. As in
`geometry.search`, every pair is bounded, and only pairs that the bounds do not exclude are solved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mislid._jit import Indices, Matrix, Struct, Vector, inner, kernel
from mislid.algorithms.best_response import least_measured, set_slopes
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.newton import INFEASIBLE, STALLED, means_below, solve
from mislid.geometry.order import ROOT, heapify, sift_down
from mislid.geometry.problem import set_problem
from mislid.geometry.search import (
    CRUDE,
    DONE,
    GOOD,
    SearchSpace,
    better_bound,
    forget_means,
    keep_pair,
    list_pairs,
    set_start,
)
from mislid.geometry.two_arms import (
    ACCURACY,
    is_wide,
    leave_nothing_out,
    list_challengers,
    move_pair,
    pair_cost,
)
from mislid.stopping.elimination import exempt_settled
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State

# Most near pairs; further ones are ignored.
MOST_PAIRS = 256


class NearPairs(Struct):
    """The pairs found, fewer than n, and the gains of all arms at their alternatives."""

    reach: float  # how much more than the closest a pair may cost
    count: int
    closest: int  # the row of the least cost
    extra: Vector  # (P,) added to the cost of every pair
    costs: Annotated[Vector, ("n",)]  # costs plus `extra`
    challengers: Annotated[Indices, ("n",)]
    incumbents: Annotated[Indices, ("n",)]
    slopes: Annotated[Matrix, ("n", "K")]


def new_near_pairs(K: int, m: int, most: int = MOST_PAIRS) -> NearPairs:
    """An empty list for the pairs of K arms with m incumbents."""
    pairs = m * (K - m)
    return NearPairs.zeros({"n": min(pairs, most) + 1, "K": K}, extra=np.zeros(pairs))


@inner
def _keep(
    setting: Setting, near: NearPairs, cost: float, i: int, j: int, below: Vector, at: int
) -> None:
    """Store a pair in row `at`; `below` (K,) is the estimate minus its alternative."""
    near.costs[at] = cost
    near.challengers[at], near.incumbents[at] = i, j
    set_slopes(setting, below, near.slopes[at])


@inner
def _take(
    setting: Setting, state: State, weights: Vector, space: SearchSpace, near: NearPairs, p: int
) -> None:
    """Keep a pair in closed form."""
    i, j = space.challengers[p // setting.m], state.incumbents[p % setting.m]
    move_pair(state.projected, weights, i, j, setting.tol, space.below)
    _keep(setting, near, space.bounds[p], i, j, space.below, near.count)
    space.bounds[p] = np.inf
    near.count += 1


@inner
def _near_unstructured(
    setting: Setting, state: State, weights: Vector, space: SearchSpace, near: NearPairs
) -> None:
    """All pairs in closed form: the cheapest goes to row 0, those within reach of it follow."""
    m, tol, given = setting.m, setting.tol, state.projected
    list_challengers(given.shape[0], state.incumbents, space.challengers)
    best, least = -1, np.inf
    for p in range(space.bounds.shape[0]):
        i, j = space.challengers[p // m], state.incumbents[p % m]
        cost = near.extra[p] + pair_cost(given, weights, i, j, tol)
        space.bounds[p] = np.inf if space.exempt[p] else cost
        if space.bounds[p] < least:
            best, least = p, space.bounds[p]
    if best < 0:
        return
    _take(setting, state, weights, space, near, best)
    for p in range(space.bounds.shape[0]):
        if space.bounds[p] < least + near.reach and near.count < near.costs.shape[0]:
            _take(setting, state, weights, space, near, p)


@inner
def _leave_far(near: NearPairs) -> None:
    """Remove pairs that are out of reach."""
    best = 0
    for p in range(near.count):
        if near.costs[p] < near.costs[best]:
            best = p
    limit, kept = near.costs[best] + near.reach, 0
    for p in range(near.count):
        if p == best or near.costs[p] < limit:
            near.closest = kept if p == best else near.closest
            near.costs[kept] = near.costs[p]
            near.challengers[kept] = near.challengers[p]
            near.incumbents[kept] = near.incumbents[p]
            for k in range(near.slopes.shape[1]):
                near.slopes[kept, k] = near.slopes[p, k]
            kept += 1
    near.count = kept


@inner
def _has_room(near: NearPairs) -> bool:
    """Whether another pair fits, after far pairs are removed if the list is full."""
    if near.count == near.costs.shape[0]:
        _leave_far(near)
    return near.count < near.costs.shape[0]


@kernel
def _near_structured(setting: Setting, state: State, space: SearchSpace, near: NearPairs) -> bool:
    """Solve pairs by increasing bounds; False if the solver could not certify one."""
    m, size, tol = setting.m, space.bounds.shape[0], setting.tol
    eps, least = setting.eps + setting.widening, np.inf
    list_pairs(state.incumbents, tol, space)
    for p in range(size):
        space.bounds[p] += near.extra[p]
    heapify(space.heap, size, space.bounds)
    while _has_room(near):
        p = space.heap[0]
        if space.quality[p] == DONE or space.bounds[p] >= least + near.reach:
            break
        i, j = space.challengers[p // m], state.incumbents[p % m]
        tolerance = tol + (space.linear[j] - space.linear[i])
        if space.quality[p] == CRUDE:
            space.quality[p] = GOOD
            better = near.extra[p] + better_bound(p, i, j, eps, tolerance, space)
            space.bounds[p] = max(space.bounds[p], better)
        else:
            set_start(space.slot[p], space)
            set_problem(i, j, eps, tolerance, space.level, space.newton)
            status, cost, _, alpha, _ = solve(space.local, ACCURACY, space.newton)
            if status == STALLED:
                return False
            space.quality[p], space.bounds[p] = DONE, np.inf
            if status != INFEASIBLE:
                keep_pair(p, i, j, m, alpha, space)
                means_below(space.newton, space.below)
                _keep(setting, near, near.extra[p] + cost, i, j, space.below, near.count)
                least = min(least, near.extra[p] + cost)
                near.count += 1
        sift_down(space.heap, size, space.bounds, int(ROOT))
    return True


@kernel
def find_near(
    setting: Setting, state: State, weights: Vector, space: SearchSpace, near: NearPairs
) -> bool:
    """The cheapest pair and those within reach of it, around the projected means.

    `space` must be aimed at them. False where a search could not be certified, or all pairs are
    exempt.
    """
    near.count = 0
    if is_wide(setting.eps + setting.widening, state.projected, setting.tol):
        _near_unstructured(setting, state, weights, space, near)
    elif not _near_structured(setting, state, space, near):
        state.stalls += 1
        return False
    if near.count == 0:
        return False
    _leave_far(near)
    return True


# Number of measurements assumed for an arm without any.
AT_LEAST = 0.5


@dataclass(frozen=True)
class TopTwo(Algorithm):
    """EB-TCI (Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022).

    Of the pair of an incumbent and a challenger with the least cost plus logarithms of its counts,
    one arm is measured, each with probability 1/2.
    """

    can_select = True
    every_arm = True


class TopTwoStruct(Struct):
    """Memory of the rule: near pairs and their extra costs."""

    near: NearPairs


@inner
def _set_logarithms(setting: Setting, state: State, near: NearPairs) -> None:
    m, counts, challengers = setting.m, state.counts, state.test.challengers
    list_challengers(counts.shape[0], state.incumbents, challengers)
    for p in range(near.extra.shape[0]):
        i, j = challengers[p // m], state.incumbents[p % m]
        near.extra[p] = math.log(max(counts[i], AT_LEAST)) + math.log(max(counts[j], AT_LEAST))


@kernel
def top_two_arm(setting: Setting, rule: TopTwoStruct, state: State, uniform: float) -> int:
    """The arm to measure next: of the pair, the leader with probability 1/2."""
    near = rule.near
    _set_logarithms(setting, state, near)
    forget_means(state.test)
    exempt_settled(setting, state, state.test)
    found = find_near(setting, state, state.weights, state.test, near)
    leave_nothing_out(state.test)
    if not found:
        return least_measured(state.counts)
    state.rounds += 1
    if uniform < 0.5:
        return near.incumbents[near.closest]
    return near.challengers[near.closest]


@register({"top-two": TopTwo()})
def _compile(rule: TopTwo, setup: Setup) -> CompiledSampling:
    near = new_near_pairs(setup.question.K, setup.question.m, 1)
    struct = TopTwoStruct(near=near)
    return CompiledSampling(struct, top_two_arm, estimates=True)
