"""Rules that ignore the values: uniform sampling, and the optimal allocation of the true means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mislid._jit import Struct, Vector, kernel
from mislid.algorithms.best_response import least_measured
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.errors import ProblemError
from mislid.geometry.time import characteristic_time
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State


@dataclass(frozen=True)
class Uniform(Algorithm):
    """Every arm in turn."""

    every_arm = True


class NoOptions(Struct):
    """No options and no memory."""


@kernel
def uniform_arm(setting: Setting, rule: NoOptions, state: State, uniform: float) -> int:
    """The arm with the fewest measurements, of several the first: every arm in turn.

    Drawing arms at random instead would only add to the variance of the counts.
    """
    return least_measured(state.counts)


@register({"uniform": Uniform()})
def _compile_uniform(rule: Uniform, setup: Setup) -> CompiledSampling:
    return CompiledSampling(NoOptions(), uniform_arm)


@dataclass(frozen=True)
class Oracle(Algorithm):
    """Track the optimal allocation of the true means, as a reference."""


class Fixed(Struct):
    """An allocation to follow."""

    allocation: Vector  # (K,)


@kernel
def fixed_arm(setting: Setting, rule: Fixed, state: State, uniform: float) -> int:
    """The arm whose count is farthest below (t + 1) allocation; never one of share zero.

    D-tracking: it makes up for the initial design.
    """
    total = state.samples + 1.0
    arm, lowest = -1, np.inf
    for k in range(state.counts.shape[0]):
        share = rule.allocation[k]
        behind = state.counts[k] - total * share
        if share > 0.0 and (arm < 0 or behind < lowest):
            arm, lowest = k, behind
    return arm


@register({"oracle": Oracle()})
def _compile_oracle(rule: Oracle, setup: Setup) -> CompiledSampling:
    truth, question = setup.truth, setup.question
    if truth is None:
        raise ProblemError("algorithm must not be 'oracle' where the true means are unknown")
    time = characteristic_time(
        truth.model, truth.means, question.m, noise=truth.noise, tolerance=question.tolerance
    )
    return CompiledSampling(Fixed(allocation=np.array(time.allocation)), fixed_arm)
