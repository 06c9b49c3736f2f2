"""Uniform sampling: every arm in turn."""

from __future__ import annotations

from dataclasses import dataclass

from mislid._jit import Struct, kernel
from mislid.algorithms._rounds import least_measured
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.stopping.registry import Setup
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
def _compile(rule: Uniform, setup: Setup) -> CompiledSampling:
    return CompiledSampling(NoOptions(), uniform_arm)
