"""Stopping rules with one threshold for the distance of the projected means to their alternative.

The paper's, as corrected and as printed, and the heuristic of its published runs;
`mislid.stopping.thresholds` derives the formulas.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Square, Struct, inner, kernel
from mislid.geometry.linalg import gram, is_above
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.search import forget_means
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping import thresholds
from mislid.stopping.schedule import (
    closest,
    cost_of_doubt,
    count_test,
    estimate,
    is_doubt_valid,
    keep_doubt,
    record,
)
from mislid.stopping.state import Setting, State

HEURISTIC, PAPER, PAPER_PRINTED = range(3)


class ProjectedTest(Struct):
    """Which threshold, and its constants."""

    kind: int
    log_inverse: float  # ln(1/delta)
    largest_square: float  # max_k |x_k|^2 / sigma_k^2, in spanner coordinates
    gram: Square


def new_projected_test(setting: Setting, kind: int) -> ProjectedTest:
    """The test before the first measurement."""
    return ProjectedTest.zeros(
        {"d": setting.X.shape[1]},
        kind=kind,
        log_inverse=-math.log(setting.delta),
        largest_square=float(np.max(np.sum(setting.X**2, axis=1) / setting.variance)),
    )


# Where V is 2 L^2 I but for rounding, it is luck which side a pivot is on; a checker must agree.
BEYOND_ROUNDING = 1e-9


@inner
def _is_explored(setting: Setting, rule: ProjectedTest, state: State) -> bool:
    """Whether V >= 2 L^2 I, in spanner coordinates and units of the noise, as beta_lin needs.

    Its proof works in any coordinates that are fixed beforehand, and needs this at the time of the
    test only. In these, 2 d rounds over the spanner are enough, however collinear the features.
    """
    square, newton = rule.gram, state.test.newton
    gram(setting.X, newton.spanner, newton.rest, state.weights, square)
    level = 2.0 * (1.0 + BEYOND_ROUNDING) * rule.largest_square
    return is_above(square, square.shape[0], level)


@inner
def _threshold(setting: Setting, rule: ProjectedTest, state: State) -> float:
    """What the cost of the closest alternative must exceed."""
    K, d = setting.X.shape
    t, level, information = float(state.samples), rule.log_inverse, 0.0
    if rule.kind == HEURISTIC:
        return thresholds.heuristic(t, level)
    for k in range(K):
        information += state.weights[k]
    beta = thresholds.unstructured(t, K, level)
    if rule.kind == PAPER_PRINTED:
        return min(beta, thresholds.printed_linear(t, d, setting.eps, information, level))
    linear = thresholds.linear(t, d, setting.eps, information, level)
    if linear < beta and _is_explored(setting, rule, state):
        return linear
    return beta


@inner
def is_far(
    setting: Setting, rule: ProjectedTest, state: State, cost: float, i: int, j: int
) -> bool:
    """Whether an alternative of this cost and pair is far enough."""
    threshold = _threshold(setting, rule, state)
    record(state, cost, threshold, i, j)
    return cost > threshold


@inner
def _is_near(setting: Setting, rule: ProjectedTest, state: State) -> bool:
    """Whether the alternative found last is still too near: then no search is needed."""
    if setting.responds or not is_doubt_valid(state):
        return False  # the sampling rule would search for it in a moment
    cost = cost_of_doubt(state, state.projected)
    i, j = state.doubt_challenger, state.doubt_incumbent
    return not is_far(setting, rule, state, cost, i, j)


@kernel
def judge_projected(setting: Setting, rule: ProjectedTest, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, compare the closest alternative's cost with the threshold.

    A search that certifies nothing leaves the question open.
    """
    if not estimate(setting, state) or not testing:
        return False
    count_test(state)
    forget_means(state.test)
    answer = False
    if not _is_near(setting, rule, state):
        eps = setting.eps + setting.widening
        status, cost, i, j = closest(eps, state.projected, setting.tol, state)
        if status == STALLED:
            state.stalls += 1
        elif status == SOLVED:
            answer = is_far(setting, rule, state, cost, i, j)
            keep_doubt(state, state.projected, i, j)
            state.answered = state.samples
    leave_nothing_out(state.test)
    return answer
