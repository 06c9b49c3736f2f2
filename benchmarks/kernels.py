"""Compiled loops around the kernels: what a caller inside a compiled program pays for them.

The loops are compiled afresh in every process, so that they never run an outdated kernel.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mislid import Model
from mislid.geometry._newton import NewtonSpace, newton_space, set_metric, solve
from mislid.geometry._search import STALLED, SearchSpace, search
from mislid.geometry.alternatives import RTOL, AlternativeSearch
from mislid.geometry.coordinates import coordinates

from .cases import Case, Floats

Arms = NDArray[np.int64]


@njit(nogil=True)
def _solve_again(
    times: int,
    X: Floats,
    eps: float,
    mu: Floats,
    w: Floats,
    i: int,
    j: int,
    tol: float,
    theta: Floats,
    start: Floats,
    rtol: float,
    space: NewtonSpace,
) -> tuple[float, float, int]:
    """Solve one pair `times` times from theta = 0; cost, bound and Newton steps of the last."""
    cost, bound, steps = 0.0, 0.0, 0
    for _ in range(times):
        theta[:] = 0.0
        set_metric(X, w, space.metric)
        _, cost, bound, _, steps = solve(X, eps, mu, w, i, j, tol, theta, start, rtol, space)
    return cost, bound, steps


@njit(nogil=True)
def _search_through(
    X: Floats,
    eps: float,
    means: Floats,
    weights: Floats,
    incumbents: Arms,
    rtol: float,
    space: SearchSpace,
    pairs: Arms,
    solves: Arms,
) -> int:
    """Search along a sequence; fills pairs (T, 2) and solves (T,), returns how many stalled."""
    stalled = 0
    for t in range(means.shape[0]):
        status, _, _, i, j, _, count = search(
            X, eps, means[t], weights[t], incumbents[t], 0.0, rtol, space
        )
        pairs[t, 0], pairs[t, 1], solves[t] = i, j, count
        if status == STALLED:
            stalled += 1
    return stalled


class ColdPair:
    """The pair problem of a case in the kernel's coordinates, centred as the peers' data are."""

    def __init__(self, case: Case, model: Model) -> None:
        X = coordinates(model).matrix
        linear = _linear_fit(X, case.means, case.weights)
        i, j = case.challenger, case.incumbent
        self._arguments = (
            X,
            case.misspecification,
            case.means - linear,
            case.weights,
            i,
            j,
            case.tolerance + (linear[j] - linear[i]),
            np.zeros(model.d),
            np.zeros(model.d),
            RTOL,
            newton_space(model.K, model.d),
        )
        self.cost, self.bound, self.steps = self._run(1)

    def _run(self, times: int) -> tuple[float, float, int]:
        result: tuple[float, float, int] = _solve_again(times, *self._arguments)
        return result

    def seconds(self, times: int) -> float:
        """Seconds of one solve, from `times` of them in a compiled loop."""
        begin = time.perf_counter()
        self._run(times)
        return (time.perf_counter() - begin) / times


class Sequence(NamedTuple):
    """Means and weights (T, K) and incumbents (T, m), sorted, call after call."""

    means: Floats
    weights: Floats
    incumbents: Arms


class Replay(NamedTuple):
    """What a compiled program pays along a sequence, a call, and the pairs (T, 2) it found."""

    seconds: float
    solves: Arms
    pairs: Arms
    stalled: int


def replay(model: Model, m: int, sequence: Sequence, *, skip: int = 0) -> Replay:
    """Search along a sequence in a compiled loop; the first `skip` calls are not timed."""
    X = coordinates(model).matrix
    space = _search_space(model, m, *(array[0] for array in sequence))
    T = len(sequence.means)
    pairs, solves = np.zeros((T, 2), np.int64), np.zeros(T, np.int64)
    stalled, seconds = 0, 0.0
    for part in (slice(0, skip), slice(skip, T)):
        begin = time.perf_counter()
        stalled += _search_through(
            X,
            model.misspecification,
            *(array[part] for array in sequence),
            RTOL,
            space,
            pairs[part],
            solves[part],
        )
        seconds = time.perf_counter() - begin
    return Replay(seconds / (T - skip), solves, pairs, stalled)


def _search_space(
    model: Model, m: int, means: Floats, weights: Floats, incumbents: Arms
) -> SearchSpace:
    """The workspace that the public search makes for itself at its first call."""
    public = AlternativeSearch(model, m)
    public._structured(means, weights, incumbents, 0.0)
    assert public._space is not None
    return public._space


def _linear_fit(X: Floats, means: Floats, weights: Floats) -> Floats:
    """Means (K,) of the weighted least squares fit."""
    root = np.sqrt(weights)
    theta, *_ = np.linalg.lstsq(root[:, None] * X, root * means)
    fit: Floats = X @ theta
    return fit
