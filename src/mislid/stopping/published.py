"""Stopping rules of the paper: the closest alternative against one threshold.

The paper's rules, as corrected and as printed, the heuristic of its published runs, and the
likelihood ratio test in a tube, with the threshold ln((t + 1) / delta).

Evidence is 1/2 sum_k N_k (x_k - y_k)^2 / sigma_k^2 between means x and y, with N_k measurements of
arm k and known noise sigma_k. It has no unit, and neither has a threshold.

Noise may differ between arms. Divide arm k's rewards, its feature and its deviation by sigma_k.
Measurements then have noise 1, features phi_k / sigma_k and deviations up to eps / sigma_k, and the
paper's arguments apply word for word, with three changes. V = sum_k N_k phi_k phi_k' / sigma_k^2 is
compared with L = max_k |phi_k| / sigma_k. Its trace is at most t L^2, so after V >= 2 L^2 I the
logarithm ln(1 + t ln(1/delta) / (2d)) does not change, with t the number of samples. The
deviations' share, |eta|_N^2 <= t eps^2 with noise 1, becomes sum_k N_k (eps / sigma_k)^2 =
eps^2 `information`, information = sum_k N_k / sigma_k^2.

Functions take the confidence as log_inverse = ln(1/delta).
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Square, Struct, inner, kernel
from mislid.geometry.linalg import gram, is_above
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.search import forget_means
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping.state import (
    Setting,
    State,
    closest,
    cost_of_doubt,
    count_test,
    estimate,
    is_doubt_valid,
    keep_doubt,
    record,
)

PROJECTED_TESTS = ("heuristic", "paper", "paper-printed", "glr")
HEURISTIC, PAPER, PAPER_PRINTED, RATIO = range(4)


class ProjectedTest(Struct):
    """One threshold for the distance of the projected means to their closest alternative."""

    kind: int
    log_inverse: float  # ln(1/delta)
    largest_square: float  # max_k |x_k|^2 / sigma_k^2, in spanner coordinates
    gram: Square


def new_projected_test(setting: Setting, name: str) -> ProjectedTest:
    """The test of this name before the first measurement."""
    return ProjectedTest.zeros(
        {"d": setting.X.shape[1]},
        kind=PROJECTED_TESTS.index(name),
        log_inverse=-math.log(setting.delta),
        largest_square=float(np.max(np.sum(setting.X**2, axis=1) / setting.variance)),
    )


@inner
def wbar(x: float) -> float:
    """-W_{-1}(-exp(-x)): the solution w >= 1 of w - ln w = x, for x >= 1 (1 below)."""
    u = max(x - 1.0, 0.0)
    # An upper bound; w - ln w is convex, so Newton's method comes down to the root from it.
    w = 1.0 + math.sqrt(2.0 * u) + u
    for _ in range(60):
        if w <= 1.0:
            break
        step = (w - math.log(w) - 1.0 - u) / (1.0 - 1.0 / w)
        w -= step
        if step <= 1e-15 * w:
            break
    return max(w, 1.0)


@inner
def heuristic(t: float, log_inverse: float) -> float:
    """ln((1 + ln(t + 1)) / delta)."""
    return log_inverse + math.log(1.0 + math.log(t + 1.0))


@inner
def unstructured(t: float, K: int, log_inverse: float) -> float:
    """The paper's beta_uns; infinite for t <= 1, where it is not defined."""
    if t <= 1.0:
        return np.inf
    x = (math.log(2.0) + 1.0 + log_inverse) / (2.0 * K)
    return 2.0 * K * wbar(x + 0.5 * math.log(8.0 * math.e * K * math.log(t)))


@inner
def linear_part(t: float, d: int, log_inverse: float) -> float:
    """The paper's bound b0 on the error of the linear part."""
    spread = 0.5 * d * math.log(1.0 + t * log_inverse / (2.0 * d))
    return 1.0 + log_inverse + (1.0 + 1.0 / log_inverse) * spread


@inner
def linear(t: float, d: int, eps: float, information: float, log_inverse: float) -> float:
    """beta_lin with the confidence and the sum of squares that its proof supports."""
    deviation = 2.0 * information * eps * eps if eps > 0.0 else 0.0
    return linear_part(t, d, log_inverse + math.log(2.0)) + deviation


@inner
def printed_linear(t: float, d: int, eps: float, information: float, log_inverse: float) -> float:
    """beta_lin as the paper prints it."""
    deviation = 4.0 * eps * math.sqrt(information) if eps > 0.0 else 0.0
    return 0.5 * (deviation + math.sqrt(2.0 * linear_part(t, d, log_inverse))) ** 2


# Margin for V >= 2 L^2 I: a checker with other rounding must agree.
BEYOND_ROUNDING = 1e-9


@inner
def _is_explored(setting: Setting, rule: ProjectedTest, state: State) -> bool:
    """Whether V >= 2 L^2 I, in spanner coordinates and units of the noise, as beta_lin needs.

    The proof of beta_lin works in any coordinates that are fixed beforehand, and needs this at the
    time of the test only. In these coordinates 2 d rounds over the spanner are enough.
    """
    square, newton = rule.gram, state.test.newton
    gram(setting.X, newton.spanner, newton.rest, state.weights, square)
    level = 2.0 * (1.0 + BEYOND_ROUNDING) * rule.largest_square
    return is_above(square, square.shape[0], level)


@inner
def _threshold(setting: Setting, rule: ProjectedTest, state: State) -> float:
    """The threshold for the cost of the closest alternative."""
    K, d = setting.X.shape
    t, level, information = float(state.samples), rule.log_inverse, 0.0
    if rule.kind == HEURISTIC:
        return heuristic(t, level)
    if rule.kind == RATIO:
        return level + math.log(t + 1.0)
    for k in range(K):
        information += state.weights[k]
    beta = unstructured(t, K, level)
    if rule.kind == PAPER_PRINTED:
        return min(beta, printed_linear(t, d, setting.eps, information, level))
    better = linear(t, d, setting.eps, information, level)
    if better < beta and _is_explored(setting, rule, state):
        return better
    return beta


@inner
def _is_far(
    setting: Setting, rule: ProjectedTest, state: State, cost: float, i: int, j: int
) -> bool:
    """Record an alternative of this cost and pair; whether its cost exceeds the threshold."""
    threshold = _threshold(setting, rule, state)
    record(state, cost, threshold, i, j)
    return cost > threshold


@inner
def _is_near(setting: Setting, rule: ProjectedTest, state: State) -> bool:
    """Whether the alternative found last is still too near, so that no search is needed."""
    if setting.responds or not is_doubt_valid(state):
        return False  # the sampling rule needs this search anyway
    cost = cost_of_doubt(state, state.projected)
    i, j = state.doubt_challenger, state.doubt_incumbent
    return not _is_far(setting, rule, state, cost, i, j)


@kernel
def judge_projected(setting: Setting, rule: ProjectedTest, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, compare the closest alternative's cost with the threshold.

    If the search certifies nothing, there is no decision.
    """
    if not estimate(setting, state) or not testing:
        return False
    count_test(state)
    forget_means(state.test)
    answer = False
    if not _is_near(setting, rule, state):
        status, cost, i, j = closest(setting, state, state.weights, state.test)
        if status == STALLED:
            state.stalls += 1
        elif status == SOLVED:
            answer = _is_far(setting, rule, state, cost, i, j)
            keep_doubt(state, state.projected, i, j)
            state.answered = state.samples
    leave_nothing_out(state.test)
    return answer
