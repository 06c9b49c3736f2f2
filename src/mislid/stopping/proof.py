"""The proven stopping rule: every pair settled, at some time, by evidence centred at the null.

A measurement changes the evidence by two arms of few pairs; these are examined in every round. It
changes the evidence by the features of all pairs. Of these only the pair with the least evidence is
examined in every round, and all open pairs once that pair is settled or the samples have grown by
the factor RENEWAL.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import PerArm, Struct, inner, kernel
from mislid.geometry.linalg import copy
from mislid.geometry.two_arms import leave_nothing_out, list_challengers, pair_cost
from mislid.stopping.aims import most_overdue
from mislid.stopping.all_arms import (
    AllArms,
    Diagonal,
    forecast_all_arms,
    leave_out_settled,
    price_of_the_rest,
)
from mislid.stopping.equal import PAUSE, EveryNoise, call_hold, call_take
from mislid.stopping.evidence import Families, two_arm_evidence
from mislid.stopping.linear_fit import (
    LinearFit,
    aim_along,
    bend_to_tie,
    difference_of,
    evidence_along,
    fit_linear,
    growth_needed,
    lift_all,
    may_settle,
    set_volumes,
)
from mislid.stopping.state import (
    ALL_ARMS,
    EQUAL,
    LINEAR,
    NOTHING,
    TWO_ARMS,
    Setting,
    State,
    count_test,
    estimate,
    give_rows,
    is_of_the_answer,
    is_settled,
    record,
    settle,
)

# Samples of a rule that must learn the gaps, relative to one that knows them, approximately.
PRACTICE = 1.4
# The cost of a pair exceeds its evidence by about this when its two arms settle it.
TWO_ARMS_PRICE = 3.5
# All open pairs are examined again when the samples have grown by this factor.
RENEWAL = 1.01


class Proof(Struct):
    """The families of displacements; all other fields are workspace."""

    families: Families
    weights: PerArm  # counts / variance
    tested: PerArm  # counts at the last test
    overdue: PerArm  # logarithms of counts
    wanted: PerArm  # weights at which two arms have a cost of 1
    fit: LinearFit
    diagonal: Diagonal
    all_arms: AllArms
    scanned: int  # samples at the last scan of all open pairs
    open: int  # pairs that are not settled
    # Of the pair with least evidence by the features.
    cost: float
    threshold: float
    two_arms_total: float  # ln of the weight of a pair's displacements
    spread: EveryNoise  # for one unknown noise of all arms


def forget_tests(rule: Proof) -> None:
    """Forget past tests when the data are replaced; see also `forget_pairs`."""
    rule.tested[:] = 0.0
    rule.scanned, rule.diagonal.next, rule.spread.next = 0, 0.0, 0.0
    rule.all_arms.left, rule.all_arms.next = np.inf, 0.0


@inner
def _price_of_two_arms(rule: Proof) -> float:
    """An estimate of the cost at which two arms settle their pair."""
    return rule.families.level - rule.two_arms_total + TWO_ARMS_PRICE


@inner
def _left_by_two_arms(setting: Setting, rule: Proof, state: State) -> float:
    """An estimate of the measurements until every pair is settled by its own two arms.

    Two arms of equal weight w have the cost gap^2 w / 4. The last pair of an arm is that with the
    nearest arm of the other side. Fills `rule.wanted` with the weights at which the cost is 1.
    """
    at, incumbents = state.projected, state.incumbents
    lowest, highest = np.inf, -np.inf
    for b in range(incumbents.shape[0]):
        lowest = min(lowest, at[incumbents[b]])
    challengers = state.test.challengers
    for a in range(at.shape[0] - incumbents.shape[0]):
        highest = max(highest, at[challengers[a]])
    price, left = _price_of_two_arms(rule), 0.0
    for k in range(at.shape[0]):
        gap = setting.tol + max(at[k] - highest, lowest - at[k])
        rule.wanted[k] = 4.0 / (gap * gap)
        need = price * rule.wanted[k] * setting.variance[k]
        if setting.price[k] < np.inf:
            left += max(need - state.counts[k], 0.0)
        elif state.counts[k] < 0.5 * need:  # all measurements of the other arm are too few
            left = np.inf
    return PRACTICE * left


@inner
def is_enough(rule: Proof, state: State, cost: float, evidence: float, i: int, j: int) -> bool:
    """Settle and record a pair if its evidence is enough; whether it is."""
    if not evidence >= rule.families.level:  # NaN is not enough
        return False
    settle(state.settled, i, j, state.samples)
    price = cost - evidence if evidence < np.inf else 0.0
    record(state, cost, rule.families.level + price, i, j)
    return True


@inner
def _is_proved(
    setting: Setting,
    rule: Proof,
    state: State,
    cost: float,
    evidence: float,
    i: int,
    j: int,
    gap: float,
    width: float,
    curvature: float,
) -> bool:
    """As `is_enough`; with one unknown noise of all arms, at every possible noise.

    The evidence is that along the features, or by two arms if the width is negative.
    """
    level = rule.families.level
    if setting.noise_model == EQUAL and evidence >= level:
        family, unit = TWO_ARMS if width < 0.0 else LINEAR, setting.variance[0]
        claim = (family, i, j, gap, width / unit, curvature / (unit * unit))
        spread, volumes = rule.spread, rule.fit.half_volumes
        if not call_hold(spread.hold, spread, state.counts, claim, volumes, level):
            return False
        evidence = level
    return is_enough(rule, state, cost, evidence, i, j)


@kernel
def _look_at_two_arms(setting: Setting, rule: Proof, state: State, testing: bool) -> None:
    """Settle pairs by their own two arms; of the pairs that stay open, find the most overdue."""
    incumbents, challengers, m = state.incumbents, state.test.challengers, setting.m
    families, w, means = rule.families, rule.weights, state.means
    list_challengers(w.shape[0], incumbents, challengers)
    least, rule.open = np.inf, 0
    floor = families.level - rule.two_arms_total  # evidence is at most the cost
    for a in range(w.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            if is_settled(state.settled, i, j):
                continue
            cost = pair_cost(means, w, i, j, setting.tol)
            if testing and cost >= floor:
                changed = state.counts[i] != rule.tested[i] or state.counts[j] != rule.tested[j]
                gap = means[j] - means[i] + setting.tol
                if changed:
                    found = two_arm_evidence(families.two_arms, gap, w[i], w[j])
                    if _is_proved(setting, rule, state, cost, found, i, j, gap, -1.0, 0.0):
                        continue
            rule.open += 1
            overdue = cost + rule.overdue[i] + rule.overdue[j]
            least = most_overdue(setting, state, w, overdue, i, j, least)


@inner
def take_counts(setting: Setting, rule: Proof, state: State) -> None:
    """Set the weights, without phantom measurements, and the logarithms of counts."""
    for k in range(rule.weights.shape[0]):
        weight = state.counts[k] / setting.variance[k]
        if weight != rule.weights[k] or weight == 0.0:
            rule.weights[k] = weight
            rule.overdue[k] = math.log(max(state.counts[k], 0.5))


@kernel
def begin_round(setting: Setting, rule: Proof, state: State, testing: bool) -> bool:
    """Estimate the means and prepare a test; whether there is an estimate."""
    if not estimate(setting, state):
        state.aim = NOTHING
        return False
    if testing:
        count_test(state)
    take_counts(setting, rule, state)
    give_rows(state.settled, state.incumbents, state.samples)
    return True


@inner
def _record_two_arms(setting: Setting, rule: Proof, state: State) -> None:
    """Record the evidence of the lagging pair by its two arms."""
    i, j, w = state.lagging_challenger, state.lagging_incumbent, rule.weights
    cost = pair_cost(state.means, w, i, j, setting.tol)
    if w[i] > 0.0 and w[j] > 0.0:
        gap = state.means[j] - state.means[i] + setting.tol
        price = cost - two_arm_evidence(rule.families.two_arms, gap, w[i], w[j])
    else:
        price = TWO_ARMS_PRICE - rule.two_arms_total
    record(state, cost, rule.families.level + price, i, j)


@kernel
def _scan_along(setting: Setting, rule: Proof, state: State, testing: bool) -> None:
    """Settle pairs by the features; of the pairs that stay open, find that with least evidence."""
    fit, families, centre, w = rule.fit, rule.families, state.test.linear, rule.weights
    incumbents, challengers, m = state.incumbents, state.test.challengers, setting.m
    lift_all(setting, fit)
    state.linear_challenger, state.linear_incumbent, least = -1, -1, np.inf
    for a in range(w.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            if is_settled(state.settled, i, j):
                continue
            width, curvature, at_i, at_j = difference_of(setting, fit, i, j)
            beyond = (fit.values[j] - fit.values[i]) + (centre[j] - centre[i]) + setting.tol
            if setting.eps > 0.0:  # a part of the bias: that of the two arms
                beyond -= setting.eps * (abs(1.0 + w[i] * at_i) + abs(w[j] * at_j - 1.0))
            if testing and may_settle(
                families.linear, families.level, beyond, width, curvature, fit
            ):
                found = evidence_along(setting, w, state.test, families.linear, i, j, fit)
                beyond, cost = found[1], found[1] * found[1] / (2.0 * width)
                if _is_proved(setting, rule, state, cost, found[0], i, j, beyond, width, curvature):
                    rule.open -= 1
                    continue
            size = beyond / math.sqrt(max(width, 1e-300))
            if size < least or state.linear_challenger < 0:
                least = size
                state.linear_challenger, state.linear_incumbent = i, j


@inner
def _is_open(rule: Proof, state: State, i: int, j: int) -> bool:
    """Whether (i, j) is a pair of the present answer that is not settled."""
    return is_of_the_answer(state, i, j) and not is_settled(state.settled, i, j)


@inner
def _settle_the_rest(setting: Setting, rule: Proof, state: State) -> None:
    """Settle all open pairs."""
    for a in range(rule.weights.shape[0] - setting.m):
        for b in range(setting.m):
            i, j = state.test.challengers[a], state.incumbents[b]
            if not is_settled(state.settled, i, j):
                settle(state.settled, i, j, state.samples)
    rule.open = 0


@inner
def _is_still_near(setting: Setting, rule: Proof, state: State, testing: bool) -> bool:
    """Whether the last scan is recent, and its pair is open and lacks evidence."""
    i, j = state.linear_challenger, state.linear_incumbent
    if not testing or state.samples > RENEWAL * rule.scanned or not _is_open(rule, state, i, j):
        return False
    if state.aim != LINEAR:
        return True
    fit, families, w = rule.fit, rule.families, rule.weights
    if not fit_linear(setting, w, state.means, state.test, fit):
        return False
    set_volumes(families.linear, fit)
    found = evidence_along(setting, w, state.test, families.linear, i, j, fit)
    if found[0] >= families.level:
        return False
    rule.cost = max(found[1], 0.0) ** 2 / (2.0 * found[2])
    rule.threshold = families.level + rule.cost - found[0]
    return True


@inner
def _left_by_other_arms(setting: Setting, rule: Proof, state: State) -> float:
    """Estimate the remaining measurements without the fit; sets the aim to all arms if best."""
    left = _left_by_two_arms(setting, rule, state)
    if setting.eps == 0.0 or not setting.responds:  # no walls, or a rule that does not use the aim
        return left
    forecast_all_arms(
        setting,
        state,
        rule.families,
        rule.weights,
        rule.wanted,
        _price_of_two_arms(rule),
        left / PRACTICE,
        rule.diagonal,
        rule.all_arms,
    )
    if rule.all_arms.left == np.inf:
        return left
    state.aim = ALL_ARMS
    return PRACTICE * rule.all_arms.left


@kernel
def _look_along(setting: Setting, rule: Proof, state: State, testing: bool) -> bool:
    """Settle pairs by the features, and aim at the family that is likely to end first.

    Returns whether the measured arms span.
    """
    fit, families, w = rule.fit, rule.families, rule.weights
    state.aim = TWO_ARMS
    if not fit_linear(setting, w, state.means, state.test, fit):
        return False
    set_volumes(families.linear, fit)
    _scan_along(setting, rule, state, testing)
    if rule.open == 0:
        return True
    i, j = state.linear_challenger, state.linear_incumbent
    evidence, beyond, width, curvature = evidence_along(
        setting, w, state.test, families.linear, i, j, fit
    )
    if setting.eps > 0.0:
        gap = aim_along(setting, state.test, i, j, fit)[0]
        bend_to_tie(setting, w, state.test, i, j, gap, width, fit, rule.diagonal.alternative)
    factor = growth_needed(families.linear, families.level, beyond, width, curvature, fit)
    left = _left_by_other_arms(setting, rule, state)
    if (factor - 1.0) * state.samples < left:
        state.aim = LINEAR
        rule.cost = max(beyond, 0.0) ** 2 / (2.0 * width)
        rule.threshold = families.level + rule.cost - evidence
    return True


@inner
def _all_arms_hold(
    setting: Setting, rule: Proof, state: State, cost: float, threshold: float, scale: int
) -> bool:
    """Whether displacements of all arms are enough at every possible noise."""
    if setting.noise_model != EQUAL:
        return True
    spread, volumes, level = rule.spread, rule.fit.half_volumes, rule.families.level
    root = math.sqrt(cost * setting.variance[0])
    claim = (ALL_ARMS, scale, 0, root, threshold - level, 0.0)
    return call_hold(spread.hold, spread, state.counts, claim, volumes, level)


@kernel
def look_by_features(setting: Setting, rule: Proof, state: State, testing: bool) -> None:
    """Settle pairs by the features and by displacements of all arms, if a scan is due."""
    if _is_still_near(setting, rule, state, testing):
        return
    spans = _look_along(setting, rule, state, testing)
    if not testing or rule.open == 0 or not spans:
        return
    rule.scanned = state.samples
    families = rule.families
    if setting.eps > 0.0:
        cost, threshold, scale = price_of_the_rest(
            setting,
            state,
            rule.weights,
            families.diagonal,
            families.level,
            rule.diagonal,
        )
        if cost >= threshold and _all_arms_hold(setting, rule, state, cost, threshold, scale):
            record(state, cost, threshold, state.linear_challenger, state.linear_incumbent)
            _settle_the_rest(setting, rule, state)


@inner
def show_pair(setting: Setting, rule: Proof, state: State) -> None:
    """Record the pair that sampling aims at; if none is open, the pair that was settled last."""
    if rule.open > 0:
        if state.aim == LINEAR:
            i, j = state.linear_challenger, state.linear_incumbent
            record(state, rule.cost, rule.threshold, i, j)
        else:
            _record_two_arms(setting, rule, state)
        return
    last, i, j = 0, 0, 0
    for b in range(setting.m):
        times = state.settled.times[state.settled.rows[state.incumbents[b]]]
        for a in range(times.shape[0] - setting.m):
            if times[state.test.challengers[a]] > last:
                i, j = state.test.challengers[a], state.incumbents[b]
                last = times[i]
    if last < state.samples:  # its evidence was enough then, and may have changed since
        record(state, rule.families.level, rule.families.level, i, j)


@inner
def _take_noise(setting: Setting, rule: Proof, state: State, testing: bool) -> bool:
    """Estimate an unknown noise, if that is due; whether to examine all pairs with it."""
    spread = rule.spread
    if spread.next > 0.0 and (not testing or state.samples < spread.next):
        return False
    known = call_take(spread.take, setting, rule.families, spread, state)
    if testing:
        spread.next = PAUSE * state.samples
        for k in range(rule.tested.shape[0]):
            rule.tested[k] = -1.0
    return testing and known


@kernel
def judge_proof(setting: Setting, rule: Proof, state: State, testing: bool) -> bool:
    """Estimate the means and set the aim; if `testing`, say whether all pairs are settled."""
    looking = testing
    if setting.noise_model == EQUAL:
        looking = _take_noise(setting, rule, state, testing)
    if state.aim == ALL_ARMS:
        leave_nothing_out(state.test)
    if not begin_round(setting, rule, state, testing):
        return False
    _look_at_two_arms(setting, rule, state, looking)
    if looking:
        copy(state.counts, rule.tested)
    if np.isinf(setting.eps):
        state.aim = TWO_ARMS
    elif rule.open > 0:
        before = rule.open
        look_by_features(setting, rule, state, testing)
        if 0 < rule.open < before:  # the lagging pair may have been settled
            _look_at_two_arms(setting, rule, state, False)
    if state.aim == ALL_ARMS:
        leave_out_settled(setting, state, state.test)
    if testing:
        show_pair(setting, rule, state)
    return testing and rule.open == 0
