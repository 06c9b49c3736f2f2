"""PEPS (Li, Jamieson and Jain, 2024): a learner against alternatives drawn from the posterior."""

from __future__ import annotations

import numpy as np

from mislid._jit import kernel
from mislid._kernels.gains import set_slopes
from mislid._kernels.game import drawn
from mislid._kernels.learners import ADAHEDGE, Learners, allocate, learn
from mislid._kernels.posterior import Posterior, draw_alternative
from mislid.algorithms.random import stream_of
from mislid.stopping.state import Setting, State


class PEPS(Learners):
    """The learner, and the draw that it answers."""

    posterior: Posterior


def new_peps(K: int, d: int, draws: int) -> PEPS:
    """With nothing learnt."""
    return PEPS.zeros(
        {"K": K},
        learner=ADAHEDGE,
        cumulative=np.zeros((1, K)),
        gaps=np.zeros(1),
        taught=np.zeros(1),
        posterior=Posterior.zeros({"K": K, "d": d}, draws=draws),
    )


@kernel
def peps_arm(setting: Setting, rule: PEPS, state: State, uniform: float) -> int:
    """The arm to measure next, drawn from the learner's allocation; then the learner learns."""
    allocate(rule, 0)
    arm = drawn(rule.omega, uniform)
    if draw_alternative(setting, state, stream_of(uniform), 0, rule.posterior):
        set_slopes(setting, rule.posterior.shift, rule.gains)
        learn(rule, 0)
        state.rounds += 1
    return arm
