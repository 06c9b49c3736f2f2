"""PEPS (Li, Jamieson and Jain, 2024): a learner against alternatives drawn from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mislid._jit import PerArm, inner, kernel
from mislid.algorithms._draws import Drawing, Posterior, draw, drawn, stream_of
from mislid.algorithms.best_response import set_slopes
from mislid.algorithms.game import Learners, allocate, learn
from mislid.algorithms.registry import CompiledSampling, register
from mislid.geometry.linalg import fill
from mislid.geometry.newton import STALLED
from mislid.geometry.search import aim_at_projection
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State, closest


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


@inner
def answers_otherwise(setting: Setting, state: State, shift: PerArm) -> bool:
    """Whether some challenger leads an incumbent, by the tolerance, at the shifted estimate."""
    lowest, highest, b = np.inf, -np.inf, 0
    for k in range(shift.shape[0]):
        value = state.projected[k] + shift[k]
        if b < setting.m and state.incumbents[b] == k:
            lowest = min(lowest, value)
            b += 1
        else:
            highest = max(highest, value)
    return highest > lowest + setting.tol


@inner
def _closest_alternative(setting: Setting, state: State, drawn: Posterior) -> bool:
    """Fill `shift` with the way to the closest alternative; False if the search finds none."""
    aim_at_projection(state.weights, state.test, state.play)
    status, cost, _, _ = closest(setting, state, state.weights, state.play)
    if status == STALLED or cost == np.inf:
        state.stalls += 1
        fill(drawn.shift, 0.0)
        return False
    for k in range(drawn.shift.shape[0]):
        drawn.shift[k] = -state.play.below[k]
    return True


@inner
def draw_alternative(setting: Setting, state: State, key: np.uint64, drawn: Posterior) -> bool:
    """Fill `shift` with a draw that answers otherwise or, without one, the most likely alternative.

    False where there is no alternative either.
    """
    for at in range(drawn.draws):
        if draw(setting, state, key, at, drawn) and answers_otherwise(setting, state, drawn.shift):
            return True
    return _closest_alternative(setting, state, drawn)


@kernel
def peps_arm(setting: Setting, rule: PEPSStruct, state: State, uniform: float) -> int:
    """The arm to measure next, drawn from the learner's allocation; then the learner learns."""
    allocate(rule, 0)
    arm = drawn(rule.omega, uniform)
    if draw_alternative(setting, state, stream_of(uniform), rule.posterior):
        set_slopes(setting, rule.posterior.shift, rule.gains)
        learn(rule, 0)
        state.rounds += 1
    return arm


@register({"peps": PEPS()})
def _compile(rule: PEPS, setup: Setup) -> CompiledSampling:
    K, d = setup.setting.X.shape
    struct = PEPSStruct.zeros(
        {"K": K},
        cumulative=np.zeros((1, K)),
        gaps=np.zeros(1),
        posterior=Posterior.zeros({"K": K, "d": d}, draws=rule.draws),
    )
    return CompiledSampling(struct, peps_arm, estimates=True, plays=True)
