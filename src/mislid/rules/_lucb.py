"""LUCB for the m best arms (Kalyanakrishnan et al., 2012), which ignores the features.

Every arm has an interval around its empirical mean. Of the m arms with the best means the one with
the smallest lower bound, and of the others the one with the largest upper bound, are the two that a
decision hangs on; the one with the wider interval is measured. It stops by its own index, that
largest upper bound less that smallest lower one, once it is at most the tolerance.
"""

from __future__ import annotations

import math

import numpy as np

from mislid.geometry._compile import inner
from mislid.rules._plan import OWN_INDEX, OWN_THRESHOLD, Memory, Plan
from mislid.rules._select import mark_top
from mislid.rules._state import Setting, State


@inner
def interval(beta: float, variance: float, count: float, authors: bool) -> float:
    """Half the interval's length, sqrt(2 beta sigma^2 / N); infinite before the first measurement.

    The published runs had sigma beta^2 / (2 sqrt(N)), several times wider.
    """
    if count == 0.0:
        return np.inf
    if authors:
        return beta * beta / 2.0 * math.sqrt(variance / count)
    return math.sqrt(2.0 * beta * variance / count)


@inner
def lucb_arm(setting: Setting, plan: Plan, state: State, memory: Memory, beta: float) -> int:
    """The arm to measure next; scalars OWN_INDEX and OWN_THRESHOLD become LUCB's stopping test.

    With equal noise the wider interval is that of the arm with fewer measurements; of equally wide
    ones the incumbent's is taken. beta is the threshold at the current number of measurements.
    """
    flags, counts = state.work, state.counts
    mark_top(state.means, setting.m, state.heap, flags)
    incumbent, challenger = -1, -1
    lowest, highest = np.inf, -np.inf
    for k in range(counts.shape[0]):
        width = interval(beta, setting.variance[k], counts[k], plan.authors)
        if flags[k] > 0.0:
            if incumbent < 0 or state.means[k] - width < lowest:
                incumbent, lowest = k, state.means[k] - width
        elif challenger < 0 or state.means[k] + width > highest:
            challenger, highest = k, state.means[k] + width
    memory.scalars[OWN_INDEX] = highest - lowest
    memory.scalars[OWN_THRESHOLD] = setting.tol
    return challenger if state.weights[challenger] < state.weights[incumbent] else incumbent
