"""LinGIFA (Reda, Kaufmann, Delahaye-Duriez, 2021): gap indices focus the answer itself.

With B_ij = mean_i - mean_j + sqrt(2 beta) |x_i - x_j|_{V^-1} (paired indices, ridge regression as
in LinGapE), the score of arm j is the m-th largest B_ij over i != j: below zero it proves that
fewer than m arms are better. As in that paper's table of rules,
- the answer J are the m arms with the smallest scores;
- b is the arm of J with the largest score, c the arm outside J with the largest B_cb;
- it stops (the paper's UGapE rule) once the score of b is at most the tolerance;
- it measures the arm that most shortens x_b - x_c (greedy), or whichever of b and c has the larger
  |x|_{V^-1} (largest variance).
Equal values go to the first arm. That paper's code starts without measurements and with a ridge of
its own; here ridge and start are LinGapE's, so that the two differ in their rules only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, inner_loop
from mislid.geometry._heap import Indices
from mislid.rules._plan import OWN_INDEX, OWN_THRESHOLD, Memory
from mislid.rules._ridge import (
    INVERTED,
    UNCHANGED,
    Record,
    RidgeSpace,
    follow,
    most_reducing,
    new_ridge_space,
    squared_distance,
)
from mislid.rules._select import list_top, mark_top, nth_largest
from mislid.rules._state import Setting, State


class GapSpace(NamedTuple):
    """A regression with the distances of all pairs, which every score needs."""

    ridge: RidgeSpace
    distances: Matrix  # (K, K) |x_i - x_j|^2_{V^-1}; (0, 0) where nobody asks for scores
    scores: Vector  # (K,) negated, so that the answer has the largest
    row: Vector  # (K,) indices against one arm


def new_gap_space(setting: Setting, corner: Matrix, pairs: bool = True) -> GapSpace:
    """Before the first measurement; corner (d, d) as in `new_ridge_space`."""
    K = setting.X.shape[0] if pairs else 0
    scores, row = np.zeros((2, K))
    return GapSpace(new_ridge_space(setting, corner), np.zeros((K, K)), scores, row)


@inner_loop
def shrink_distances(column: Vector, scale: float, distances: Matrix) -> None:
    """Distances after V^-1 -= scale p p', where column_k = x_k'p, in O(K^2)."""
    K = column.shape[0]
    for i in range(K):
        for j in range(K):
            product = column[i] - column[j]
            distances[i, j] = max(distances[i, j] - scale * product * product, 0.0)


@inner
def update_distances(setting: Setting, record: Record, space: GapSpace) -> None:
    """Take in what was measured: O(K^2), or O(K^2 d) when the regression is inverted anew."""
    change = follow(setting, record, space.ridge)
    if change == INVERTED:
        for i in range(setting.X.shape[0]):
            for j in range(i + 1):
                square = squared_distance(setting.X, space.ridge.images, i, j)
                space.distances[i, j] = square
                space.distances[j, i] = square
    elif change != UNCHANGED:
        shrink_distances(space.ridge.column, change, space.distances)


@inner_loop
def fill_row(means: Vector, distances: Matrix, beta: float, j: int, row: Vector) -> None:
    """B_ij of all arms i; minus infinity for i = j."""
    for i in range(row.shape[0]):
        row[i] = means[i] - means[j] + math.sqrt(2.0 * beta * distances[j, i])
    row[j] = -np.inf


@inner
def score_arms(setting: Setting, record: Record, space: GapSpace, beta: float) -> None:
    """Take in what was measured and score every arm anew."""
    update_distances(setting, record, space)
    for j in range(setting.X.shape[0]):
        fill_row(space.ridge.means, space.distances, beta, j, space.row)
        space.scores[j] = -nth_largest(space.row, setting.m, space.ridge.heap)


@inner
def ambiguous_pair(space: GapSpace, beta: float) -> tuple[int, int]:
    """The arm b of the answer with the largest score, and its challenger c."""
    flags = space.ridge.flags
    b, c = -1, -1
    for k in range(flags.shape[0]):
        if flags[k] > 0.0 and (b < 0 or space.scores[k] < space.scores[b]):
            b = k
    fill_row(space.ridge.means, space.distances, beta, b, space.row)
    for k in range(flags.shape[0]):
        if flags[k] == 0.0 and (c < 0 or space.row[k] > space.row[c]):
            c = k
    return b, c


@inner
def lingifa_arm(
    setting: Setting, state: State, memory: Memory, space: GapSpace, beta: float, greedy: bool
) -> int:
    """The arm to measure next; scalars OWN_INDEX and OWN_THRESHOLD become LinGIFA's stopping test.

    beta is the threshold at the current number of measurements. O(K^2 log m) at worst.
    """
    score_arms(setting, Record(state.counts, state.weights, state.sums), space, beta)
    mark_top(space.scores, setting.m, space.ridge.heap, space.ridge.flags)
    b, c = ambiguous_pair(space, beta)
    memory.scalars[OWN_INDEX] = -space.scores[b]
    memory.scalars[OWN_THRESHOLD] = setting.tol
    if greedy:
        return most_reducing(setting, space.ridge, b, c)
    first, second = min(b, c), max(b, c)
    return second if space.ridge.squares[second] > space.ridge.squares[first] else first


@inner
def gap_answer(setting: Setting, state: State, space: GapSpace, beta: float, out: Indices) -> None:
    """Write LinGIFA's answer to out (m,), increasing."""
    score_arms(setting, Record(state.counts, state.weights, state.sums), space, beta)
    list_top(space.scores, space.ridge.heap, space.ridge.flags, out)
