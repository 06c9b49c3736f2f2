"""LUCB (Kalyanakrishnan et al., 2012) and UGapE (Gabillon et al., 2012), which ignore the features.

Both choose the m best arms by the data. Of the two arms that are hardest to separate they measure
the one with the wider interval. They stop once their index is at most the tolerance.

LUCB. Every arm has an interval around its empirical mean. Of the m arms with the best means the one
with the smallest lower bound, and of the others the one with the largest upper bound, are the two;
the index is that largest upper bound less that smallest lower one.

UGapE. Every arm has an interval [L, U]. The score of arm k is the m-th largest upper bound of the
others minus its lower one; below zero, it proves that fewer than m arms are better. The answer J
are the m arms with the smallest scores; the arm of J with the smallest lower bound and the arm
outside with the largest upper one are the two. The index is the largest score in J.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._jit import PerArm, Struct, inner, kernel
from mislid.algorithms.best_response import less_measured
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.order import mark_top, nth_largest
from mislid.stopping.published import heuristic
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State, take_best


@dataclass(frozen=True)
class IndexRule(Algorithm):
    """Base of rules with an index and a stopping test by it; they measure all arms once first."""

    own_test = True
    every_arm = True


class Index(Struct):
    """Base of the structs of index rules: their widths and stopping tests.

    A rule's own test is by its index from before the last measurement, as in the published runs,
    while the answer is with that measurement.
    """

    log_inverse: float  # ln(1/delta) in the widths
    index: float  # index at the last choice


@inner
def beta_of(rule: Index, state: State) -> float:
    """The threshold in the widths: that of the rule, or of a stricter stopping rule.

    If widths were narrower than those of the stopping rule, arms would get too few measurements,
    and the rule would hardly ever stop.
    """
    return max(heuristic(float(state.samples), rule.log_inverse), state.threshold)


@inner
def interval(beta: float, variance: float, count: float, published: bool) -> float:
    """Half the length, sqrt(2 beta sigma^2 / N); infinite before the first measurement.

    LUCB's published intervals were sigma beta^2 / (2 sqrt(N)), several times wider.
    """
    if count == 0.0:
        return np.inf
    if published:
        return beta * beta / 2.0 * math.sqrt(variance / count)
    return math.sqrt(2.0 * beta * variance / count)


@inner
def is_answer(setting: Setting, rule: Index, state: State, scores: PerArm) -> bool:
    """Whether the index settles the question: then `incumbents` have the best of these scores."""
    if not rule.index <= setting.tol:
        return False
    take_best(state, scores)
    return True


def unchosen(setting: Setting) -> dict[str, float]:
    """Initial values of the fields of `Index`."""
    return {"log_inverse": -math.log(setting.delta), "index": math.inf}


@dataclass(frozen=True)
class LUCB(IndexRule):
    """LUCB on the empirical means.

    Attributes
    ----------
    authors
        Whether intervals have the width of the published runs instead of sqrt(2 beta / N).
    """

    authors: bool = False


class LUCBStruct(Index):
    """The index of the last choice, and the kind of intervals."""

    published: bool  # whether intervals are those of the published runs


@kernel
def lucb_arm(setting: Setting, rule: LUCBStruct, state: State, uniform: float) -> int:
    """The arm to measure next; `index` is for LUCB's own stopping test.

    With equal noise the wider interval is that of the arm with fewer measurements; of equally wide
    ones the incumbent's is taken.
    """
    beta = beta_of(rule, state)
    flags, counts = state.work, state.counts
    mark_top(state.means, setting.m, state.heap, flags)
    incumbent, challenger = -1, -1
    lowest, highest = np.inf, -np.inf
    for k in range(counts.shape[0]):
        width = interval(beta, setting.variance[k], counts[k], rule.published)
        if flags[k] > 0.0:
            if incumbent < 0 or state.means[k] - width < lowest:
                incumbent, lowest = k, state.means[k] - width
        elif challenger < 0 or state.means[k] + width > highest:
            challenger, highest = k, state.means[k] + width
    rule.index = highest - lowest
    return less_measured(state, challenger, incumbent)


@kernel
def lucb_test(setting: Setting, rule: LUCBStruct, state: State) -> bool:
    """Whether the index settles the question: then `incumbents` have the best empirical means."""
    return is_answer(setting, rule, state, state.means)


@register({"lucb": LUCB(), "lucb-authors": LUCB(authors=True)})
def _compile_lucb(rule: LUCB, setup: Setup) -> CompiledSampling:
    struct = LUCBStruct.zeros({}, published=rule.authors, **unchosen(setup.setting))
    return CompiledSampling(struct, lucb_arm, lucb_test)


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

    Of equally certain arms the incumbent is taken.
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
def _compile_ugape(rule: UGapE, setup: Setup) -> CompiledSampling:
    struct = UGapEStruct.zeros({"K": setup.question.K}, **unchosen(setup.setting))
    return CompiledSampling(struct, ugape_arm, ugape_test)
