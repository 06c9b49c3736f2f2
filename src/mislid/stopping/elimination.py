"""The likelihood ratio test of linear models, and selective elimination.

`glr` stops when the statistic of every pair exceeds ln((t + 1) / delta). `glr-selective` keeps a
pair settled once its statistic did so, and stops when no pair is open (Tirinzoni and Degenne 2022).
A selective sampling rule ignores the settled pairs of `glr-selective` and `guaranteed`.

A pair is a challenger i and an incumbent j. It is open unless j was proved better than i, j is
accepted, or i is dropped. An arm is accepted once K - m others were proved worse or are dropped.
For m = 1 an arm is dropped once another was proved better. These conclusions follow from the
settled pairs, whatever the incumbents are later. With a tolerance, "better" means not much worse,
which is not transitive: then no arm is dropped.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Struct, inner, kernel
from mislid.geometry.linalg import copy
from mislid.geometry.search import SearchSpace
from mislid.geometry.two_arms import list_challengers
from mislid.model import Model
from mislid.stopping.ridge import RidgeSpace, new_ridge_space, squared_distance, update_ridge
from mislid.stopping.state import (
    Setting,
    Settled,
    State,
    count_test,
    estimate,
    give_rows,
    record,
    settle,
    take_best,
)


@inner
def _is_proved(settled: Settled, i: int, j: int) -> bool:
    """Whether j was proved better than i; an arm without a row has no settled pairs."""
    return bool(settled.rows[j] >= 0 and settled.times[settled.rows[j], i] > 0)


@inner
def is_left(settled: Settled, i: int, j: int) -> bool:
    """Whether the pair is open."""
    return settled.dropped[i] == 0 and settled.accepted[j] == 0 and not _is_proved(settled, i, j)


@inner
def draw_conclusions(settled: Settled, m: int, tol: float) -> None:
    """Accept and drop arms by the settled pairs, until no more follow."""
    K, more = settled.accepted.shape[0], True
    while more:
        more = False
        for k in range(K):
            worse, beaten = 0, False
            for other in range(K):
                if other == k:
                    continue
                worse += settled.dropped[other] > 0 or _is_proved(settled, other, k)
                beaten = beaten or settled.accepted[other] > 0 or _is_proved(settled, k, other)
            if settled.accepted[k] == 0 and worse >= K - m:
                settled.accepted[k], more = 1, True
            if m == 1 and tol == 0.0 and settled.dropped[k] == 0 and beaten:
                settled.dropped[k], more = 1, True


@inner
def count_left(state: State, space: SearchSpace) -> int:
    """The number of open pairs of the present answer; lists the challengers in the space."""
    incumbents, challengers, count = state.incumbents, space.challengers, 0
    list_challengers(state.counts.shape[0], incumbents, challengers)
    for a in range(state.counts.shape[0] - incumbents.shape[0]):
        for b in range(incumbents.shape[0]):
            count += is_left(state.settled, challengers[a], incumbents[b])
    return count


@inner
def exempt_settled(setting: Setting, state: State, space: SearchSpace) -> None:
    """Exempt settled pairs from a search of a selective rule, unless no pair is open."""
    if not setting.selective or count_left(state, space) == 0:
        return
    incumbents, m = state.incumbents, setting.m
    for a in range(state.counts.shape[0] - m):
        for b in range(m):
            if not is_left(state.settled, space.challengers[a], incumbents[b]):
                space.exempt[a * m + b] = 1


class RatioTest(Struct):
    """The likelihood ratio test of linear models.

    With a ridge regression as in `ridge`, the statistic of challenger i and incumbent j is
        (mean_j - mean_i)^2 / (2 |x_i - x_j|^2_{V^-1}).
    """

    log_inverse: float  # ln(1/delta)
    settles: bool  # whether pairs once settled stay so
    projects: bool  # whether the sampling rule reads the projected means
    ridge: RidgeSpace


def new_ratio_test(setting: Setting, model: Model, settles: bool, projects: bool) -> RatioTest:
    """The test before the first measurement."""
    return RatioTest(
        log_inverse=-math.log(setting.delta),
        settles=settles,
        projects=projects,
        ridge=new_ridge_space(setting, model),
    )


@inner
def _estimate(setting: Setting, rule: RatioTest, state: State) -> bool:
    """Update the regression and the incumbents; whether there are estimates."""
    update_ridge(setting, state, rule.ridge)
    if rule.projects:
        return estimate(setting, state)
    state.judged = state.samples
    copy(rule.ridge.means, state.projected)
    take_best(state, state.projected)
    return True


@inner
def _statistic(setting: Setting, ridge: RidgeSpace, i: int, j: int) -> float:
    """The statistic of a pair; infinite if its arms have the same features."""
    gap = ridge.means[j] - ridge.means[i] + setting.tol
    if gap <= 0.0:
        return 0.0
    square = squared_distance(setting.X, ridge.images, i, j)
    return gap * gap / (2.0 * square) if square > 0.0 else math.inf


@inner
def _look_at_pairs(setting: Setting, rule: RatioTest, state: State, threshold: float) -> bool:
    """Record the pair with the least statistic, of open pairs if pairs are settled.

    Settles pairs above the threshold; whether there is one.
    """
    incumbents, challengers, m = state.incumbents, state.test.challengers, setting.m
    least, enough = np.inf, False
    for a in range(state.counts.shape[0] - m):
        for b in range(m):
            i, j = challengers[a], incumbents[b]
            if rule.settles and not is_left(state.settled, i, j):
                continue
            ratio = _statistic(setting, rule.ridge, i, j)
            if ratio < least or least == np.inf:
                least = ratio
                record(state, ratio, threshold, i, j)
            if ratio > threshold:
                enough = True
                if rule.settles:
                    settle(state.settled, i, j, state.samples)
    return enough


@kernel
def judge_ratio(setting: Setting, rule: RatioTest, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, compare the statistic of every pair with the threshold.

    O(K d), and O(d) for every pair.
    """
    if not _estimate(setting, rule, state) or not testing:
        return False
    count_test(state)
    list_challengers(state.counts.shape[0], state.incumbents, state.test.challengers)
    threshold = rule.log_inverse + math.log(float(state.samples) + 1.0)
    if not rule.settles:
        _look_at_pairs(setting, rule, state, threshold)
        return state.statistic > threshold
    give_rows(state.settled, state.incumbents, state.samples)
    if _look_at_pairs(setting, rule, state, threshold):
        draw_conclusions(state.settled, setting.m, setting.tol)
    return count_left(state, state.test) == 0
