"""What stopping rules share: the estimate, the closest alternative, and what a test leaves behind.

A rule is a struct and a kernel judge(setting, rule, state, testing), which estimates the means and,
if `testing`, says whether what has been measured is enough to answer.
"""

from __future__ import annotations

import numpy as np

from mislid._jit import Vector, inner
from mislid.geometry.newton import STALLED
from mislid.geometry.search import SearchSpace, project_means, search_pairs
from mislid.geometry.two_arms import ACCURACY, Closest, closest_unstructured, is_wide
from mislid.stopping.state import Setting, State, set_estimate

# After the samples have grown by this factor, the closest alternative is searched for again.
RENEWAL = 1.02


@inner
def estimate(setting: Setting, state: State) -> bool:
    """Project the means and pick the incumbents (the paper's estimation step).

    The nearest model in sum_k weights_k (.)^2; needs measurements of arms that span. A projection
    that is not certified leaves everything as it was.
    """
    state.judged = state.samples
    if not np.isinf(setting.eps):
        space = state.test
        status, _, _ = project_means(setting.eps, state.means, state.weights, ACCURACY, space)
        if status == STALLED:
            state.stalls += 1
            return False
    set_estimate(setting, state)
    return True


@inner
def count_test(state: State) -> None:
    """Remember that there was a test."""
    state.tests += 1
    state.last_test = state.samples


@inner
def closest(setting: Setting, state: State, weights: Vector, space: SearchSpace) -> Closest:
    """The alternative closest to the projected means, around which `space` is ready to search."""
    eps = setting.eps + setting.widening
    if is_wide(eps, state.projected, setting.tol):
        return closest_unstructured(state.projected, weights, state.incumbents, setting.tol, space)
    status, cost, _, i, j, _, _ = search_pairs(eps, state.incumbents, setting.tol, ACCURACY, space)
    return status, cost, i, j


@inner
def record(state: State, statistic: float, threshold: float, i: int, j: int) -> None:
    """What a test found, for people and for rules that look at it."""
    state.statistic, state.threshold = statistic, threshold
    state.challenger, state.incumbent = i, j


@inner
def keep_doubt(state: State, given: Vector, i: int, j: int) -> None:
    """Keep the alternative just found."""
    below = state.test.below
    for k in range(given.shape[0]):
        state.doubt[k] = given[k] - below[k]
    state.doubt_challenger, state.doubt_incumbent = i, j
    state.searched = state.samples


@inner
def is_of_the_answer(state: State, i: int, j: int) -> bool:
    """Whether j is an incumbent by now and i is none; no pair at all has i = -1."""
    inside = False
    for b in range(state.incumbents.shape[0]):
        if state.incumbents[b] == i:
            return False
        inside = inside or state.incumbents[b] == j
    return inside and i >= 0


@inner
def is_doubt_valid(state: State) -> bool:
    """Whether the alternative found last reverses a pair of the present answer, and is recent.

    Its cost is above that of the closest one, which is searched for again before long, so that the
    evidence is not overstated by much.
    """
    if state.samples > RENEWAL * state.searched:
        return False
    return is_of_the_answer(state, state.doubt_challenger, state.doubt_incumbent)


@inner
def cost_of_doubt(state: State, given: Vector) -> float:
    """What the alternative found last costs now."""
    cost = 0.0
    for k in range(given.shape[0]):
        cost += 0.5 * state.weights[k] * (given[k] - state.doubt[k]) ** 2
    return cost
