"""Stopping rules that are proved at the empirical means: by a mixture, by pairs, or by both.

`mixture` has the threshold of the first; a pair's own two arms have one of their own.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._kernels.compile import inner, kernel
from mislid._kernels.mixture import Mixture, new_mixture, price_above
from mislid._kernels.newton import SOLVED, STALLED
from mislid._kernels.state import Setting, State
from mislid._kernels.stopping import (
    closest,
    cost_of_doubt,
    count_test,
    estimate,
    is_doubt_valid,
    keep_doubt,
    record,
)
from mislid._kernels.structs import PerArm, Struct
from mislid._kernels.thresholds import arm_allowance
from mislid._kernels.two_arms import leave_nothing_out, list_challengers, pair_cost

# Rules that have to learn the gaps take about so many times what one that knows them does.
PRACTICE = 1.4


class Proof(Struct):
    """Which arguments settle a pair, and their constants."""

    by_pairs: bool
    by_mixture: bool
    log_inverse: float  # ln(1/delta), of the part of delta that the mixture may use
    pair_constant: float  # of a pair's threshold
    mixture: Mixture
    allowance: PerArm  # of each arm in its pairs' thresholds


def new_proof(
    setting: Setting, by_pairs: bool, by_mixture: bool, delta: float, pair_constant: float
) -> Proof:
    """The rule before the first measurement; `delta` is each argument's own."""
    return Proof.zeros(
        {"K": setting.X.shape[0]},
        by_pairs=by_pairs,
        by_mixture=by_mixture,
        log_inverse=-math.log(delta),
        pair_constant=pair_constant,
        mixture=new_mixture(setting),
    )


@inner
def _pair_threshold(rule: Proof, i: int, j: int) -> float:
    return rule.pair_constant + rule.allowance[i] + rule.allowance[j]


@inner
def _left_by_pairs(setting: Setting, rule: Proof, state: State) -> float:
    """About how many measurements are left until every pair is settled by its own two arms.

    Arms of equal weight w at a gap settle their pair when gap^2 w / 4 reaches its threshold, and an
    arm is settled last with the nearest one of the other side.
    """
    at, incumbents = state.projected, state.incumbents
    lowest, highest = np.inf, -np.inf
    for b in range(incumbents.shape[0]):
        lowest = min(lowest, at[incumbents[b]])
    challengers = state.test.challengers
    for a in range(at.shape[0] - incumbents.shape[0]):
        highest = max(highest, at[challengers[a]])
    left = 0.0
    for k in range(at.shape[0]):
        gap = setting.tol + max(at[k] - highest, lowest - at[k])
        weight = 4.0 * _pair_threshold(rule, k, k) / (gap * gap)
        left += max(weight * setting.variance[k] - state.counts[k], 0.0)
    return PRACTICE * left


@inner
def _test_pairs(setting: Setting, rule: Proof, state: State) -> bool:
    """Whether every pair is settled by its own two arms; settled ones become exempt."""
    space, incumbents, m = state.test, state.incumbents, setting.m
    challengers = space.challengers
    list_challengers(state.counts.shape[0], incumbents, challengers)
    for k in range(state.counts.shape[0]):
        rule.allowance[k] = arm_allowance(state.counts[k])
    least, settled = np.inf, 0
    for a in range(challengers.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            cost = pair_cost(state.means, state.weights, i, j, setting.tol)
            threshold = _pair_threshold(rule, i, j)
            passed = cost >= threshold
            settled += passed
            space.exempt[a * m + b] = passed
            if cost / threshold < least:
                least = cost / threshold
                record(state, cost, threshold, i, j)
                state.lagging_challenger, state.lagging_incumbent = i, j
    state.left = _left_by_pairs(setting, rule, state)
    return settled == space.bounds.shape[0]


@inner
def _is_far(setting: Setting, rule: Proof, state: State, cost: float, i: int, j: int) -> bool:
    """Whether the closest alternative, of this cost and pair, is far enough for the mixture.

    Its threshold may be an earlier one where the cost is below both. While two arguments are
    undecided, the evidence is that of the one nearer to its end: what the pair that lags behind has
    by its two arms alone, or what every open pair has by the mixture. Sampling aims at the one that
    is likely to end first; a mixture's evidence grows in proportion to the samples.
    """
    surplus = cost - rule.log_inverse
    price = price_above(setting.X, state.weights, state.means, surplus, rule.mixture)
    threshold = rule.log_inverse + price
    answer = cost >= threshold
    if rule.by_pairs and not answer:
        if state.left < float(state.samples) * (threshold / cost - 1.0):
            state.paired = state.samples
        if cost * state.threshold < state.statistic * threshold:
            return False
    record(state, cost, threshold, i, j)
    return answer


@inner
def _is_near(setting: Setting, rule: Proof, state: State) -> bool:
    """Whether the alternative found last is still too near: then no search is needed."""
    if not is_doubt_valid(state):
        return False
    i, j = state.doubt_challenger, state.doubt_incumbent
    if rule.by_pairs:
        by_itself = pair_cost(state.means, state.weights, i, j, setting.tol)
        if by_itself >= _pair_threshold(rule, i, j):
            return False
    return not _is_far(setting, rule, state, cost_of_doubt(state, state.means), i, j)


@inner
def _test_mixture(setting: Setting, rule: Proof, state: State) -> bool:
    """Whether every pair that is not exempt is settled by the mixture."""
    if _is_near(setting, rule, state):
        return False
    status, cost, i, j = closest(setting.eps, state.means, setting.tol, state)
    if status == STALLED:
        state.stalls += 1
    if status != SOLVED:
        return False
    answer = _is_far(setting, rule, state, cost, i, j)
    keep_doubt(state, state.means, i, j)
    return answer


@kernel
def judge_proof(setting: Setting, rule: Proof, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, say whether every pair is settled by one of the arguments.

    A search that certifies nothing leaves the question open.
    """
    if not estimate(setting, state) or not testing:
        return False
    count_test(state)
    answer = rule.by_pairs and _test_pairs(setting, rule, state)
    if not rule.by_mixture:
        state.paired = state.samples
    elif not answer:
        answer = _test_mixture(setting, rule, state)
    leave_nothing_out(state.test)
    return answer
