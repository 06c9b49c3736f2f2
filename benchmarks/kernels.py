"""What only private parts of the package tell: times of its kernels, and what an engine solved.

The loops here are kernels themselves, so that they show what a compiled caller pays.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid import Model
from mislid._jit import IndexTable, Indices, Matrix, Vector, inner, kernel
from mislid.engine import Engine
from mislid.geometry.alternatives import AlternativeSearch
from mislid.geometry.coordinates import coordinates
from mislid.geometry.linalg import fill, times
from mislid.geometry.newton import STALLED, newton_space, solve
from mislid.geometry.pair_solver import RTOL
from mislid.geometry.problem import NewtonSpace, call_set_metric, set_centre, set_problem
from mislid.geometry.search import SearchSpace, call_project, call_search

from .cases import Case, Floats
from .measuring import timed
from .sequences import Sequence

Arms = NDArray[np.int64]
LEVEL = 1.0  # of the means, whose rounding is tolerated


@inner
def _centre(means: Vector, w: Vector, theta: Vector, fit: Vector, space: NewtonSpace) -> None:
    """Set the metric and take the weighted least squares fit (K,) off the means."""
    call_set_metric(space.set_metric, w, space)
    set_centre(means, space, theta)
    times(space.X, space.spanner, space.rest, theta, fit)
    for k in range(w.shape[0]):
        space.mu[k] = means[k] - fit[k]


@kernel
def _solve_again(
    repeats: int,
    from_data: bool,
    eps: float,
    means: Vector,
    w: Vector,
    i: int,
    j: int,
    tol: float,
    theta: Vector,
    fit: Vector,
    rtol: float,
    space: NewtonSpace,
) -> tuple[float, float, int]:
    """Solve one pair again and again from theta = 0; cost, bound and Newton steps of the last."""
    cost, bound, steps = 0.0, 0.0, 0
    for repeat in range(repeats):
        if from_data or repeat == 0:
            _centre(means, w, theta, fit, space)
        fill(theta, 0.0)
        set_problem(i, j, eps, tol + (fit[j] - fit[i]), LEVEL, space)
        _, cost, bound, _, steps = solve(theta, rtol, space)
    return cost, bound, steps


@kernel
def _search_again(
    repeats: int,
    eps: float,
    means: Vector,
    w: Vector,
    incumbents: Indices,
    tol: float,
    rtol: float,
    space: SearchSpace,
) -> tuple[float, int]:
    """Search again and again, forgetting all certificates in between; cost and solves."""
    cost, solves = 0.0, 0
    for _ in range(repeats):
        for slot in range(space.kept_challenger.shape[0]):
            space.kept_challenger[slot] = -1
        call_set_metric(space.newton.set_metric, w, space.newton)
        set_centre(means, space.newton, space.middle)
        call_project(space.project, eps, means, w, rtol, space)
        _, cost, _, _, _, _, solves = call_search(space.search, eps, incumbents, tol, rtol, space)
    return cost, solves


@kernel
def _search_through(
    eps: float,
    means: Matrix,
    weights: Matrix,
    incumbents: IndexTable,
    rtol: float,
    space: SearchSpace,
    pairs: IndexTable,
    solves: Indices,
) -> int:
    """Search along a sequence; fills pairs (T, 2) and solves (T,), returns how many stalled."""
    stalled = 0
    for t in range(means.shape[0]):
        projected, _, _ = call_project(space.project, eps, means[t], weights[t], rtol, space)
        status, _, _, i, j, _, count = call_search(
            space.search, eps, incumbents[t], 0.0, rtol, space
        )
        pairs[t, 0], pairs[t, 1], solves[t] = i, j, count
        if projected == STALLED or status == STALLED:
            stalled += 1
    return stalled


class ColdPair:
    """The pair problem of a case, in the coordinates that the model keeps for its features."""

    def __init__(self, case: Case, model: Model) -> None:
        at = coordinates(model)
        self._arguments = (
            case.misspecification, case.means, case.weights, case.challenger, case.incumbent,
            case.tolerance, np.zeros(model.d), np.zeros(model.K), RTOL,
            newton_space(at.matrix, (at.basis, at.rest)),
        )  # fmt: skip
        self.cost, self.bound, self.steps = _solve_again(1, True, *self._arguments)

    def seconds(self, repeats: int, *, from_data: bool) -> float:
        """Seconds of one solve in a compiled loop, with its own metric and centring or without."""
        return timed(partial(_solve_again, repeats, from_data, *self._arguments)).wall / repeats


class ColdSearch:
    """The search of a case with nothing remembered, in a workspace that is used again."""

    def __init__(self, case: Case, model: Model) -> None:
        incumbents = np.sort(np.array(case.incumbents, dtype=np.int64))
        self._arguments = (
            case.misspecification, case.means, case.weights, incumbents, case.tolerance, RTOL,
            _search_space(model, case.m, case.means, case.weights, incumbents),
        )  # fmt: skip
        self.cost, self.solves = _search_again(1, *self._arguments)

    def seconds(self, repeats: int) -> float:
        """Seconds of one search in a compiled loop, with its own linear fit to start from."""
        return timed(partial(_search_again, repeats, *self._arguments)).wall / repeats


class Replay(NamedTuple):
    """Seconds a call of every block of calls, and each call's solves (T,) and answer (T, 2)."""

    seconds: list[float]
    solves: Arms
    pairs: Arms
    stalled: int


def replay(model: Model, m: int, sequence: Sequence, *, block: int) -> Replay:
    """Search along a sequence in compiled loops, `block` calls at a time."""
    space = _search_space(model, m, *(array[0] for array in sequence))
    T = len(sequence.means)
    pairs, solves = np.zeros((T, 2), np.int64), np.zeros(T, np.int64)
    stalled, seconds = 0, []
    # The empty part compiles the loop, or loads it, outside the clock.
    for part in (slice(0, 0), *(slice(at, at + block) for at in range(0, T, block))):
        some = (array[part] for array in sequence)
        done = (pairs[part], solves[part])
        search = partial(_search_through, model.misspecification, *some, RTOL, space, *done)
        found, wall, _ = timed(search)
        stalled += found
        seconds.append(wall / max(1, len(solves[part])))
    return Replay(seconds[1:], solves, pairs, stalled)


def _search_space(
    model: Model, m: int, means: Floats, weights: Floats, incumbents: Arms
) -> SearchSpace:
    """The workspace that the public search makes for itself at its first call."""
    public = AlternativeSearch(model, m)
    public._structured(means, weights, incumbents, 0.0)
    assert public._space is not None
    return public._space


def solved_by(engine: Engine) -> tuple[int, int, int]:
    """Rounds whose sampling rule answered an alternative; pairs solved to test, and to play."""
    state = engine._rules.state
    # Rules that do not play have one space for both.
    played = 0 if state.play is state.test else state.play.solved
    return state.rounds, state.test.solved, played


def below_in_game(engine: Engine) -> Floats:
    """The projected means minus the alternative that was answered last in a game (K,)."""
    return engine._rules.state.play.below.copy()
