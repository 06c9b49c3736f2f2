"""One Newton step on F, by normal equations or by rotations, and the multipliers it predicts."""

from __future__ import annotations

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, inner_loop
from mislid.geometry._graded import graded_step
from mislid.geometry._linalg import (
    add_gram,
    cholesky,
    cholesky_solve,
    dot,
    fill,
    gram,
    symmetric_times,
    times,
    transposed_times,
    weighted_square,
)
from mislid.geometry._low_rank import low_rank_step, touching_rest
from mislid.geometry._problem import (
    CHANGE,
    CURVATURE,
    DIFFERENCE,
    DRIFT,
    GRADIENT,
    HESSIAN,
    INFORMATION,
    KEYS,
    METRIC,
    MULTIPLIERS,
    PULL,
    STEP,
    STEP_X,
    SUMMED,
    WORK,
    NewtonSpace,
    Problem,
)
from mislid.geometry._walls import is_pinned

# Up to this share of d, the arms beyond the spanner that touch make the cheaper system.
FEW = 0.6


@inner
def forget_information(space: NewtonSpace) -> None:
    """Start the sums of `newton_step` anew."""
    fill(space.arms[SUMMED], 0.0)
    for a in range(space.features[STEP].shape[0]):
        fill(space.matrices[INFORMATION][a], 0.0)


@inner_loop
def _sum_information(X: Matrix, space: NewtonSpace) -> None:
    """X' diag(h) X: arms that touch a wall since the last step are added.

    Once one has left, everything is summed anew: subtracting it would leave its rounding behind.
    """
    h, summed = space.arms[CURVATURE], space.arms[SUMMED]
    left = False
    for k in range(h.shape[0]):
        left = left or (summed[k] != 0.0 and summed[k] != h[k])
        space.arms[CHANGE][k] = h[k] - summed[k]
        summed[k] = h[k]
    if left:
        gram(X, space.spanner, space.rest, h, space.matrices[INFORMATION])
    else:
        add_gram(X, space.spanner, space.rest, space.arms[CHANGE], space.matrices[INFORMATION])


@inner_loop
def _dense_step(X: Matrix, proximity: float, whole: bool, pinned: bool, space: NewtonSpace) -> None:
    """Fill step (d,) and step_x (K,) by the normal equations."""
    d = X.shape[1]
    H, V, information = space.matrices[HESSIAN], space.matrices[METRIC], space.matrices[INFORMATION]
    g, p = space.features[GRADIENT], space.features[STEP]
    c, work = space.features[DIFFERENCE], space.features[WORK]
    transposed_times(X, space.spanner, space.rest, space.arms[MULTIPLIERS], g)
    _sum_information(X, space)
    for a in range(d):
        g[a] -= proximity * space.features[PULL][a]
        for b in range(a):
            H[a, b] = information[a, b] + (proximity * V[a, b] if whole else 0.0)
        H[a, a] = information[a, a] + proximity * V[a, a]
    cholesky(H, d)
    cholesky_solve(H, d, g, p)
    if pinned:
        cholesky_solve(H, d, c, work)
        shift = dot(c, p) / dot(c, work)
        for a in range(d):
            p[a] -= shift * work[a]
    times(X, space.spanner, space.rest, p, space.arms[STEP_X])


@inner_loop
def newton_step(
    X: Matrix, w: Vector, proximity: float, state: int, whole: bool, space: NewtonSpace
) -> tuple[float, float, float]:
    """Fill step (d,) and step_x (K,); return the slope along them, and the proximal term's part.

    The third number is that term's curvature. Its metric is METRIC if `whole`, else the diagonal
    of that, with which few touching arms make a smaller system.
    """
    d, pinned, V = X.shape[1], is_pinned(state), space.matrices[METRIC]
    p, drift, pull = space.features[STEP], space.features[DRIFT], space.features[PULL]
    if whole:
        symmetric_times(V, drift, pull)
    else:
        for a in range(d):
            pull[a] = V[a, a] * drift[a]
    most = 0 if whole or space.spanner.shape[0] < d else int(FEW * d)
    n = touching_rest(most, space) if most > 0 else 0
    if n >= most or not low_rank_step(X, proximity, pinned, n, space):
        _dense_step(X, proximity, whole, pinned, space)
    part, growth = proximity * dot(pull, p), 0.0
    for a in range(d):
        growth += V[a, a] * p[a] * p[a]
    if whole:
        growth = weighted_square(w, space.arms[STEP_X])
    return part - dot(space.arms[MULTIPLIERS], space.arms[STEP_X]), part, proximity * growth


@inner
def graded_newton_step(
    X: Matrix, w: Vector, proximity: float, state: int, space: NewtonSpace
) -> tuple[float, float, float]:
    """`newton_step` for weights that the normal equations cannot carry."""
    symmetric_times(space.matrices[METRIC], space.features[DRIFT], space.features[PULL])
    graded_step(
        X,
        space.arms[MULTIPLIERS],
        space.arms[CURVATURE],
        w,
        proximity,
        space.features[DIFFERENCE],
        is_pinned(state),
        space.features[DRIFT],
        space.matrices[HESSIAN],
        space.features[GRADIENT],
        space.features[WORK],
        space.order,
        space.arms[KEYS],
        space.features[STEP],
    )
    times(X, space.spanner, space.rest, space.features[STEP], space.arms[STEP_X])
    drift = proximity * dot(space.features[PULL], space.features[STEP])
    growth = proximity * weighted_square(w, space.arms[STEP_X])
    return -dot(space.arms[MULTIPLIERS], space.arms[STEP_X]), drift, growth


@inner_loop
def half_space_multiplier(X: Matrix, space: NewtonSpace) -> float:
    """The alpha with X'z + alpha c = 0 in a pinned state, read where c is largest."""
    c = space.features[DIFFERENCE]
    transposed_times(X, space.spanner, space.rest, space.arms[MULTIPLIERS], space.features[WORK])
    pivot = 0
    for a in range(c.shape[0]):
        if abs(c[a]) > abs(c[pivot]):
            pivot = a
    return -space.features[WORK][pivot] / c[pivot]


@inner
def refine_multipliers(problem: Problem, alpha: float, space: NewtonSpace) -> float:
    """Bring X'z closer to zero by the step's own prediction; theta stays. Returns alpha."""
    w, i, j = problem.w, problem.i, problem.j
    z, h, step = space.arms[MULTIPLIERS], space.arms[CURVATURE], space.arms[STEP_X]
    for k in range(z.shape[0]):
        z[k] -= h[k] * step[k]
    if i < 0:
        return alpha
    if h[j] == 0.0 and h[i] == w[i] + w[j]:
        return alpha - w[j] * step[i]
    if h[i] == 0.0 and h[j] == w[i] + w[j]:
        return alpha + w[i] * step[j]
    return alpha
