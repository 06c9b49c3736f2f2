"""Sampling that does not look at the rewards: in turn, or along an allocation given beforehand."""

from __future__ import annotations

import numpy as np

from mislid.geometry._compile import inner
from mislid.rules._plan import C_TRACKING, Memory, Plan
from mislid.rules._state import SAMPLES, State


@inner
def uniform_arm(state: State) -> int:
    """The arm with the fewest measurements, of several the first: every arm in turn.

    Drawing arms at random instead would only add to the variance of the counts.
    """
    arm = 0
    for k in range(state.counts.shape[0]):
        if state.counts[k] < state.counts[arm]:
            arm = k
    return arm


@inner
def fixed_arm(plan: Plan, state: State, memory: Memory) -> int:
    """The arm whose count is farthest below plan.allocation's share; never one of share zero.

    D-tracking (the default) compares the counts with (t + 1) allocation, so it makes up for the
    initial design. C-tracking compares with the sum of the allocations of the rounds so far, as in
    `memory.tracked`, which starts after it.
    """
    total = state.clock[SAMPLES] + 1.0
    arm, lowest = -1, np.inf
    for k in range(state.counts.shape[0]):
        share = plan.allocation[k]
        memory.tracked[k] += share
        goal = memory.tracked[k] if plan.tracking == C_TRACKING else total * share
        if share > 0.0 and (arm < 0 or state.counts[k] - goal < lowest):
            arm, lowest = k, state.counts[k] - goal
    return arm
