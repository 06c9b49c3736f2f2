"""Ridge regression along a run, for LinGapE and LinGIFA.

Of the regularised information V = ridge + sum_k N_k x_k x_k' / sigma_k^2 only the inverse is kept,
as the images p_k = V^-1 x_k of all arms: they give estimates, and distances between arms as
|x_i - x_j|^2_{V^-1} = (x_i - x_j)'(p_i - p_j) in O(d), without the cancellation of
|x_i|^2 + |x_j|^2 - 2 x_i'V^-1 x_j.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from mislid._jit import (
    ArmOrder,
    Indices,
    Matrix,
    PerArm,
    PerFeature,
    Square,
    Struct,
    inner,
    inner_loop,
    kernel,
)
from mislid.geometry.linalg import (
    add_gram,
    cholesky,
    cholesky_solve,
    copy,
    copy_matrix,
    times,
    transposed_times,
)
from mislid.stopping.state import Setting, State

if TYPE_CHECKING:
    from mislid.model import Model

# Rank-one updates between two inversions, so that their rounding does not add up.
PERIOD = 128
# Largest relative increase of the information in the direction of a measurement; a larger update
# would lose digits.
LARGEST_STEP = 0.5
# Results of `update_ridge` other than the scale of a rank-one update.
UNCHANGED, INVERTED = 0.0, -1.0


class RidgeSpace(Struct):
    """The regression's state and workspace; `update_ridge` brings it up to date."""

    ridge: Matrix  # (d, d) in spanner coordinates, in units of information
    counts: PerArm  # (K,) measurements that `images` contain
    images: Annotated[Matrix, ("K", "d")]  # rows V^-1 x_k
    means: PerArm  # (K,) estimates x_k'theta
    squares: PerArm  # (K,) |x_k|^2_{V^-1}
    column: PerArm  # (K,) x_k'V^-1 x_a for the arm a of a rank-one update, before it; scratch later
    flags: PerArm  # (K,) one for incumbents
    totals: PerArm  # (K,) rewards over squared noise
    moment: PerFeature  # (d,) X' totals
    factor: Square  # (d, d) of V, when it is inverted
    direction: PerFeature  # (d,)
    image: PerFeature  # (d,)
    heap: ArmOrder  # (K,)
    updates: int  # since the last inversion
    # Arms on which a matrix is known to be the identity: none.
    no_arms: Annotated[Indices, ("none",)]
    everyone: Indices  # (K,)


def new_ridge_space(setting: Setting, model: Model) -> RidgeSpace:
    """The regression before the first measurement.

    The published rule regularises by the identity in the coordinates of the features as they are
    given and with noise 1, V = I + sum phi phi', so its behaviour depends on their units. With
    phi = corner'x, where corner (d, d) has the features of the spanner, that ridge is
    (corner corner')^-1. It counts in units of the mean precision 1 / sigma_k^2 of the arms, which
    makes the rule free of the rewards' units.
    """
    K, d = setting.X.shape
    inverse = np.linalg.inv(model.features[setting.basis])
    return RidgeSpace.zeros(
        {"K": K, "d": d, "none": 0},
        ridge=np.ascontiguousarray(inverse.T @ inverse * np.mean(1.0 / setting.variance)),
        counts=np.full(K, -1.0),
        everyone=np.arange(K, dtype=np.int64),
    )


@kernel
def invert(X: Matrix, weights: PerArm, space: RidgeSpace) -> None:
    """Compute the images from scratch, in O(K d^2)."""
    copy_matrix(space.ridge, space.factor)
    add_gram(X, space.no_arms, space.everyone, weights, space.factor)
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
    times(X, space.no_arms, space.everyone, space.image, space.column)
    scale = gained / (1.0 + gained * space.column[arm])
    for k in range(K):
        step = scale * space.column[k]
        for a in range(d):
            space.images[k, a] -= step * space.image[a]
    return scale


@inner
def update_images(setting: Setting, state: State, space: RidgeSpace) -> float:
    """Bring the images up to date; UNCHANGED, INVERTED or the scale of a rank-one update."""
    arm, changed = 0, 0
    for k in range(space.counts.shape[0]):
        if state.counts[k] != space.counts[k]:
            arm = k
            changed += 1
    if changed == 0:
        return UNCHANGED
    gained = (state.counts[arm] - space.counts[arm]) / setting.variance[arm]
    small = 0.0 < gained * space.squares[arm] <= LARGEST_STEP
    copy(state.counts, space.counts)
    space.updates += 1
    if changed == 1 and small and space.updates < PERIOD:
        return apply_measurement(setting.X, arm, gained, space)
    space.updates = 0
    invert(setting.X, state.weights, space)
    return INVERTED


@inner_loop
def estimate_means(X: Matrix, variance: PerArm, sums: PerArm, space: RidgeSpace) -> None:
    """The estimates and the squared lengths of all arms from their images."""
    for k in range(X.shape[0]):
        space.totals[k] = sums[k] / variance[k]
    transposed_times(X, space.no_arms, space.everyone, space.totals, space.moment)
    times(space.images, space.no_arms, space.everyone, space.moment, space.means)
    for k in range(X.shape[0]):
        square = 0.0
        for a in range(X.shape[1]):
            square += X[k, a] * space.images[k, a]
        space.squares[k] = square


@kernel
def update_ridge(setting: Setting, state: State, space: RidgeSpace) -> float:
    """Add the measurements since the last call; returns what `update_images` returns.

    O(K d) after one measurement, however the arm was chosen; O(K d^2) after several or every
    PERIOD measurements.
    """
    change = update_images(setting, state, space)
    estimate_means(setting.X, setting.variance, state.sums, space)
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
