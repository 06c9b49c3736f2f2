"""PEPS (Li, Jamieson and Jain, 2024): a learner against alternatives drawn from the posterior.

Means are drawn from normal distributions around the empirical ones and projected onto the tube.
Without misspecification that is the normal posterior of theta, and without features that of each
arm; both are drawn directly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._jit import PerArm, PerFeature, Struct, inner, kernel
from mislid._validation import as_count
from mislid.algorithms._draws import drawn, normal, stream_of
from mislid.algorithms.best_response import set_slopes
from mislid.algorithms.game import Learners, allocate, learn
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.linalg import fill, times
from mislid.geometry.newton import STALLED
from mislid.geometry.search import aim_at_projection, project_means
from mislid.geometry.two_arms import ACCURACY, is_wide
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State, closest

# Number of measurements assumed for the uncertainty of an arm without any.
AT_LEAST = 0.5


@dataclass(frozen=True)
class PEPS(Algorithm):
    """PEPS (Li, Jamieson and Jain 2024): AdaHedge against alternatives drawn from the posterior.

    Attributes
    ----------
    draws
        Most draws a round. If none of them has another answer, the most likely alternative is used:
        the number of draws needed grows exponentially with the evidence.
    """

    every_arm = True

    draws: int = 100

    def __post_init__(self) -> None:
        as_count(self.draws, "draws", 0)


class Posterior(Struct):
    """A draw from the posterior, and its workspace."""

    draws: int  # most draws in a round
    shift: PerArm  # the draw minus the estimate
    values: PerArm
    numbers: PerFeature


@inner
def _draw_theta(setting: Setting, state: State, key: np.uint64, at: int, drawn: Posterior) -> None:
    """X L^-T z for the Cholesky factor L of X' diag(weights) X that the projection computed."""
    newton, z = state.test.newton, drawn.numbers
    d, L = z.shape[0], newton.factor
    for a in range(d):
        z[a] = normal(key, at * d + a)
    for a in range(d - 1, -1, -1):
        z[a] *= L[a, a]
        for c in range(a):
            z[c] -= L[a, c] * z[a]
    times(setting.X, newton.spanner, newton.rest, z, drawn.shift)


@inner
def _draw_values(setting: Setting, state: State, key: np.uint64, at: int, out: PerArm) -> None:
    """Fill out (K,) with normal errors of the empirical means."""
    K = out.shape[0]
    for k in range(K):
        # Weights have the variance that values show, where a stopping rule estimates it.
        weight = state.weights[k]
        variance = 1.0 / weight if weight > 0.0 else setting.variance[k] / AT_LEAST
        out[k] = math.sqrt(variance) * normal(key, at * K + k)


@kernel
def draw(setting: Setting, state: State, key: np.uint64, at: int, drawn: Posterior) -> bool:
    """Fill `shift` with draw number `at` of a stream; False where it could not be projected."""
    if setting.eps == 0.0:
        _draw_theta(setting, state, key, at, drawn)
        return True
    if is_wide(setting.eps, state.projected, setting.tol):
        _draw_values(setting, state, key, at, drawn.shift)
        return True
    _draw_values(setting, state, key, at, drawn.values)
    for k in range(drawn.values.shape[0]):
        drawn.values[k] += state.means[k]
    space = state.play
    status, _, _ = project_means(setting.eps, drawn.values, state.weights, ACCURACY, space)
    if status == STALLED:
        return False
    for k in range(drawn.shift.shape[0]):
        drawn.shift[k] = space.linear[k] + space.projected[k] - state.projected[k]
    return True


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
    """Fill `shift` with the closest alternative minus the estimate; False if none is found."""
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
    """Fill `shift` with a draw that has another answer or else with the closest alternative.

    False if there is no alternative.
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
