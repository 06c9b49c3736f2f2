"""UGapE (Gabillon, Ghavamzadeh and Lazaric, 2012) for the m best arms, without features.

Every arm has an interval [L, U] around its empirical mean. The score of arm k is the m-th largest
upper bound of the others less its own lower one: below zero it proves that fewer than m arms are
better. The answer J are the m arms with the smallest scores. Of the arm of J with the smallest
lower bound and the arm outside with the largest upper one, the less certain is measured. It stops
once the largest score in J is at most the tolerance.

LUCB differs in its answer only, which has the m best means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mislid._jit import PerArm, kernel
from mislid.algorithms._index_rules import (
    Index,
    IndexRule,
    beta_of,
    interval,
    is_answer,
    less_measured,
    unchosen,
)
from mislid.algorithms.registry import CompiledSampling, register
from mislid.geometry.order import mark_top, nth_largest
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State


@dataclass(frozen=True)
class UGapE(IndexRule):
    """UGapE (Gabillon, Ghavamzadeh and Lazaric 2012): gap indices of arms, without features."""


class UGapEStruct(Index):
    """Bounds and scores of the last choice."""

    upper: PerArm
    lower: PerArm
    scores: PerArm  # negated, so that the answer has the largest


@kernel
def score_arms(setting: Setting, rule: UGapEStruct, state: State) -> None:
    """Bounds and scores of all arms, in O(K log m).

    For one of the m largest upper bounds, the m-th largest of the others is the one after them.
    """
    beta, upper, m = beta_of(rule, state), rule.upper, setting.m
    K = upper.shape[0]
    for k in range(K):
        width = interval(beta, setting.variance[k], state.counts[k], False)
        upper[k] = state.means[k] + width
        rule.lower[k] = state.means[k] - width
    mark_top(upper, m, state.heap, state.work)
    last, following = nth_largest(upper, m, state.heap), nth_largest(upper, m + 1, state.heap)
    for k in range(K):
        rule.scores[k] = rule.lower[k] - (following if state.work[k] > 0.0 else last)


@kernel
def ugape_arm(setting: Setting, rule: UGapEStruct, state: State, uniform: float) -> int:
    """The arm to measure next; `index` is for UGapE's own stopping test.

    Of equally certain ones the incumbent is taken.
    """
    score_arms(setting, rule, state)
    flags = state.work
    mark_top(rule.scores, setting.m, state.heap, flags)
    incumbent, challenger, rule.index = -1, -1, -np.inf
    for k in range(flags.shape[0]):
        if flags[k] > 0.0:
            rule.index = max(rule.index, -rule.scores[k])
            if incumbent < 0 or rule.lower[k] < rule.lower[incumbent]:
                incumbent = k
        elif challenger < 0 or rule.upper[k] > rule.upper[challenger]:
            challenger = k
    return less_measured(state, challenger, incumbent)


@kernel
def ugape_test(setting: Setting, rule: UGapEStruct, state: State) -> bool:
    """Whether the index settled the question before the last measurement, with that answer."""
    return is_answer(setting, rule, state, rule.scores)


@register({"ugape": UGapE()})
def _compile(rule: UGapE, setup: Setup) -> CompiledSampling:
    struct = UGapEStruct.zeros({"K": setup.question.K}, **unchosen(setup.setting))
    return CompiledSampling(struct, ugape_arm, ugape_test)
