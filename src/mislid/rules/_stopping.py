"""Stopping rules, compiled: is what has been measured enough to answer?

`stopping` has their names for people, `thresholds` the formulas, `_mixture` a proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector, as_number
from mislid.errors import ProblemError
from mislid.geometry._compile import inner, kernel
from mislid.geometry._linalg import cholesky, gram
from mislid.geometry._newton import SOLVED, STALLED
from mislid.geometry._search import (
    BELOW,
    CHALLENGERS,
    EXEMPT,
    PAIRS,
    PROJECTION,
    forget_means,
    search,
)
from mislid.rules import _thresholds as thresholds
from mislid.rules._mixture import Mixture, new_mixture, price_above
from mislid.rules._state import (
    ANSWERED,
    CHALLENGER,
    INCUMBENT,
    JUDGED,
    LAGGING,
    LAST_TEST,
    LEFT,
    PAIRED,
    SAMPLES,
    SEARCHED,
    STALLS,
    STATISTIC,
    TESTS,
    THRESHOLD,
    Setting,
    State,
    set_estimate,
)
from mislid.rules._wide import (
    ACCURACY,
    closest_unstructured,
    is_wide,
    leave_nothing_out,
    list_challengers,
    pair_cost,
)
from mislid.rules.thresholds import pair_constant

# After the samples have grown by this factor, the closest alternative is searched for again.
RENEWAL = 1.02
# Rules that have to learn the gaps take about so many times what one that knows them does.
PRACTICE = 1.4
# No search was needed.
OPEN = -1
HEURISTIC, PAPER, PAPER_PRINTED, MIXTURE, PAIRWISE, GUARANTEED = range(6)
CODES = {
    "heuristic": HEURISTIC,
    "paper": PAPER,
    "paper-printed": PAPER_PRINTED,
    "mixture": MIXTURE,
    "pairwise": PAIRWISE,
    "guaranteed": GUARANTEED,
}


class Stopping(NamedTuple):
    """A stopping rule with its constants and workspace."""

    code: int
    gamma: float  # tests are at least this factor apart in samples
    patience: int  # no test at so many samples or fewer
    log_inverse: float  # ln(1/delta), of the part of delta that a proof at the means may use
    pair_constant: float  # of a pair's threshold
    largest_square: float  # max_k |x_k|^2 / sigma_k^2, in spanner coordinates
    mixture: Mixture
    gram: Matrix  # (d, d)
    allowance: Vector  # (K,) of each arm in its pairs' thresholds


def new_stopping(setting: Setting, name: str, gamma: float = 1.0, patience: int = 0) -> Stopping:
    """The rule of this name, tested every round or, with gamma > 1, on a geometric grid."""
    if name not in CODES:
        raise ProblemError(f"stopping must be one of {', '.join(CODES)}; got {name!r}")
    code = CODES[name]
    K, d = setting.X.shape
    delta = 0.5 * setting.delta if code == GUARANTEED else setting.delta
    return Stopping(
        code=code,
        gamma=as_number(gamma, "gamma", low=1.0, high=math.inf),
        patience=patience,
        log_inverse=-math.log(delta),
        pair_constant=pair_constant(K, setting.m, delta),
        largest_square=float(np.max(np.sum(setting.X**2, axis=1) / setting.variance)),
        mixture=new_mixture(setting),
        gram=np.zeros((d, d)),
        allowance=np.zeros(K),
    )


@inner
def _record(state: State, statistic: float, threshold: float, i: int, j: int) -> None:
    state.evidence[STATISTIC] = statistic
    state.evidence[THRESHOLD] = threshold
    state.evidence[CHALLENGER] = i
    state.evidence[INCUMBENT] = j


@inner
def _is_explored(setting: Setting, stopping: Stopping, state: State) -> bool:
    """Whether V >= 2 L^2 I, in spanner coordinates and units of the noise, as beta_lin needs.

    Its proof works in any coordinates that are fixed beforehand, and needs this at the time of the
    test only. In these, 2 d rounds over the spanner are enough, however collinear the features.
    """
    square = stopping.gram
    gram(setting.X, stopping.mixture.spanner, stopping.mixture.rest, state.weights, square)
    for a in range(square.shape[0]):
        square[a, a] -= 2.0 * stopping.largest_square
    cholesky(square, square.shape[0])
    smallest = np.inf
    for a in range(square.shape[0]):
        smallest = min(smallest, square[a, a])
    return smallest > 1e-150  # what `cholesky` puts for a pivot that is not positive


@inner
def _paper_threshold(setting: Setting, stopping: Stopping, state: State) -> float:
    K, d = setting.X.shape
    t, information = float(state.clock[SAMPLES]), 0.0
    for k in range(K):
        information += state.weights[k]
    level = stopping.log_inverse
    beta = thresholds.unstructured(t, K, level)
    if stopping.code == PAPER_PRINTED:
        return min(beta, thresholds.printed_linear(t, d, setting.eps, information, level))
    linear = thresholds.linear(t, d, setting.eps, information, level)
    if linear < beta and _is_explored(setting, stopping, state):
        return linear
    return beta


@inner
def _threshold(setting: Setting, stopping: Stopping, state: State, cost: float) -> float:
    """What the cost of the closest alternative must exceed.

    That of a mixture may be an earlier one where the cost is below both.
    """
    if stopping.code == HEURISTIC:
        return thresholds.heuristic(float(state.clock[SAMPLES]), stopping.log_inverse)
    if stopping.code <= PAPER_PRINTED:
        return _paper_threshold(setting, stopping, state)
    surplus = cost - stopping.log_inverse
    price = price_above(setting.X, state.weights, state.means, surplus, stopping.mixture)
    return stopping.log_inverse + price


@inner
def _pair_threshold(stopping: Stopping, i: int, j: int) -> float:
    return stopping.pair_constant + stopping.allowance[i] + stopping.allowance[j]


@inner
def _left_by_pairs(setting: Setting, stopping: Stopping, state: State) -> float:
    """About how many measurements are left until every pair is settled by its own two arms.

    Arms of equal weight w at a gap settle their pair when gap^2 w / 4 reaches its threshold, and an
    arm is settled last with the nearest one of the other side.
    """
    at, incumbents = state.projected, state.incumbents
    lowest, highest = np.inf, -np.inf
    for b in range(incumbents.shape[0]):
        lowest = min(lowest, at[incumbents[b]])
    challengers = state.test.places[CHALLENGERS]
    for a in range(at.shape[0] - incumbents.shape[0]):
        highest = max(highest, at[challengers[a]])
    left = 0.0
    for k in range(at.shape[0]):
        gap = setting.tol + max(at[k] - highest, lowest - at[k])
        weight = 4.0 * _pair_threshold(stopping, k, k) / (gap * gap)
        left += max(weight * setting.variance[k] - state.counts[k], 0.0)
    return PRACTICE * left


@inner
def _test_pairs(setting: Setting, stopping: Stopping, state: State) -> bool:
    """Whether every pair is settled by its own two arms; settled ones become exempt."""
    space, incumbents, m = state.test, state.incumbents, setting.m
    challengers = space.places[CHALLENGERS]
    list_challengers(state.counts.shape[0], incumbents, challengers)
    for k in range(state.counts.shape[0]):
        stopping.allowance[k] = thresholds.arm_allowance(state.counts[k])
    least, settled = np.inf, 0
    for a in range(challengers.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            cost = pair_cost(state.means, state.weights, i, j, setting.tol)
            threshold = _pair_threshold(stopping, i, j)
            passed = cost >= threshold
            settled += passed
            space.pairs[EXEMPT, a * m + b] = passed
            if cost / threshold < least:
                least = cost / threshold
                _record(state, cost, threshold, i, j)
                state.doubted[LAGGING] = i
                state.doubted[LAGGING + 1] = j
    state.evidence[LEFT] = _left_by_pairs(setting, stopping, state)
    return settled == space.bounds.shape[0]


@inner
def is_due(stopping: Stopping, state: State) -> bool:
    """Whether it is time for a test."""
    samples = state.clock[SAMPLES]
    return samples > stopping.patience and samples > stopping.gamma * state.clock[LAST_TEST]


@inner
def _weigh(setting: Setting, stopping: Stopping, state: State, cost: float, i: int, j: int) -> bool:
    """Whether the closest alternative, of this cost and pair, is far enough.

    While `guaranteed` is undecided, the evidence is that of the proof nearer to its end: what the
    pair that lags behind has by its two arms alone, or what every open pair has by the mixture.
    Sampling aims at the one that is likely to end first; a mixture's evidence grows in proportion
    to the samples.
    """
    threshold = _threshold(setting, stopping, state, cost)
    answer = cost > threshold if stopping.code <= PAPER_PRINTED else cost >= threshold
    if stopping.code == GUARANTEED and not answer:
        if state.evidence[LEFT] < float(state.clock[SAMPLES]) * (threshold / cost - 1.0):
            state.clock[PAIRED] = state.clock[SAMPLES]
        if cost * state.evidence[THRESHOLD] < state.evidence[STATISTIC] * threshold:
            return False
    _record(state, cost, threshold, i, j)
    return answer


@inner
def _keep_doubt(state: State, given: Vector, i: int, j: int) -> None:
    """Keep the alternative just found."""
    below = state.test.arms[BELOW]
    for k in range(given.shape[0]):
        state.doubt[k] = given[k] - below[k]
    state.doubted[0] = i
    state.doubted[1] = j
    state.clock[SEARCHED] = state.clock[SAMPLES]


@inner
def _is_doubted(setting: Setting, stopping: Stopping, state: State, given: Vector) -> bool:
    """Whether the alternative found last is still too close: then no search is needed.

    Its cost is above that of the closest one, which is searched for again before long, so that the
    evidence is not overstated by much.
    """
    i, j = state.doubted[0], state.doubted[1]
    if setting.responds and stopping.code <= PAPER_PRINTED:
        return False  # the sampling rule would search for it in a moment
    if i < 0 or state.clock[SAMPLES] > RENEWAL * state.clock[SEARCHED]:
        return False
    reversed_ = False
    for b in range(state.incumbents.shape[0]):
        if state.incumbents[b] == i:
            return False
        reversed_ = reversed_ or state.incumbents[b] == j
    if not reversed_:
        return False
    if stopping.code == GUARANTEED:
        by_itself = pair_cost(state.means, state.weights, i, j, setting.tol)
        if by_itself >= _pair_threshold(stopping, i, j):
            return False
    cost = 0.0
    for k in range(given.shape[0]):
        cost += 0.5 * state.weights[k] * (given[k] - state.doubt[k]) ** 2
    return not _weigh(setting, stopping, state, cost, i, j)


@inner
def judge(setting: Setting, stopping: Stopping, state: State, testing: bool) -> bool:
    """Project the means, pick the incumbents and, if `testing`, test them.

    The nearest model in sum_k weights_k (.)^2 (the paper's estimation step); needs measurements of
    arms that span. A test looks for the closest alternative to the projected means, or to the
    empirical ones for a mixture, and leaves statistic, threshold and limiting pair in
    `state.evidence`. `guaranteed` has every pair settled by its own two arms or by the mixture,
    each with half of delta. A search that certifies nothing leaves the question open.
    """
    X, eps, weights, incumbents = setting.X, setting.eps, state.weights, state.incumbents
    code, tol, space, part = stopping.code, setting.tol, state.test, int(PROJECTION)
    state.clock[JUDGED] = state.clock[SAMPLES]
    if not np.isinf(eps):
        status = search(part, X, eps, state.means, weights, incumbents, tol, ACCURACY, space)[0]
        if status == STALLED:
            state.clock[STALLS] += 1
            return False
    set_estimate(setting, state)
    if not testing:
        return False
    state.clock[TESTS] += 1
    state.clock[LAST_TEST] = state.clock[SAMPLES]
    answer = (code == PAIRWISE or code == GUARANTEED) and _test_pairs(setting, stopping, state)
    if code == PAIRWISE:
        state.clock[PAIRED] = state.clock[SAMPLES]
    elif not answer:
        given, part = state.means, int(PAIRS)
        if code <= PAPER_PRINTED:
            eps += setting.widening
            given = state.projected
            forget_means(space)
        if _is_doubted(setting, stopping, state, given):
            status, cost, i, j = OPEN, 0.0, -1, -1
        elif is_wide(eps, given, tol):
            status, cost, i, j = closest_unstructured(given, weights, incumbents, tol, space)
        else:
            status, cost, _, i, j, _, _ = search(
                part, X, eps, given, weights, incumbents, tol, ACCURACY, space
            )
        if status == STALLED:
            state.clock[STALLS] += 1
        elif status == SOLVED:
            answer = _weigh(setting, stopping, state, cost, i, j)
            _keep_doubt(state, given, i, j)
            if code <= PAPER_PRINTED:
                state.clock[ANSWERED] = state.clock[SAMPLES]
    leave_nothing_out(space)
    return answer


@kernel
def estimate_and_test(setting: Setting, stopping: Stopping, state: State) -> bool:
    """`judge` for Python callers: a test, if one is due."""
    return judge(setting, stopping, state, is_due(stopping, state))
