"""What is known in the course of an identification, and how a measurement changes it.

One state serves the simulator's compiled loop and a person who measures by hand. Weights are counts
over squared noise, so that everything downstream is free of units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, kernel
from mislid.geometry._heap import Indices
from mislid.geometry._linalg import copy
from mislid.geometry._search import LINEAR, PROJECTED, SearchSpace, search_space
from mislid.rules._select import list_top

# Positions in State.clock: how often something was done, or the samples when it was done last.
# ROUNDS: the sampling rule answered an alternative. PAIRED: the proof likely to end first was that
# of pairs by their two arms alone.
SAMPLES, TESTS, LAST_TEST, ROUNDS, QUEUED, STALLS, JUDGED, ANSWERED, SEARCHED, PAIRED = range(10)
# Positions in State.evidence: of the last stopping test. LEFT: measurements until every pair is
# settled by its two arms alone, about.
STATISTIC, THRESHOLD, CHALLENGER, INCUMBENT, LEFT = range(5)
# Position in State.doubted.
LAGGING = 2


class Setting(NamedTuple):
    """What an identification is told and never changes."""

    X: Matrix  # (K, d) features in spanner coordinates
    basis: Indices  # (d,) the spanner's arms, X[basis] is the identity
    eps: float  # misspecification, may be infinite
    variance: Vector  # (K,) squared noise
    m: int
    tol: float  # tolerance
    delta: float
    largest_norm: float  # of the features as they were given (the paper's L)
    mean_bound: float  # bound on the means' absolute values (the paper's M), may be infinite
    phantom: float = 0.0  # measurements of value 0 that every arm is pretended to have had
    widening: float = 0.0  # of the tube, for alternatives to the projected means
    responds: bool = False  # whether the sampling rule uses the alternative of a stopping test


class State(NamedTuple):
    """What has been measured and estimated; arrays that the rules update in place."""

    clock: Indices  # (10,)
    counts: Vector  # (K,)
    sums: Vector  # (K,)
    weights: Vector  # (K,) counts / variance
    means: Vector  # (K,) empirical, 0 before the first measurement
    projected: Vector  # (K,) the nearest model; an arm without measurements at its linear value
    incumbents: Indices  # (m,) the m best of the projected means, increasing
    evidence: Vector  # (5,) of the last stopping test
    doubt: Vector  # (K,) the alternative that a stopping test found last
    doubted: Indices  # (4,) its challenger and incumbent; from LAGGING on, the pair that has least
    # of its threshold by its two arms alone. Every array here makes calls with a state dearer.
    test: SearchSpace  # of the projection, the stopping rule and best responses: these weights
    play: SearchSpace  # of the game: weights are an allocation / variance
    work: Vector  # (K,)
    heap: Indices  # (K,)


MOST_SLOTS = 256


def new_state(setting: Setting) -> State:
    """Nothing measured yet."""
    K = setting.X.shape[0]
    slots = max(1, min(setting.m * (K - setting.m), MOST_SLOTS, (1 << 23) // K))
    counts, sums, means, projected, doubt, work = np.zeros((6, K))
    return State(
        clock=np.zeros(PAIRED + 1, np.int64),
        counts=counts,
        sums=sums,
        weights=setting.phantom / setting.variance,
        means=means,
        projected=projected,
        incumbents=np.arange(setting.m, dtype=np.int64),
        evidence=np.zeros(LEFT + 1),
        doubt=doubt,
        doubted=np.full(LAGGING + 2, -1, np.int64),
        test=search_space(setting.X, setting.m, slots),
        play=search_space(setting.X, setting.m, slots),
        work=work,
        heap=np.zeros(K, np.int64),
    )


def begin_with(setting: Setting, state: State, counts: Vector, sums: Vector) -> None:
    """Let a state have these measurements, counts (K,) and sums (K,), and no past."""
    state.clock[:] = 0
    state.clock[SAMPLES] = int(counts.sum())
    state.evidence[:] = 0.0
    state.doubted[:] = -1
    state.counts[:], state.sums[:] = counts, sums
    state.weights[:] = (counts + setting.phantom) / setting.variance
    state.means[:] = sums / np.maximum(counts, 1.0)


@inner
def observe(setting: Setting, state: State, arm: int, reward: float) -> None:
    """Take in one measurement."""
    state.clock[SAMPLES] += 1
    state.counts[arm] += 1.0
    state.sums[arm] += reward
    state.weights[arm] = (state.counts[arm] + setting.phantom) / setting.variance[arm]
    state.means[arm] = state.sums[arm] / state.counts[arm]


@inner
def set_estimate(setting: Setting, state: State) -> None:
    """The projected means, after their search, and the m best of them as incumbents."""
    if np.isinf(setting.eps):
        copy(state.means, state.projected)
    else:
        arms = state.test.arms
        for k in range(state.projected.shape[0]):
            state.projected[k] = arms[LINEAR, k] + arms[PROJECTED, k]
    list_top(state.projected, state.heap, state.work, state.incumbents)


@kernel
def measure(setting: Setting, state: State, arm: int, reward: float) -> None:
    """`observe` for Python callers."""
    observe(setting, state, arm, reward)
