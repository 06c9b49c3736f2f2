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
from mislid._kernels.linalg import times
from mislid._kernels.newton import STALLED, solve
from mislid._kernels.problem import (
    WORK,
    NewtonSpace,
    Problem,
    newton_space,
    set_centre,
    set_metric,
)
from mislid._kernels.search import MIDDLE, SearchSpace, search
from mislid.geometry.alternatives import RTOL, AlternativeSearch
from mislid.geometry.coordinates import coordinates

from .cases import Case, Floats

Arms = NDArray[np.int64]


@njit(nogil=True)
def _centre(
    X: Floats, means: Floats, w: Floats, fit: Floats, mu: Floats, space: NewtonSpace
) -> None:
    """Set the metric and take the weighted least squares fit (K,) off the means."""
    set_metric(X, w, space)
    set_centre(X, means, w, space, space.features[WORK])
    times(X, space.spanner, space.rest, space.features[WORK], fit)
    for k in range(w.shape[0]):
        mu[k] = means[k] - fit[k]


@njit(nogil=True)
def _solve_again(
    repeats: int,
    from_data: bool,
    X: Floats,
    eps: float,
    means: Floats,
    w: Floats,
    i: int,
    j: int,
    tol: float,
    theta: Floats,
    fit: Floats,
    mu: Floats,
    rtol: float,
    space: NewtonSpace,
) -> tuple[float, float, int]:
    """Solve one pair again and again from theta = 0; cost, bound and Newton steps of the last."""
    cost, bound, steps = 0.0, 0.0, 0
    for repeat in range(repeats):
        if from_data or repeat == 0:
            _centre(X, means, w, fit, mu, space)
        theta[:] = 0.0
        problem = Problem(X, eps, mu, w, i, j, tol + (fit[j] - fit[i]), 1.0)
        _, cost, bound, _, steps = solve(problem, theta, rtol, space)
    return cost, bound, steps


@njit(nogil=True)
def _search_again(
    repeats: int,
    X: Floats,
    eps: float,
    means: Floats,
    w: Floats,
    incumbents: Arms,
    tol: float,
    rtol: float,
    fit: Floats,
    mu: Floats,
    space: SearchSpace,
) -> tuple[float, int]:
    """Search again and again, forgetting all certificates in between; cost and solves."""
    cost, solves = 0.0, 0
    for _ in range(repeats):
        space.kept[:] = -1
        _centre(X, means, w, fit, mu, space.newton)
        space.features[MIDDLE] = space.newton.features[WORK]
        _, cost, _, _, _, _, solves = search(X, eps, means, w, incumbents, tol, rtol, space)
    return cost, solves


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
    """The pair problem of a case, in the coordinates that the model keeps for its features."""

    def __init__(self, case: Case, model: Model) -> None:
        K, d, X = model.K, model.d, coordinates(model).matrix
        self._arguments = (
            X, case.misspecification, case.means, case.weights,
            case.challenger, case.incumbent, case.tolerance, np.zeros(d),
            np.zeros(K), np.zeros(K), RTOL, newton_space(X),
        )  # fmt: skip
        self.cost, self.bound, self.steps = self._run(1, from_data=True)

    def _run(self, repeats: int, *, from_data: bool) -> tuple[float, float, int]:
        result: tuple[float, float, int] = _solve_again(repeats, from_data, *self._arguments)
        return result

    def seconds(self, repeats: int, *, from_data: bool) -> float:
        """Seconds of one solve in a compiled loop, with its own metric and centring or without."""
        begin = time.perf_counter()
        self._run(repeats, from_data=from_data)
        return (time.perf_counter() - begin) / repeats


class ColdSearch:
    """The search of a case with nothing remembered, in a workspace that is used again."""

    def __init__(self, case: Case, model: Model) -> None:
        incumbents = np.sort(np.array(case.incumbents, dtype=np.int64))
        self._space = _search_space(model, case.m, case.means, case.weights, incumbents)
        self._arguments = (
            coordinates(model).matrix, case.misspecification, case.means, case.weights,
            incumbents, case.tolerance, RTOL, np.zeros(model.K), np.zeros(model.K), self._space,
        )  # fmt: skip
        self.cost, self.solves = _search_again(1, *self._arguments)

    def seconds(self, repeats: int) -> float:
        """Seconds of one search in a compiled loop, with its own linear fit to start from."""
        begin = time.perf_counter()
        self.cost, self.solves = _search_again(repeats, *self._arguments)
        return (time.perf_counter() - begin) / repeats


class Sequence(NamedTuple):
    """Means and weights (T, K) and incumbents (T, m), sorted, call after call."""

    means: Floats
    weights: Floats
    incumbents: Arms


class Replay(NamedTuple):
    """Seconds a call of every block of calls, and each call's solves (T,) and answer (T, 2)."""

    seconds: list[float]
    solves: Arms
    pairs: Arms
    stalled: int


def replay(model: Model, m: int, sequence: Sequence, *, block: int) -> Replay:
    """Search along a sequence in compiled loops, `block` calls at a time."""
    X = coordinates(model).matrix
    space = _search_space(model, m, *(array[0] for array in sequence))
    T = len(sequence.means)
    pairs, solves = np.zeros((T, 2), np.int64), np.zeros(T, np.int64)
    stalled, seconds = 0, []
    # The empty part compiles the loop, outside the clock.
    for part in (slice(0, 0), *(slice(at, at + block) for at in range(0, T, block))):
        begin = time.perf_counter()
        stalled += _search_through(
            X, model.misspecification, *(array[part] for array in sequence), RTOL, space,
            pairs[part], solves[part],
        )  # fmt: skip
        seconds.append((time.perf_counter() - begin) / max(1, len(solves[part])))
    return Replay(seconds[1:], solves, pairs, stalled)


def _search_space(
    model: Model, m: int, means: Floats, weights: Floats, incumbents: Arms
) -> SearchSpace:
    """The workspace that the public search makes for itself at its first call."""
    public = AlternativeSearch(model, m)
    public._structured(means, weights, incumbents, 0.0)
    assert public._space is not None
    return public._space
