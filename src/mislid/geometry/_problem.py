"""What a compiled solve reads, and the workspace it writes to."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner_loop, kernel
from mislid.geometry._heap import Indices
from mislid.geometry._linalg import (
    cholesky,
    cholesky_solve,
    copy_matrix,
    fill,
    gram,
    times,
    transposed_times,
)

# Typed: numba compiles another version for a literal.
NOBODY: int = cast(int, np.int64(-1))

UNIT_ROUNDOFF = 2.0**-52


class Problem(NamedTuple):
    """The nearest model to the means; for a pair, the nearest with lambda_i >= lambda_j + tol.

    i = j = NOBODY is the projection. Features are in spanner coordinates, X (K, d).
    """

    X: Matrix
    eps: float
    mu: Vector  # (K,) means
    w: Vector  # (K,) weights
    i: int  # challenger
    j: int  # incumbent
    tol: float
    level: float  # of the means before they were centred: the size whose rounding they carry


# Rows of `NewtonSpace.arms`.
UPPER = 0  # distance of the mean above the tube's upper wall
LOWER = 1  # and above its lower wall
STEP_X = 2  # what the step does to the linear values
MULTIPLIERS = 3
CURVATURE = 4
OLD_CURVATURE = 5
OTHERS = 6  # weights, zero at the pair
KEYS = 7
SUMMED = 8
CHANGE = 9
# Rows of `NewtonSpace.features`.
PULL = 0  # metric times drift
GRADIENT = 1
STEP = 2
WORK = 3
DIFFERENCE = 4  # x_i - x_j
CENTRE = 5  # of the proximal term
DRIFT = 6  # theta less that
START = 7  # the first attempt's theta
# `NewtonSpace.matrices`.
HESSIAN = 0
ROWS = 1  # of X that touch a wall, scaled
INFORMATION = 2  # X' diag(summed) X
METRIC = 3  # of the proximal term
FACTOR = 4  # its Cholesky factor


class NewtonSpace(NamedTuple):
    """Everything a solve writes to; `set_metric` fills the metric and its factor before the first.

    X is the identity on the arms `spanner`: products with it need only the `rest` of its rows.
    Compiled calls pass each array of a tuple as seven numbers or more: few arrays of many vectors
    make them cheap.
    """

    spanner: Indices  # (d,), or (0,) where X has no such arms
    rest: Indices  # (K - d,) the other arms
    arms: Matrix  # (10, K)
    features: Matrix  # (8, d)
    matrices: Matrix  # (5, d, d)
    order: Indices  # (K,)
    pair: Vector  # (2,) means of the pair less theirs in the solution


def newton_space(X: Matrix, units: tuple[Indices, Indices] | None = None) -> NewtonSpace:
    """A workspace for the features X (K, d); `units` are spanner and rest where they are known."""
    K, d = X.shape
    if units is None:
        spanner = _unit_rows(X)
        rest = np.setdiff1d(np.arange(K), spanner)
    else:
        spanner, rest = units
    return NewtonSpace(
        spanner=spanner,
        rest=rest,
        arms=np.zeros((CHANGE + 1, K)),
        features=np.zeros((START + 1, d)),
        matrices=np.zeros((FACTOR + 1, d, d)),
        order=np.zeros(K, np.int64),
        pair=np.zeros(2),
    )


def _unit_rows(X: Matrix) -> Indices:
    """Arms whose rows of X form the identity; none at all unless there is one for every column."""
    arms, columns = np.nonzero((X == 1.0) & (np.count_nonzero(X, axis=1) == 1)[:, None])
    found, first = np.unique(columns, return_index=True)
    return arms[first] if found.size == X.shape[1] else arms[:0]


@kernel
def set_metric(X: Matrix, w: Vector, space: NewtonSpace) -> None:
    """metric = X' diag(w) X, lifted a little so that directions without weight have a length."""
    metric, d = space.matrices[METRIC], X.shape[1]
    gram(X, space.spanner, space.rest, w, metric)
    largest = 0.0
    for a in range(d):
        largest = max(largest, metric[a, a])
    for a in range(d):
        metric[a, a] += 1e-12 * largest
    copy_matrix(metric, space.matrices[FACTOR])
    cholesky(space.matrices[FACTOR], d)


@kernel
def set_centre(X: Matrix, mu: Vector, w: Vector, space: NewtonSpace, centre: Vector) -> None:
    """Fill centre (d,) with a linear fit to the means, near enough to measure them from.

    Distances between models, not their common level, should carry the digits. Needs the metric.
    """
    spanner, rest = space.spanner, space.rest
    fill(centre, 0.0)
    for _ in range(2):
        times(X, spanner, rest, centre, space.arms[STEP_X])
        for k in range(mu.shape[0]):
            space.arms[STEP_X][k] = w[k] * (mu[k] - space.arms[STEP_X][k])
        transposed_times(X, spanner, rest, space.arms[STEP_X], space.features[GRADIENT])
        cholesky_solve(
            space.matrices[FACTOR], centre.shape[0], space.features[GRADIENT], space.features[STEP]
        )
        for a in range(centre.shape[0]):
            centre[a] += space.features[STEP][a]


@inner_loop
def cost_scales(problem: Problem) -> tuple[float, float, float, float]:
    """Costs to measure others by, and the lightest weight over the heaviest.

    What the means cost at theta = 0 without a tube; what the farthest of them would cost if it had
    the heaviest weight; and what the rounding of the means costs.
    """
    mu, w, i, j = problem.mu, problem.w, problem.i, problem.j
    lightest, heaviest, total, cost, farthest = np.inf, 0.0, 0.0, 0.0, 0.0
    for k in range(w.shape[0]):
        farthest = max(farthest, abs(mu[k]))
        if w[k] > 0.0:
            lightest = min(lightest, w[k])
            heaviest = max(heaviest, w[k])
            total += w[k]
            cost += w[k] * mu[k] * mu[k]
    if i >= 0 and w[i] > 0.0 and w[j] > 0.0:
        cost += problem.tol * problem.tol / (1.0 / w[i] + 1.0 / w[j])
    worst = heaviest * (farthest + abs(problem.tol)) ** 2
    rounding = total * (UNIT_ROUNDOFF * problem.level) ** 2
    return cost, worst, rounding, lightest / heaviest


@inner_loop
def dual_bound(
    problem: Problem, z: Vector, alpha: float, theta: Vector, space: NewtonSpace
) -> float:
    """The lower bound that (z, alpha) proves, less what rounding in X'z = 0 may be worth.

    (v'mu + alpha tol - eps |z|_1)_+^2 / (2 sum v_k^2 / w_k), v = z + alpha (e_j - e_i).
    """
    if alpha < 0.0:
        return 0.0
    mu, w, i, j, residual = problem.mu, problem.w, problem.i, problem.j, space.features[WORK]
    transposed_times(problem.X, space.spanner, space.rest, z, residual)
    value, square, size = alpha * problem.tol, 0.0, abs(alpha)
    for k in range(z.shape[0]):
        v = z[k]
        size += abs(v)
        value -= problem.eps * abs(v)
        if k == j:
            v += alpha
        elif k == i:
            v -= alpha
        if v != 0.0:
            value += v * mu[k]
            square += v * v / w[k] if w[k] > 0.0 else np.inf
    for a in range(theta.shape[0]):
        value -= 2.0 * abs(residual[a] * theta[a])
        # The bound is blind to the scale of z: multipliers that are all rounding prove nothing.
        if abs(residual[a]) > 1e-5 * size:
            return 0.0
    if value <= 0.0:
        return 0.0
    return value * value / (2.0 * square)
