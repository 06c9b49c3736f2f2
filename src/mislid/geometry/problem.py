"""The input and the workspace of a compiled solve, and bounds on its cost."""

from __future__ import annotations

import numpy as np

from mislid._jit import (
    ArmOrder,
    Indices,
    Matrix,
    PerArm,
    PerFeature,
    Square,
    Struct,
    Vector,
    inner,
    inner_loop,
    kernel,
)
from mislid.geometry.linalg import (
    cholesky,
    cholesky_solve,
    copy,
    copy_matrix,
    fill,
    gram,
    times,
    transposed_times,
)

NOBODY = -1
UNIT_ROUNDOFF = 2.0**-52


class NewtonSpace(Struct):
    """The input and the workspace of a solve.

    The nearest model to the means mu; for a pair, the nearest with lambda_i >= lambda_j + tol.
    i = j = NOBODY is the projection. X is the identity on the arms `spanner`: products with it
    need only the `rest` of its rows.
    """

    X: Matrix  # (K, d) features in spanner coordinates
    spanner: Indices  # (d,), or (0,) where X has no such arms
    rest: Indices  # (K - d,) the other arms
    # The problem; `set_metric` fills the weights.
    mu: PerArm  # means
    w: PerArm  # weights
    eps: float
    i: int  # challenger
    j: int  # incumbent
    tol: float
    level: float  # size of the means before they were centred, which determines their rounding
    hasty: bool  # whether to give up if the first attempt certifies nothing
    upper: PerArm  # distance of the mean above the tube's upper wall
    lower: PerArm  # and above its lower wall
    step_x: PerArm  # change of the linear values by the step
    multipliers: PerArm
    curvature: PerArm
    old_curvature: PerArm
    others: PerArm  # weights, zero at the pair
    keys: PerArm
    summed: PerArm  # curvatures in `information`
    change: PerArm
    order: ArmOrder
    pair: Vector  # (2,) means of the pair less theirs in the solution
    pull: PerFeature  # metric times drift
    gradient: PerFeature
    roots: PerFeature  # of 1 / D, in a low-rank step
    step: PerFeature
    work: PerFeature
    difference: PerFeature  # x_i - x_j
    centre: PerFeature  # of the proximal term
    drift: PerFeature  # theta less that
    start: PerFeature  # the first attempt's theta
    hessian: Square
    rows: Square  # of X that touch a wall, scaled
    information: Square  # X' diag(summed) X
    metric: Square  # of the proximal term
    factor: Square  # its Cholesky factor


@inner
def set_problem(i: int, j: int, eps: float, tol: float, level: float, space: NewtonSpace) -> None:
    """Set the problem: the alternative of a pair, or the projection, of the means in `space`."""
    space.i, space.j = i, j
    space.eps, space.tol, space.level = eps, tol, level


@kernel
def set_metric(w: Vector, space: NewtonSpace) -> None:
    """Keep the weights w (K,) and their metric X' diag(w) X.

    A little is added to its diagonal, so that directions without weight have a length.
    """
    copy(w, space.w)
    metric, d = space.metric, space.metric.shape[0]
    gram(space.X, space.spanner, space.rest, w, metric)
    largest = 0.0
    for a in range(d):
        largest = max(largest, metric[a, a])
    for a in range(d):
        metric[a, a] += 1e-12 * largest
    copy_matrix(metric, space.factor)
    cholesky(space.factor, d)


@inner
def _fit_rest(mu: Vector, space: NewtonSpace, centre: Vector) -> None:
    """Add the fit of the residuals to a linear fit (d,)."""
    X, w, spanner, rest = space.X, space.w, space.spanner, space.rest
    times(X, spanner, rest, centre, space.step_x)
    for k in range(mu.shape[0]):
        space.step_x[k] = w[k] * (mu[k] - space.step_x[k])
    transposed_times(X, spanner, rest, space.step_x, space.gradient)
    cholesky_solve(space.factor, centre.shape[0], space.gradient, space.step)
    for a in range(centre.shape[0]):
        centre[a] += space.step[a]


@inner
def set_centre(mu: Vector, space: NewtonSpace, centre: Vector) -> None:
    """Fill centre (d,) with a linear fit to the means, from which they are then measured.

    This avoids a loss of digits by the common level of the means. Needs the metric.
    """
    fill(centre, 0.0)
    _fit_rest(mu, space, centre)
    _fit_rest(mu, space, centre)


@inner_loop
def cost_scales(space: NewtonSpace) -> tuple[float, float, float, float]:
    """Three scales of costs, and the lightest weight over the heaviest.

    The cost of the means at theta = 0 without a tube; that of the farthest mean with the heaviest
    weight; and the cost of the rounding of the means.
    """
    mu, w, i, j = space.mu, space.w, space.i, space.j
    lightest, heaviest, total, cost, farthest = np.inf, 0.0, 0.0, 0.0, 0.0
    for k in range(w.shape[0]):
        farthest = max(farthest, abs(mu[k]))
        if w[k] > 0.0:
            lightest = min(lightest, w[k])
            heaviest = max(heaviest, w[k])
            total += w[k]
            cost += w[k] * mu[k] * mu[k]
    if i >= 0 and w[i] > 0.0 and w[j] > 0.0:
        cost += space.tol * space.tol / (1.0 / w[i] + 1.0 / w[j])
    worst = heaviest * (farthest + abs(space.tol)) ** 2
    rounding = total * (UNIT_ROUNDOFF * space.level) ** 2
    return cost, worst, rounding, lightest / heaviest


@inner_loop
def dual_bound(z: Vector, alpha: float, theta: Vector, space: NewtonSpace) -> float:
    """The lower bound that (z, alpha) proves, less the effect of rounding in X'z = 0.

    (v'mu + alpha tol - eps |z|_1)_+^2 / (2 sum v_k^2 / w_k), v = z + alpha (e_j - e_i).
    """
    if alpha < 0.0:
        return 0.0
    mu, w, i, j, residual = space.mu, space.w, space.i, space.j, space.work
    transposed_times(space.X, space.spanner, space.rest, z, residual)
    value, square, size = alpha * space.tol, 0.0, abs(alpha)
    for k in range(z.shape[0]):
        v = z[k]
        size += abs(v)
        value -= space.eps * abs(v)
        if k == j:
            v += alpha
        elif k == i:
            v -= alpha
        if v != 0.0:
            value += v * mu[k]
            square += v * v / w[k] if w[k] > 0.0 else np.inf
    for a in range(theta.shape[0]):
        value -= 2.0 * abs(residual[a] * theta[a])
        # The bound does not depend on the scale of z: multipliers that are rounding prove nothing.
        if abs(residual[a]) > 1e-5 * size:
            return 0.0
    if value <= 0.0:
        return 0.0
    return value * value / (2.0 * square)
