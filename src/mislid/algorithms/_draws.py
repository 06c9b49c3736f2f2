"""Random numbers by position, and draws from the posterior of the means.

The n-th decision of a run always uses the same random number. It depends on the key and on n alone,
so every process draws the same number, also after a crash.

Thompson sampling draws means from normal distributions around the empirical ones and projects them
onto the tube. Without misspecification that is the normal posterior of theta, and without features
that of each arm; both are drawn directly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._jit import PerArm, PerFeature, Struct, Vector, inner, kernel
from mislid._validation import as_count
from mislid.algorithms.registry import Algorithm
from mislid.geometry.linalg import times
from mislid.geometry.newton import STALLED
from mislid.geometry.search import project_means
from mislid.geometry.two_arms import ACCURACY, is_wide
from mislid.stopping.state import Setting, State

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inner
def uniform(key: np.uint64, position: int) -> float:
    """A number in [0, 1): SplitMix64 (Steele, Lea and Flood 2014) at `position` of stream `key`."""
    z = key + np.uint64(position + 1) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@inner
def normal(key: np.uint64, position: int) -> float:
    """A standard normal number at `position` of stream `key` (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * position)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * position + 1))


@inner
def stream_of(number: float) -> np.uint64:
    """A stream's key from a number in [0, 1), for decisions that need more than one."""
    return np.uint64(number * 2.0**53)


@inner
def drawn(omega: Vector, uniform: float) -> int:
    """The arm at position `uniform` in [0, 1) of the distribution omega (K,)."""
    total = 0.0
    last = 0
    for k in range(omega.shape[0]):
        if omega[k] > 0.0:
            last = k
            total += omega[k]
            if uniform < total:
                return k
    return last


# An arm without measurements counts as uncertain as one with so many.
AT_LEAST = 0.5


@dataclass(frozen=True)
class Drawing(Algorithm):
    """Base of rules that draw from the posterior until a draw has another answer."""

    draws: int = 100

    every_arm = True

    def __post_init__(self) -> None:
        as_count(self.draws, "draws", 0)


class Posterior(Struct):
    """A draw from the posterior, and its workspace."""

    draws: int  # at most so many for one that answers otherwise
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
