"""Small zero-sum games by the simplex method: the mixture of columns that does best at worst."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mislid._jit import Indices, Matrix, Struct, Vector, for_python, inner, inner_loop
from mislid.geometry.linalg import fill

# Payoffs are moved and scaled to [1, 2]: what is below this is rounding.
ROUNDING = 1e-11
# Exchanges before the method turns from the steepest to the first column, which cannot cycle, and
# before it gives up, in numbers of rows and columns together.
STEEPEST, MOST = 4, 50


class ZeroSum(Struct):
    """A tableau of at most n rows and K columns, one more of each for constants.

    The row player wants sum q as large as A'q <= 1 allows; its multipliers are the columns' shares.
    """

    table: Annotated[Matrix, ("n1", "K1")]
    rows: Annotated[Indices, ("n",)]  # what each stands for: a row, or n plus a column
    columns: Annotated[Indices, ("K",)]


def new_zero_sum(n: int, K: int) -> ZeroSum:
    """Room for n rows and K columns."""
    return ZeroSum.zeros({"n": n, "K": K, "n1": n + 1, "K1": K + 1})


@inner
def _fill_table(payoffs: Matrix, n: int, game: ZeroSum) -> None:
    K, table = game.columns.shape[0], game.table
    low, high = np.inf, -np.inf
    for j in range(n):
        for k in range(K):
            low, high = min(low, payoffs[j, k]), max(high, payoffs[j, k])
    scale = 1.0 / (high - low) if high > low else 0.0
    for j in range(n):
        game.rows[j] = j
        table[j, K] = 1.0
        for k in range(K):
            table[j, k] = 1.0 + scale * (payoffs[j, k] - low)
    for k in range(K):
        game.columns[k] = n + k
        table[n, k] = 1.0
    table[n, K] = 0.0


@inner
def _entering(game: ZeroSum, n: int, steepest: bool) -> int:
    """The row to bring in: the one that gains most, or of those that gain the first; else -1."""
    K, best = game.columns.shape[0], -1
    for j in range(n):
        gain = game.table[j, K]
        if gain <= ROUNDING:
            continue
        if best < 0 or (gain > game.table[best, K] if steepest else game.rows[j] < game.rows[best]):
            best = j
    return best


@inner
def _leaving(game: ZeroSum, n: int, row: int) -> int:
    """The column that gives way: the first bound that the row meets."""
    table, best, nearest = game.table, -1, np.inf
    for k in range(game.columns.shape[0]):
        if table[row, k] <= ROUNDING:
            continue
        ratio = max(table[n, k], 0.0) / table[row, k]
        if ratio < nearest or (ratio == nearest and game.columns[k] < game.columns[best]):
            best, nearest = k, ratio
    return best


@inner_loop
def _exchange(table: Matrix, n: int, row: int, column: int) -> None:
    K = table.shape[1] - 1
    pivot = 1.0 / table[row, column]
    for j in range(n + 1):
        if j == row:
            continue
        share = table[j, column] * pivot
        for k in range(K + 1):
            if k != column:
                table[j, k] -= share * table[row, k]
        table[j, column] = share
    for k in range(K + 1):
        table[row, k] *= -pivot
    table[row, column] = pivot


@inner
def best_mixture(payoffs: Matrix, n: int, game: ZeroSum, shares: Vector) -> bool:
    """Fill shares (K,) with the z of the simplex with the largest min_j sum_k payoffs_jk z_k.

    Over the first n rows. False where the method did not end, and shares are of no use.
    """
    K, ended = game.columns.shape[0], False
    _fill_table(payoffs, n, game)
    for step in range(MOST * (n + K)):
        row = _entering(game, n, step < STEEPEST * (n + K))
        ended = row < 0
        if ended:
            break
        column = _leaving(game, n, row)
        if column < 0:
            break
        _exchange(game.table, n, row, column)
        game.rows[row], game.columns[column] = game.columns[column], game.rows[row]
    fill(shares, 0.0)
    total = 0.0
    for j in range(n):
        if game.rows[j] >= n:
            share = max(-game.table[j, K], 0.0)
            shares[game.rows[j] - n] = share
            total += share
    for k in range(K):
        shares[k] = shares[k] / total if total > 0.0 else 1.0 / K
    return ended


solve_zero_sum = for_python(best_mixture)
