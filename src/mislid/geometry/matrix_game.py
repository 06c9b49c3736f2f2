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
    """Mixtures w (A,) and q (n,), one after the other, and slacks r (A,) and s (n,) likewise."""

    mixtures: Vector
    slacks: Vector

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(self.mixtures + length * step.mixtures, self.slacks + length * step.slacks)

    def distance(self) -> float:
        """Between both levels."""
        return float(self.mixtures @ self.slacks)

    def room(self, step: _Point) -> float:
        """How much of a step, at most all of it, keeps everything positive."""
        return 1.0 / max(
            1.0, (-step.mixtures / self.mixtures).max(), (-step.slacks / self.slacks).max()
        )


def _follow_path(G: Table, tolerance: float) -> tuple[Vector, Vector]:
    n, columns = G.shape
    w, q = np.full(columns, 1.0 / columns), np.full(n, 1.0 / n)
    at, apart = _with_slacks(G, w, q, 0.1, 0.0)
    for _ in range(MOST_STEPS):
        if apart <= tolerance:
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ahead = _predicted_and_corrected(G, at)
        if ahead is None:
            break
        w, q = ahead.mixtures[:columns], ahead.mixtures[columns:]
        w, q = w / w.sum(), q / q.sum()
        at, apart = _with_slacks(G, w, q, 0.0, ahead.distance())
    return w, q


def _with_slacks(
    G: Table, w: Vector, q: Vector, share: float, distance: float
) -> tuple[_Point, float]:
    """Levels a `share` of both sides' distance beyond them, or as far apart as `distance`.

    Also how far apart both sides are.
    """
    reached, exposed = G @ w, q @ G
    low, high = float(reached.min()), float(exposed.max())
    size = max(abs(low), abs(high))
    apart = max(high - low, 1e-15 * size)
    beyond = max(share * max(apart, 1e-3 * size), 0.5 * (distance - apart), 1e-3 * apart)
    slacks = np.concatenate([high + beyond - exposed, reached - (low - beyond)])
    return _Point(np.concatenate([w, q]), slacks), high - low


def _predicted_and_corrected(G: Table, at: _Point) -> _Point | None:
    """Mehrotra's step; None where rounding allows no more."""
    distance = at.distance()
    try:
        newton = _Newton(G, at)
    except ArithmeticError:
        return None
    straight = newton.step(0.0)
    left = at.moved(straight, at.room(straight)).distance() / distance
    target = max(left**3, LEAST_TARGET) * distance / at.slacks.size
    step = newton.step(target - straight.mixtures * straight.slacks)
    ahead = at.moved(step, NEAR_WALL * at.room(step))
    return ahead if np.all(ahead.mixtures > 0.0) and np.all(ahead.slacks > 0.0) else None


class _Newton:
    """Newton's equations at a point, reduced to the columns' mixture and both levels.

    (R + G'DG) dw = b_w - du + G'(b_q + D dt), with D = q / s and R = r / w, where the mixtures'
    sums fix dt and du.
    """

    def __init__(self, G: Table, at: _Point) -> None:
        self._G, self._at, self._columns = G, at, G.shape[1]
        ratios = at.mixtures / at.slacks
        self._D = ratios[self._columns :]
        self._solve = _factorised((G.T * self._D) @ G, 1.0 / ratios[: self._columns])
        self._DG = DG = self._D @ G
        self._by_u, self._by_t = by_u, by_t = self._solve(np.stack([np.ones_like(DG), DG])).T
        self._sums = -by_u.sum(), by_t.sum(), DG @ by_u, self._D.sum() - DG @ by_t

    def step(self, target: Vector | float) -> _Point:
        """Towards w r and q s, one after the other, equal to the target, to first order."""
        G, columns, (a, b, c, d) = self._G, self._columns, self._sums
        mixtures, slacks = self._at
        towards_w = target / mixtures - slacks  # only its first part means something
        b_q = (target / slacks - mixtures)[columns:]
        dw = self._solve((towards_w[:columns] + b_q @ G)[None, :])[:, 0]
        e, f = -dw.sum(), self._DG @ dw - b_q.sum()
        determinant = a * d - b * c
        du, dt = (e * d - b * f) / determinant, (a * f - e * c) / determinant
        dw = dw + dt * self._by_t - du * self._by_u
        ds = G @ dw - dt
        dq = b_q - self._D * ds
        return _Point(np.concatenate([dw, dq]), np.concatenate([du - dq @ G, ds]))


def _factorised(matrix: Table, diagonal: Vector) -> Callable[[Matrix], Matrix]:
    """What solves with `matrix` + diag(`diagonal`), positive definite, for rows on the right."""
    from scipy.linalg.lapack import dpotrf, dpotrs
    from scipy.sparse import diags_array, issparse
    from scipy.sparse.linalg import splu

    if issparse(matrix):
        shifted = (matrix + diags_array(diagonal)).tocsc()
        try:
            factor = splu(
                shifted, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError as singular:
            raise ArithmeticError(str(singular)) from None
        return lambda rows: factor.solve(rows.T)
    matrix.flat[:: diagonal.size + 1] += diagonal
    factor, failed = dpotrf(matrix)
    if failed:
        raise ArithmeticError("not positive definite")
    return lambda rows: dpotrs(factor, rows.T)[0]
