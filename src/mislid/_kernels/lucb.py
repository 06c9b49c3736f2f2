"""LUCB for the m best arms (Kalyanakrishnan et al., 2012), which ignores the features.

Every arm has an interval around its empirical mean. Of the m arms with the best means the one with
the smallest lower bound, and of the others the one with the largest upper bound, are the two that a
decision hangs on; the one with the wider interval is measured. It stops by its own index, that
largest upper bound less that smallest lower one, once it is at most the tolerance.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import PerArm, Struct, inner, kernel
from mislid._kernels import published
from mislid.geometry.order import mark_top
from mislid.stopping._thresholds import heuristic, logarithmic
from mislid.stopping.state import Setting, State, take_best


class Rival(Struct):
    """What LUCB, LinGapE and LinGIFA share: their own widths and stopping tests.

    A rule's own test is by its index from before the last measurement, as in the published runs,
    while the answer is with that measurement.
    """

    log_inverse: float  # ln(1/delta), of their widths
    growth: float  # widths by ln(1/delta) + growth ln(t + 1); 0 as below
    selective: bool  # whether pairs that are settled are not looked at
    index: float  # of the last choice


@inner
def beta_of(rule: Rival, state: State) -> float:
    """The threshold behind the widths: their own, or that of a stricter rule that is to stop them.

    With widths narrower than the stopping rule asks for they would leave arms alone too early, and
    hardly ever stop.
    """
    if rule.growth > 0.0:
        return logarithmic(float(state.samples), rule.log_inverse, rule.growth)
    return max(heuristic(float(state.samples), rule.log_inverse), state.threshold)


@inner
def interval(beta: float, variance: float, count: float, as_published: bool) -> float:
    """Half the length, sqrt(2 beta sigma^2 / N); infinite before the first measurement."""
    if count == 0.0:
        return np.inf
    if as_published:
        return published.lucb_width(beta, variance, count)
    return math.sqrt(2.0 * beta * variance / count)


@inner
def less_measured(state: State, challenger: int, incumbent: int) -> int:
    """Which of two arms has less weight; of equal ones the incumbent."""
    return challenger if state.weights[challenger] < state.weights[incumbent] else incumbent


@inner
def is_answer(setting: Setting, rule: Rival, state: State, scores: PerArm) -> bool:
    """Whether the index settles the question: then `incumbents` have the best of these scores."""
    if not rule.index <= setting.tol:
        return False
    take_best(state, scores)
    return True


class LUCB(Rival):
    """The index of the last choice, and which intervals."""

    published: bool  # those of the published runs


@kernel
def lucb_arm(setting: Setting, rule: LUCB, state: State, uniform: float) -> int:
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
def lucb_test(setting: Setting, rule: LUCB, state: State) -> bool:
    """Whether the index settles the question: then `incumbents` have the best empirical means."""
    return is_answer(setting, rule, state, state.means)
