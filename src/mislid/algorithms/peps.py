"""PEPS (Li, Jamieson and Jain, 2024): a learner against alternatives drawn from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mislid._jit import kernel
from mislid.algorithms._gains import set_slopes
from mislid.algorithms._learners import ADAHEDGE, Learners, allocate, learn
from mislid.algorithms._posterior import Drawing, Posterior, draw_alternative
from mislid.algorithms._random import drawn, stream_of
from mislid.algorithms.registry import CompiledSampling, register
from mislid.stopping.registry import Setup
from mislid.stopping.state import Setting, State


@dataclass(frozen=True)
class PEPS(Drawing):
    """PEPS (Li, Jamieson and Jain 2024): AdaHedge against alternatives drawn from the posterior.

    Attributes
    ----------
    draws
        At most so many a round until one answers otherwise; then the most likely one that does
        takes its place. The number that would be needed grows exponentially with the evidence.
    """


class PEPSStruct(Learners):
    """The learner, and the draw that it answers."""

    posterior: Posterior


@kernel
def peps_arm(setting: Setting, rule: PEPSStruct, state: State, uniform: float) -> int:
    """The arm to measure next, drawn from the learner's allocation; then the learner learns."""
    allocate(rule, 0)
    arm = drawn(rule.omega, uniform)
    if draw_alternative(setting, state, stream_of(uniform), 0, rule.posterior):
        set_slopes(setting, rule.posterior.shift, rule.gains)
        learn(rule, 0)
        state.rounds += 1
    return arm


@register({"peps": PEPS()})
def _compile(rule: PEPS, setup: Setup) -> CompiledSampling:
    K, d = setup.setting.X.shape
    struct = PEPSStruct.zeros(
        {"K": K},
        learner=ADAHEDGE,
        cumulative=np.zeros((1, K)),
        gaps=np.zeros(1),
        taught=np.zeros(1),
        posterior=Posterior.zeros({"K": K, "d": d}, draws=rule.draws),
    )
    return CompiledSampling(struct, peps_arm, estimates=True, plays=True)
