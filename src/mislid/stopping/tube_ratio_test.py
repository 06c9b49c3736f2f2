"""The likelihood ratio test of `ratio_test` in a tube: the statistic of a pair is its cost there.

The cost of a pair is that of its closest alternative to the projected means, as in
`projected_test`; there is no ridge. A search gives the least of them. For single pairs the bounds
that it leaves behind are improved, and a pair is settled once its bound exceeds the threshold: that
is never too early, and where bounds are exact not later than by its cost.
"""

from __future__ import annotations

from mislid._jit import Struct, inner, kernel
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.search import CRUDE, DONE, GOOD, better_bound, forget_means
from mislid.geometry.two_arms import is_wide, leave_nothing_out, list_challengers, pair_cost
from mislid.stopping.pairs_left import (
    begin_to_settle,
    count_left,
    draw_conclusions,
    is_left,
    leave_out_pairs,
    settle_pair,
)
from mislid.stopping.schedule import closest, count_test, estimate, keep_doubt, record
from mislid.stopping.state import Setting, State
from mislid.stopping.thresholds import of_ratios

# All pairs that are left are looked at again when the samples have grown by this factor.
RENEWAL = 1.01


class TubeRatioTest(Struct):
    """The options, and when all pairs were looked at last."""

    log_inverse: float  # ln(1/delta)
    iterated: bool  # ln((1 + ln(t + 1)) / delta) instead of ln((t + 1) / delta)
    selective: bool  # pairs once settled stay so
    scanned: float


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
def _settle_far(setting: Setting, state: State, threshold: float) -> None:
    """Settle the pairs whose bounds exceed the threshold."""
    m, changed = setting.m, False
    for a in range(state.counts.shape[0] - m):
        for b in range(m):
            i, j = state.test.challengers[a], state.incumbents[b]
            if not is_left(state.left, i, j):
                continue
            if _bound(setting, state, i, j, a * m + b, threshold) > threshold:
                settle_pair(state.left, i, j, state.samples)
                changed = True
    if changed:
        draw_conclusions(state.left, m, setting.tol)


@inner
def _settle_all(setting: Setting, state: State) -> None:
    for a in range(state.counts.shape[0] - setting.m):
        for b in range(setting.m):
            i, j = state.test.challengers[a], state.incumbents[b]
            if is_left(state.left, i, j):
                settle_pair(state.left, i, j, state.samples)
    draw_conclusions(state.left, setting.m, setting.tol)


@inner
def _test(setting: Setting, rule: TubeRatioTest, state: State, threshold: float) -> bool:
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
        return cost > threshold
    if cost > threshold:
        _settle_all(setting, state)
        return True
    if state.samples > RENEWAL * rule.scanned:
        rule.scanned = float(state.samples)
        _settle_far(setting, state, threshold)
    return False


@kernel
def judge_tube_ratio(setting: Setting, rule: TubeRatioTest, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, say whether every pair has had a cost above the threshold."""
    if not estimate(setting, state) or not testing:
        return False
    count_test(state)
    forget_means(state.test)
    threshold = of_ratios(float(state.samples), rule.log_inverse, rule.iterated)
    incumbents, challengers = state.incumbents, state.test.challengers
    list_challengers(state.counts.shape[0], incumbents, challengers)
    if rule.selective:
        begin_to_settle(state.left, incumbents, state.samples)
        if count_left(state.left, incumbents, challengers) == 0:
            return True  # all of these were settled before, while others were incumbents
        leave_out_pairs(state.left, incumbents, challengers, state.test.exempt)
    decided = _test(setting, rule, state, threshold)
    leave_nothing_out(state.test)
    return decided
