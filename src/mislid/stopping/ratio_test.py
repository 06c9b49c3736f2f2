"""The generalised likelihood ratio of linear models: every pair against one threshold.

With a ridge regression as in `ridge`, the statistic of challenger i and incumbent j is
    (mean_j - mean_i)^2 / (2 |x_i - x_j|^2_{V^-1}),
and the rule stops once that of every pair exceeds the threshold. Where it is selective, a pair
whose statistic did so once stays settled (`pairs_left`), and it stops once none is left.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Struct, inner, kernel
from mislid.geometry.linalg import copy
from mislid.geometry.two_arms import list_challengers
from mislid.stopping.pairs_left import (
    begin_to_settle,
    count_left,
    draw_conclusions,
    is_left,
    settle_pair,
)
from mislid.stopping.ridge import RidgeSpace, squared_distance, update_ridge
from mislid.stopping.schedule import count_test, estimate, record
from mislid.stopping.state import Setting, State, take_best
from mislid.stopping.thresholds import of_ratios


class RatioTest(Struct):
    """The options, and the regression."""

    log_inverse: float  # ln(1/delta)
    iterated: bool  # ln((1 + ln(t + 1)) / delta) instead of ln((t + 1) / delta)
    selective: bool  # pairs once settled stay so
    projects: bool  # whether the sampling rule looks at the projected means
    ridge: RidgeSpace


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
def pair_ratio(setting: Setting, ridge: RidgeSpace, i: int, j: int) -> float:
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
            ratio = pair_ratio(setting, rule.ridge, i, j)
            if ratio < least or least == np.inf:
                least = ratio
                record(state, ratio, threshold, i, j)
            if ratio > threshold:
                enough = True
                if rule.selective:
                    settle_pair(state.left, i, j, state.samples)
    return enough


@kernel
def judge_ratio(setting: Setting, rule: RatioTest, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, say whether every pair has had a statistic above the threshold.

    O(K d) and O(d) for every pair that is looked at.
    """
    if not _estimate(setting, rule, state) or not testing:
        return False
    count_test(state)
    incumbents, challengers = state.incumbents, state.test.challengers
    list_challengers(state.counts.shape[0], incumbents, challengers)
    threshold = of_ratios(float(state.samples), rule.log_inverse, rule.iterated)
    if not rule.selective:
        _look_at_pairs(setting, rule, state, threshold)
        return state.statistic > threshold
    begin_to_settle(state.left, incumbents, state.samples)
    if _look_at_pairs(setting, rule, state, threshold):
        draw_conclusions(state.left, setting.m, setting.tol)
    return count_left(state.left, incumbents, challengers) == 0
