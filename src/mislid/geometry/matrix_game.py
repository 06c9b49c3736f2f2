"""Matrix games by an interior point method: mixtures of both players, far from vertices.

The value is max over w of min over q of q'Gw, for mixtures w (A,) of columns and q (n,) of rows.
With levels t < min_i (Gw)_i and u > max_k (G'q)_k all slacks are positive, and

    u - t = q's + w'r,    s = Gw - t,    r = u - G'q,

so every iterate proves both sides, and the steps follow q s = w r = const to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector

Chosen = NDArray[np.bool_]
# A matrix, dense or of SciPy's sparse arrays: both know @, * and .T.
Table = Any

# Rounds in which rows and columns are added, and how many beyond the number that is there.
MOST_ROUNDS, MOST_MORE = 50, 30
# Beyond so many steps rounding, not the method, keeps both sides apart.
MOST_STEPS = 60
# Tables with at most this share of entries other than zero are treated as sparse: without
# structure an alternative moves two arms.
SPARSE = 0.05
# How much of the way to the nearest wall a step goes, and how far ahead it aims at least.
NEAR_WALL, LEAST_TARGET = 0.95, 1e-3


class Parts(NamedTuple):
    """Rows (n,) and columns (A,) of a table that take part in its game, as far as is known."""

    rows: Chosen
    columns: Chosen


def solve_matrix_game(table: Matrix, tolerance: float, guess: Parts) -> tuple[Vector, Vector]:
    """Mixtures w (A,) of columns and q (n,) of rows whose sides differ by `tolerance` at most.

    A game has far fewer rows and columns that matter than others: the game of the guessed ones is
    solved, and those that it would have needed are added, until there are none. Rounding may leave
    more than `tolerance` between both sides, on tables whose entries differ by many orders.

    Examples
    --------
    >>> all_of_it = Parts(np.array([True, False]), np.array([True, True]))
    >>> w, q = solve_matrix_game(np.array([[3.0, 0.0], [0.0, 1.0]]), 1e-9, all_of_it)
    >>> w.round(6).tolist(), q.round(6).tolist()
    ([0.25, 0.75], [0.25, 0.75])
    """
    rows, columns = guess.rows.copy(), guess.columns.copy()
    q, w = np.zeros(rows.size), np.zeros(columns.size)
    for _ in range(MOST_ROUNDS):
        w[columns], q[rows] = _solve_part(table[np.ix_(rows, columns)], 0.5 * tolerance)
        reached, exposed = table @ w, q @ table
        too_low = np.min(reached[rows]) - 0.25 * tolerance - reached
        too_high = exposed - np.max(exposed[columns]) - 0.25 * tolerance
        missing = _worst(too_low, rows), _worst(too_high, columns)
        if not any(np.any(part) for part in missing):
            break
        rows |= missing[0]
        columns |= missing[1]
    return w, q


def _worst(excess: Vector, known: Chosen) -> Chosen:
    """The positive entries (n,), but not many more of them than are known already."""
    order = np.argsort(-excess, kind="stable")[: MOST_MORE + np.sum(known)]
    chosen: Chosen = np.zeros(excess.size, dtype=bool)
    chosen[order] = excess[order] > 0.0
    return chosen & ~known


def _solve_part(table: Matrix, tolerance: float) -> tuple[Vector, Vector]:
    from scipy.sparse import csr_array

    n, columns = table.shape
    if np.count_nonzero(table) <= SPARSE * table.size:
        return _follow_path(csr_array(table), tolerance)
    if n < columns:  # the same game with both players' roles exchanged
        q, w = _follow_path(-table.T, tolerance)
        return w, q
    return _follow_path(table, tolerance)


class _Point(NamedTuple):
    """Mixtures w (A,) and q (n,) with their slacks r (A,) and s (n,)."""

    w: Vector
    q: Vector
    r: Vector
    s: Vector

    def moved(self, step: _Point, length: float) -> _Point:
        w, q, r, s = (at + length * by for at, by in zip(self, step, strict=True))
        return _Point(w, q, r, s)

    def distance(self) -> float:
        """Between both levels."""
        return float(self.q @ self.s + self.w @ self.r)

    def room(self, step: _Point) -> float:
        """How much of a step, at most all of it, keeps everything positive."""
        ratios = [np.max(-by / at) for at, by in zip(self, step, strict=True)]
        return 1.0 / max(1.0, *ratios)


def _follow_path(G: Table, tolerance: float) -> tuple[Vector, Vector]:
    n, columns = G.shape
    at = _with_slacks(G, np.full(columns, 1.0 / columns), np.full(n, 1.0 / n), 0.1, 0.0)
    for _ in range(MOST_STEPS):
        if _sides_apart(at) <= tolerance:
            break
        ahead = _predicted_and_corrected(G, at)
        if ahead is None:
            break
        w, q = np.maximum(ahead.w, 0.0), np.maximum(ahead.q, 0.0)
        at = _with_slacks(G, w / w.sum(), q / q.sum(), 0.0, ahead.distance())
    return at.w, at.q


def _sides_apart(at: _Point) -> float:
    """max_k (G'q)_k - min_i (Gw)_i, which no slack makes larger."""
    return at.distance() - float(np.min(at.s)) - float(np.min(at.r))


def _with_slacks(G: Table, w: Vector, q: Vector, share: float, distance: float) -> _Point:
    """Levels a `share` of both sides' distance beyond them, or as far apart as `distance`."""
    reached, exposed = G @ w, q @ G
    low, high = float(np.min(reached)), float(np.max(exposed))
    size = max(abs(low), abs(high))
    apart = max(high - low, 1e-15 * size)
    beyond = max(share * max(apart, 1e-3 * size), 0.5 * (distance - apart), 1e-3 * apart)
    return _Point(w, q, high + beyond - exposed, reached - low + beyond)


def _predicted_and_corrected(G: Table, at: _Point) -> _Point | None:
    """Mehrotra's step; None where rounding allows no more."""
    from scipy.linalg import LinAlgError

    mean = at.distance() / (at.w.size + at.q.size)
    try:
        newton = _Newton(G, at)
        straight = newton.step(0.0, 0.0)
        left = at.moved(straight, at.room(straight)).distance() / at.distance()
        target = max(left**3, LEAST_TARGET) * mean
        step = newton.step(target - straight.w * straight.r, target - straight.q * straight.s)
    except (LinAlgError, RuntimeError):  # the latter says that a sparse matrix is singular
        return None
    if not all(np.all(np.isfinite(part)) for part in step):
        return None
    return at.moved(step, NEAR_WALL * at.room(step))


class _Newton:
    """Newton's equations at a point, reduced to the columns' mixture and both levels.

    (R + G'DG) dw = b_w - du + G'(b_q + D dt), with D = q / s and R = r / w, where the mixtures'
    sums fix dt and du.
    """

    def __init__(self, G: Table, at: _Point) -> None:
        self._G, self._at = G, at
        self._D = at.q / at.s
        self._solve = _factorised((G.T * self._D) @ G, at.r / at.w)
        self._DG = self._D @ G
        self._by_u, self._by_t = self._solve(np.stack([np.ones_like(at.w), self._DG], axis=1)).T

    def step(self, w_target: Vector | float, q_target: Vector | float) -> _Point:
        """Towards w r = w_target and q s = q_target, to first order."""
        G, at, by_u, by_t = self._G, self._at, self._by_u, self._by_t
        b_q = q_target / at.s - at.q
        dw = self._solve(w_target / at.w - at.r + b_q @ G)
        sums = np.array(
            [[-by_u.sum(), by_t.sum()], [self._DG @ by_u, self._D.sum() - self._DG @ by_t]]
        )
        du, dt = np.linalg.solve(sums, [-dw.sum(), self._DG @ dw - b_q.sum()])
        dw += dt * by_t - du * by_u
        ds = G @ dw - dt
        dq = b_q - self._D * ds
        return _Point(dw, dq, du - dq @ G, ds)


def _factorised(matrix: Table, diagonal: Vector) -> Callable[[Vector], Vector]:
    """What solves with `matrix` + diag(`diagonal`), which is positive definite."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse import diags_array, issparse
    from scipy.sparse.linalg import splu

    if issparse(matrix):
        shifted = (matrix + diags_array(diagonal)).tocsc()
        symmetric = {"SymmetricMode": True}
        solve: Callable[[Vector], Vector] = splu(
            shifted, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric
        ).solve
        return solve
    matrix.flat[:: diagonal.size + 1] += diagonal
    factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
    return lambda right: cho_solve(factor, right, check_finite=False)
