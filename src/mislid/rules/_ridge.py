"""Ridge regression along a run: what LinGapE and LinGIFA estimate with.

Of the regularised information V = ridge + sum_k N_k x_k x_k' / sigma_k^2 only the inverse is kept,
as the images p_k = V^-1 x_k of all arms: they give estimates, and distances between arms as
|x_i - x_j|^2_{V^-1} = (x_i - x_j)'(p_i - p_j) in O(d), without the cancellation of
|x_i|^2 + |x_j|^2 - 2 x_i'V^-1 x_j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, inner_loop
from mislid.geometry._heap import Indices
from mislid.geometry._linalg import (
    add_gram,
    cholesky,
    cholesky_solve,
    copy,
    copy_matrix,
    times,
    transposed_times,
)
from mislid.rules._select import list_top
from mislid.rules._state import Setting, State

# Rank-one updates between two inversions, so that their rounding does not add up.
PERIOD = 128
# What a measurement may add to the information in its direction, relative to what was there,
# before an update would lose digits.
LARGEST_STEP = 0.5
# Results of `follow` other than the scale of a rank-one update.
UNCHANGED, INVERTED = 0.0, -1.0


class Record(NamedTuple):
    """The part of a `State` that the regression reads; the whole takes long to compile."""

    counts: Vector  # (K,)
    weights: Vector  # (K,)
    sums: Vector  # (K,)


class RidgeSpace(NamedTuple):
    """The regression's state and workspace; `follow` brings it up to date with the measurements."""

    ridge: Matrix  # (d, d) in spanner coordinates, in units of information
    counts: Vector  # (K,) measurements that `images` contain
    images: Matrix  # (K, d) rows V^-1 x_k
    means: Vector  # (K,) estimates x_k'theta
    squares: Vector  # (K,) |x_k|^2_{V^-1}
    column: Vector  # (K,) x_k'V^-1 x_a for the arm a of a rank-one update, before it; scratch later
    flags: Vector  # (K,) one for incumbents
    totals: Vector  # (K,) rewards over squared noise
    moment: Vector  # (d,) X' totals
    factor: Matrix  # (d, d) of V, when it is inverted
    direction: Vector  # (d,)
    image: Vector  # (d,)
    heap: Indices  # (K,)
    updates: Indices  # (1,) since the last inversion
    nobody: Indices  # (0,) arms on which a matrix is known to be the identity: none
    everyone: Indices  # (K,)


def new_ridge_space(setting: Setting, corner: Matrix) -> RidgeSpace:
    """Before the first measurement; corner (d, d) are the features of the arms in setting.basis.

    The published rule regularises by the identity in the coordinates of the features as they are
    given and with noise 1, V = I + sum phi phi', so its behaviour depends on their units. With
    phi = corner'x that ridge is (corner corner')^-1. It counts in units of the mean precision
    1 / sigma_k^2 of the arms, which makes the rule free of the rewards' units.
    """
    K, d = setting.X.shape
    inverse = np.linalg.inv(corner)
    means, squares, column, flags, totals = np.zeros((5, K))
    moment, direction, image = np.zeros((3, d))
    return RidgeSpace(
        ridge=np.ascontiguousarray(inverse.T @ inverse * np.mean(1.0 / setting.variance)),
        counts=np.full(K, -1.0),
        images=np.zeros((K, d)),
        means=means,
        squares=squares,
        column=column,
        flags=flags,
        totals=totals,
        moment=moment,
        factor=np.zeros((d, d)),
        direction=direction,
        image=image,
        heap=np.zeros(K, np.int64),
        updates=np.zeros(1, np.int64),
        nobody=np.zeros(0, np.int64),
        everyone=np.arange(K, dtype=np.int64),
    )


@inner
def invert(X: Matrix, weights: Vector, space: RidgeSpace) -> None:
    """Compute the images from scratch, in O(K d^2)."""
    copy_matrix(space.ridge, space.factor)
    add_gram(X, space.nobody, space.everyone, weights, space.factor)
    cholesky(space.factor, space.image.shape[0])
    K, d = X.shape
    for k in range(K):
        for a in range(d):
            space.direction[a] = X[k, a]
        cholesky_solve(space.factor, space.image.shape[0], space.direction, space.image)
        for a in range(d):
            space.images[k, a] = space.image[a]


@inner_loop
def apply_measurement(X: Matrix, arm: int, gained: float, space: RidgeSpace) -> float:
    """The images after V += gained x x' for the arm's x, in O(K d); returns the update's scale.

    Sherman-Morrison: V^-1 -= scale p p' with p = V^-1 x and scale = gained / (1 + gained x'p).
    """
    K, d = X.shape
    for a in range(d):
        space.image[a] = space.images[arm, a]
    times(X, space.nobody, space.everyone, space.image, space.column)
    scale = gained / (1.0 + gained * space.column[arm])
    for k in range(K):
        step = scale * space.column[k]
        for a in range(d):
            space.images[k, a] -= step * space.image[a]
    return scale


@inner
def update_images(setting: Setting, record: Record, space: RidgeSpace) -> float:
    """Bring the images up to date; UNCHANGED, INVERTED or the scale of a rank-one update."""
    arm, changed = 0, 0
    for k in range(space.counts.shape[0]):
        if record.counts[k] != space.counts[k]:
            arm = k
            changed += 1
    if changed == 0:
        return UNCHANGED
    gained = (record.counts[arm] - space.counts[arm]) / setting.variance[arm]
    small = 0.0 < gained * space.squares[arm] <= LARGEST_STEP
    copy(record.counts, space.counts)
    space.updates[0] += 1
    if changed == 1 and small and space.updates[0] < PERIOD:
        return apply_measurement(setting.X, arm, gained, space)
    space.updates[0] = 0
    invert(setting.X, record.weights, space)
    return INVERTED


@inner_loop
def estimate_means(X: Matrix, variance: Vector, sums: Vector, space: RidgeSpace) -> None:
    """The estimates and the squared lengths of all arms from their images."""
    for k in range(X.shape[0]):
        space.totals[k] = sums[k] / variance[k]
    transposed_times(X, space.nobody, space.everyone, space.totals, space.moment)
    times(space.images, space.nobody, space.everyone, space.moment, space.means)
    for k in range(X.shape[0]):
        square = 0.0
        for a in range(X.shape[1]):
            square += X[k, a] * space.images[k, a]
        space.squares[k] = square


@inner
def follow(setting: Setting, record: Record, space: RidgeSpace) -> float:
    """Take in what was measured since the last call; see `update_images` for what it returns.

    O(K d) after one measurement, however the arm was chosen; O(K d^2) after several or every
    PERIOD measurements.
    """
    change = update_images(setting, record, space)
    estimate_means(setting.X, setting.variance, record.sums, space)
    return change


@inner_loop
def squared_distance(X: Matrix, images: Matrix, i: int, j: int) -> float:
    """|x_i - x_j|^2_{V^-1}."""
    total = 0.0
    for a in range(X.shape[1]):
        total += (X[i, a] - X[j, a]) * (images[i, a] - images[j, a])
    return max(total, 0.0)


@inner
def most_reducing(setting: Setting, space: RidgeSpace, i: int, j: int) -> int:
    """The arm whose measurement makes |x_i - x_j|_{V^-1} smallest, of equal ones the first."""
    X = setting.X
    K, d = X.shape
    for a in range(d):
        space.direction[a] = space.images[i, a] - space.images[j, a]
    best, largest = 0, -np.inf
    for k in range(K):
        product = 0.0
        for a in range(d):
            product += X[k, a] * space.direction[a]
        reduction = product * product / (setting.variance[k] + space.squares[k])
        if reduction > largest:
            best, largest = k, reduction
    return best


@inner
def ridge_answer(setting: Setting, state: State, space: RidgeSpace, out: Indices) -> None:
    """Write the m arms with the best estimates to out (m,), increasing: LinGapE's answer."""
    follow(setting, Record(state.counts, state.weights, state.sums), space)
    list_top(space.means, space.heap, space.flags, out)
