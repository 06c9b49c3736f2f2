"""The generalised likelihood ratio test of linear models: every pair against ln((t + 1) / delta).

With a ridge regression as in `ridge`, the statistic of challenger i and incumbent j is
    (mean_j - mean_i)^2 / (2 |x_i - x_j|^2_{V^-1}),
and the rule stops once that of every pair exceeds the threshold. Where it is selective, a pair
whose statistic did so once stays settled (`pairs_left`), and it stops once none is left.

In a tube the statistic of a pair is the cost of its closest alternative to the projected means, as
in `projected_test`; there is no ridge. A search gives the least of them. For single pairs the
bounds that it leaves behind are improved, and a pair is settled once its bound exceeds the
threshold: that is never too early, and where bounds are exact not later than by its cost.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Struct, inner, kernel
from mislid.geometry.linalg import copy
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.search import CRUDE, DONE, GOOD, better_bound, forget_means
from mislid.geometry.two_arms import is_wide, leave_nothing_out, list_challengers, pair_cost
from mislid.stopping.pairs_left import (
    count_left,
    draw_conclusions,
    give_rows,
    is_left,
    leave_out_pairs,
    settle,
)
from mislid.stopping.projected_test import logarithmic
from mislid.stopping.ridge import RidgeSpace, squared_distance, update_ridge
from mislid.stopping.schedule import closest, count_test, estimate, keep_doubt, record
from mislid.stopping.state import Setting, State, take_best

# In a tube all pairs that are left are looked at again when samples have grown by this factor.
RENEWAL = 1.01


class RatioTest(Struct):
    """The options, and the regression."""

    log_inverse: float  # ln(1/delta)
    selective: bool  # pairs once settled stay so
    projects: bool  # whether the sampling rule looks at the projected means
    ridge: RidgeSpace
    scanned: float  # samples when all pairs of the tube were looked at last


@inner
def _estimate(setting: Setting, rule: RatioTest, state: State) -> bool:
    """The regression, and the incumbents; whether there are any."""
    update_ridge(setting, state, rule.ridge)
    if rule.projects:
        return estimate(setting, state)
    state.judged = state.samples
    copy(rule.ridge.means, state.projected)
    take_best(state, state.projected)
    return True


@inner
def _begin(rule: RatioTest, state: State) -> float:
    """Count the test and list the pairs; return the threshold."""
    count_test(state)
    list_challengers(state.counts.shape[0], state.incumbents, state.test.challengers)
    if rule.selective:
        give_rows(state.left.settled, state.incumbents, state.samples)
    return logarithmic(float(state.samples), rule.log_inverse, 1.0)


@inner
def _pair_ratio(setting: Setting, ridge: RidgeSpace, i: int, j: int) -> float:
    """The statistic of a pair; infinite where its arms have the same features."""
    gap = ridge.means[j] - ridge.means[i] + setting.tol
    if gap <= 0.0:
        return 0.0
    square = squared_distance(setting.X, ridge.images, i, j)
    return gap * gap / (2.0 * square) if square > 0.0 else math.inf


@inner
def _look_at_pairs(setting: Setting, rule: RatioTest, state: State, threshold: float) -> bool:
    """Record the pair with the least statistic of those looked at; whether one has enough.

    Where pairs are settled, only those that are left are looked at, and those with enough are
    settled now.
    """
    m, incumbents, challengers = setting.m, state.incumbents, state.test.challengers
    least, enough = np.inf, False
    for a in range(state.counts.shape[0] - m):
        for b in range(m):
            i, j = challengers[a], incumbents[b]
            if rule.selective and not is_left(state.left, i, j):
                continue
            ratio = _pair_ratio(setting, rule.ridge, i, j)
            if ratio < least or least == np.inf:
                least = ratio
                record(state, ratio, threshold, i, j)
            if ratio > threshold:
                enough = True
                if rule.selective:
                    settle(state.left.settled, i, j, state.samples)
    return enough


@kernel
def judge_ratio(setting: Setting, rule: RatioTest, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, say whether every pair has had a statistic above the threshold.

    O(K d) and O(d) for every pair that is looked at.
    """
    if not _estimate(setting, rule, state) or not testing:
        return False
    threshold = _begin(rule, state)
    enough = _look_at_pairs(setting, rule, state, threshold)
    if not rule.selective:
        return state.statistic > threshold
    if enough:
        draw_conclusions(state.left, setting.m, setting.tol)
    return count_left(state.left, state.incumbents, state.test.challengers) == 0


@inner
def _bound(setting: Setting, state: State, i: int, j: int, p: int, enough: float) -> float:
    """What a pair costs at least, after a search; improved where it is not enough."""
    space = state.test
    eps = setting.eps + setting.widening
    if is_wide(eps, state.projected, setting.tol):
        return pair_cost(state.projected, state.weights, i, j, setting.tol)
    if space.quality[p] == DONE:  # it was solved, and its bound given up: it is among the nearest
        return 0.0
    if space.quality[p] == CRUDE and space.bounds[p] <= enough:
        space.quality[p] = GOOD
        tolerance = setting.tol + (space.linear[j] - space.linear[i])
        better = better_bound(p, i, j, eps, tolerance, space)
        space.bounds[p] = max(space.bounds[p], better)
    return space.bounds[p]


@inner
def _settle_far(setting: Setting, state: State, enough: float) -> None:
    """Settle the pairs whose bounds exceed `enough`; minus infinity settles all."""
    m, changed = setting.m, False
    for a in range(state.counts.shape[0] - m):
        for b in range(m):
            i, j = state.test.challengers[a], state.incumbents[b]
            if not is_left(state.left, i, j):
                continue
            if _bound(setting, state, i, j, a * m + b, enough) > enough:
                settle(state.left.settled, i, j, state.samples)
                changed = True
    if changed:
        draw_conclusions(state.left, m, setting.tol)


@inner
def _test_in_tube(setting: Setting, rule: RatioTest, state: State, threshold: float) -> bool:
    """Whether the closest alternative of the pairs that are left is far enough."""
    eps = setting.eps + setting.widening
    status, cost, i, j = closest(eps, state.projected, setting.tol, state)
    if status != SOLVED:
        state.stalls += status == STALLED
        return False
    record(state, cost, threshold, i, j)
    keep_doubt(state, state.projected, i, j)
    if not rule.selective:
        state.answered = state.samples
    elif cost > threshold:
        _settle_far(setting, state, -np.inf)
    elif state.samples > RENEWAL * rule.scanned:
        rule.scanned = float(state.samples)
        _settle_far(setting, state, threshold)
    return cost > threshold


@kernel
def judge_tube_ratio(setting: Setting, rule: RatioTest, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, say whether every pair has had a cost above the threshold."""
    if not estimate(setting, state) or not testing:
        return False
    forget_means(state.test)
    threshold = _begin(rule, state)
    if rule.selective:
        incumbents, challengers = state.incumbents, state.test.challengers
        if count_left(state.left, incumbents, challengers) == 0:
            return True  # all of these were settled before, while others were incumbents
        leave_out_pairs(state.left, incumbents, challengers, state.test.exempt)
    decided = _test_in_tube(setting, rule, state, threshold)
    leave_nothing_out(state.test)
    return decided
