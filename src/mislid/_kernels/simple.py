"""Sampling that does not look at the rewards: in turn, or along an allocation given beforehand."""

from __future__ import annotations

import numpy as np

from mislid._jit import PerArm, Struct, Vector, kernel
from mislid._kernels.rounds import least_measured
from mislid.stopping.state import Setting, State


class Uniform(Struct):
    """Every arm in turn: nothing to remember."""


class Fixed(Struct):
    """An allocation that is followed."""

    allocation: Vector  # (K,)
    by_sums: bool  # C-tracking instead of D-tracking
    tracked: PerArm  # sums of the allocations so far


@kernel
def uniform_arm(setting: Setting, rule: Uniform, state: State, uniform: float) -> int:
    """The arm with the fewest measurements, of several the first: every arm in turn.

    Drawing arms at random instead would only add to the variance of the counts.
    """
    return least_measured(state.counts)


@kernel
def fixed_arm(setting: Setting, rule: Fixed, state: State, uniform: float) -> int:
    """The arm whose count is farthest below its share of the allocation; never one of share zero.

    D-tracking (the default) compares the counts with (t + 1) allocation, so it makes up for the
    initial design. C-tracking compares with the sum of the allocations of the rounds so far, which
    starts after it.
    """
    total = state.samples + 1.0
    arm, lowest = -1, np.inf
    for k in range(state.counts.shape[0]):
        share = rule.allocation[k]
        rule.tracked[k] += share
        goal = rule.tracked[k] if rule.by_sums else total * share
        if share > 0.0 and (arm < 0 or state.counts[k] - goal < lowest):
            arm, lowest = k, state.counts[k] - goal
    return arm
