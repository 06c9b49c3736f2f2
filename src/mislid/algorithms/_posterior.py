"""Draws from the posterior of the means, for rules that sample by Thompson's principle.

Means are drawn from normal distributions around the empirical ones and projected onto the tube.
Without misspecification that is the normal posterior of theta, and without features that of every
arm by itself; both are drawn directly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mislid._jit import PerArm, PerFeature, Struct, inner, kernel
from mislid.algorithms._options import Allowed, whole
from mislid.algorithms._random import normal
from mislid.algorithms._rounds import search_around
from mislid.algorithms.registry import Algorithm
from mislid.geometry.linalg import fill, times
from mislid.geometry.newton import STALLED
from mislid.geometry.search import aim_at_projection, project_means
from mislid.geometry.two_arms import ACCURACY, is_wide
from mislid.stopping.state import Setting, State

# An arm without measurements is believed to be as uncertain as one with so many.
AT_LEAST = 0.5


@dataclass(frozen=True)
class Drawing(Algorithm):
    """Base of rules that draw until a draw answers otherwise; they measure all arms once first."""

    draws: int = 100

    every_arm = True
    _permitted: ClassVar[dict[str, Allowed]] = {"draws": whole(0)}


class Posterior(Struct):
    """A draw."""

    draws: int  # at most so many for one that answers otherwise
    shift: PerArm  # the draw minus the estimate
    values: PerArm
    numbers: PerFeature


@inner
def _draw_theta(setting: Setting, state: State, key: np.uint64, at: int, drawn: Posterior) -> None:
    """X L^-T z for the Cholesky factor L of X' diag(weights) X, which the projection has left."""
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
    """How far values (K,) as uncertain as the empirical means are from these."""
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
def _most_likely_alternative(setting: Setting, state: State, drawn: Posterior) -> bool:
    """Fill `shift` with the way to the closest alternative; False where there is none to find."""
    aim_at_projection(state.weights, state.test, state.play)
    status, cost, _, _ = search_around(setting, state, state.weights, state.play)
    if status == STALLED or cost == np.inf:
        state.stalls += 1
        fill(drawn.shift, 0.0)
        return False
    for k in range(drawn.shift.shape[0]):
        drawn.shift[k] = -state.play.below[k]
    return True


@inner
def draw_alternative(
    setting: Setting, state: State, key: np.uint64, first: int, drawn: Posterior
) -> bool:
    """Fill `shift` with a draw that answers otherwise; where none comes, the most likely such.

    Draws number `first` and on. False where even that is not to be had.
    """
    for at in range(first, first + drawn.draws):
        if draw(setting, state, key, at, drawn) and answers_otherwise(setting, state, drawn.shift):
            return True
    return _most_likely_alternative(setting, state, drawn)
