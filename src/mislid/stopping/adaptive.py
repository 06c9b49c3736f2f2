"""The proven stopping rule for undeclared noise: `proof` with other evidence by two arms.

Sampling follows estimates of the variances. An estimate from few values is raised: arms with few
values limit the evidence of their pairs, because their variance is uncertain.
"""

from __future__ import annotations

import numpy as np

from mislid._jit import inner, kernel
from mislid.geometry.linalg import copy
from mislid.geometry.two_arms import list_challengers, pair_cost
from mislid.stopping.aims import most_overdue
from mislid.stopping.bounded_noise import Tilts, at_tie_of_tilted, tilted_ceiling, tilted_evidence
from mislid.stopping.proof import (
    TWO_ARMS_PRICE,
    Proof,
    begin_round,
    is_enough,
    look_by_features,
    show_pair,
)
from mislid.stopping.state import BOUNDED, TWO_ARMS, UNKNOWN, Setting, State, is_settled, record
from mislid.stopping.unknown_noise import (
    Shifts,
    at_tie_of_shifted,
    shifted_ceiling,
    shifted_evidence,
)

# An estimated variance is the sample variance of n values times 1 + this / n.
FEW_GAUSSIAN, FEW_BOUNDED = 10.0, 4.0


class Adaptive(Proof):
    """The rule with the processes of single arms."""

    tilts: Tilts
    shifts: Shifts
    # The setting with estimated variances; along features, bounds on the noise from the range.
    guess: Setting


@inner
def _estimate_variances(setting: Setting, rule: Adaptive, state: State) -> None:
    """Set variances and weights by the present estimates of the noise."""
    variance, K = rule.guess.variance, state.counts.shape[0]
    unknown = setting.noise_model == UNKNOWN
    few = FEW_GAUSSIAN if unknown else FEW_BOUNDED
    pooled, freedom = 0.0, 0.0
    if unknown:
        for k in range(K):
            pooled += state.scatter[k]
            freedom += max(state.counts[k] - 1.0, 0.0)
        pooled = pooled / freedom if pooled > 0.0 else 1.0
    for k in range(K):
        n = state.counts[k]
        if unknown:
            found = (state.scatter[k] + pooled) / max(n, 1.0)
        elif setting.noise_model == BOUNDED:
            found = setting.width * setting.width * (state.scatter[k] + 0.25) / (n + 1.0)
        else:
            rate = (state.sums[k] + 0.5) / (n + 1.0)
            found = rate * (1.0 - rate)
        variance[k] = found * (1.0 + few / max(n, 1.0))
        state.weights[k] = n / variance[k]


@inner
def _tilted_arm(setting: Setting, state: State, k: int) -> tuple[float, float, float]:
    n = state.counts[k]
    total = (state.sums[k] - n * setting.low + state.lost[k]) / setting.width
    return n, min(max(total, 0.0), n), state.scatter[k]


@inner
def _shifted_arm(state: State, k: int) -> tuple[int, float, float, float]:
    return k, state.counts[k], state.means[k], state.scatter[k]


@inner
def _ceiling(setting: Setting, rule: Adaptive, state: State, i: int, j: int) -> float:
    """A quick upper bound on a pair's evidence by its two arms; 0 if one was never measured."""
    if state.counts[i] == 0.0 or state.counts[j] == 0.0:
        return 0.0
    if setting.noise_model == UNKNOWN:
        return shifted_ceiling(_shifted_arm(state, i), _shifted_arm(state, j), setting.tol)
    one, other = _tilted_arm(setting, state, i), _tilted_arm(setting, state, j)
    return tilted_ceiling(rule.tilts, one, other, setting.tol / setting.width)


@inner
def _evidence(
    setting: Setting, rule: Adaptive, state: State, i: int, j: int, level: float
) -> float:
    """A pair's evidence by its two arms, or any number below `level` if it is below `level`."""
    total = rule.two_arms_total
    if setting.noise_model == UNKNOWN:
        one, other = _shifted_arm(state, i), _shifted_arm(state, j)
        return total + shifted_evidence(rule.shifts, one, other, setting.tol, level - total)
    first, second = _tilted_arm(setting, state, i), _tilted_arm(setting, state, j)
    tol = setting.tol / setting.width
    return total + tilted_evidence(rule.tilts, first, second, tol, level - total)


@inner
def _about_evidence(setting: Setting, rule: Adaptive, state: State, i: int, j: int) -> float:
    """A quick estimate of a pair's evidence by its two arms."""
    if setting.noise_model == UNKNOWN:
        one, other = _shifted_arm(state, i), _shifted_arm(state, j)
        return rule.two_arms_total + at_tie_of_shifted(rule.shifts, one, other, setting.tol)
    first, second = _tilted_arm(setting, state, i), _tilted_arm(setting, state, j)
    tol = setting.tol / setting.width
    return rule.two_arms_total + at_tie_of_tilted(rule.tilts, first, second, tol)


@inner
def _look_at_pairs(setting: Setting, rule: Adaptive, state: State, testing: bool) -> None:
    """Settle pairs by their own two arms; of the pairs that stay open, find the most overdue."""
    incumbents, challengers, m = state.incumbents, state.test.challengers, setting.m
    level = rule.families.level
    list_challengers(state.counts.shape[0], incumbents, challengers)
    least, rule.open = np.inf, 0
    for a in range(state.counts.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            if is_settled(state.settled, i, j):
                continue
            cost = pair_cost(state.means, state.weights, i, j, setting.tol)
            changed = state.counts[i] != rule.tested[i] or state.counts[j] != rule.tested[j]
            if testing and changed:
                most = _ceiling(setting, rule, state, i, j) + rule.two_arms_total
                if most >= level and is_enough(
                    rule, state, cost, _evidence(setting, rule, state, i, j, level), i, j
                ):
                    continue
            rule.open += 1
            overdue = cost + rule.overdue[i] + rule.overdue[j]
            least = most_overdue(setting, state, state.weights, overdue, i, j, least)


@inner
def _show_pair(setting: Setting, rule: Adaptive, state: State) -> None:
    """Record the evidence of the lagging pair by its two arms, else as `show_pair`."""
    if rule.open == 0 or state.aim != TWO_ARMS:
        show_pair(setting, rule, state)
        return
    i, j, level = state.lagging_challenger, state.lagging_incumbent, rule.families.level
    cost = pair_cost(state.means, state.weights, i, j, setting.tol)
    price = TWO_ARMS_PRICE - rule.two_arms_total
    if cost > 0.0:
        price = cost - min(_about_evidence(setting, rule, state, i, j), level)
    record(state, cost, level + price, i, j)


@kernel
def judge_adaptive(setting: Setting, rule: Adaptive, state: State, testing: bool) -> bool:
    """Estimate the means and set the aim; if `testing`, say whether all pairs are settled."""
    _estimate_variances(setting, rule, state)
    if not begin_round(setting, rule, state, testing):
        return False
    _look_at_pairs(setting, rule, state, testing)
    if testing:
        copy(state.counts, rule.tested)
    if np.isinf(setting.eps) or setting.noise_model == UNKNOWN:
        state.aim = TWO_ARMS
    elif rule.open > 0:
        before = rule.open
        look_by_features(rule.guess, rule, state, testing)
        if 0 < rule.open < before:  # the lagging pair may have been settled
            _look_at_pairs(setting, rule, state, False)
    if testing:
        _show_pair(setting, rule, state)
    return testing and rule.open == 0
