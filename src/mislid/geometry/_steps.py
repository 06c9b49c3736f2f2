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
from mislid.geometry._problem import NewtonSpace, Problem
from mislid.geometry._walls import is_pinned

# Up to this share of d, the arms beyond the spanner that touch make the cheaper system.
FEW = 0.6


@inner
def forget_information(space: NewtonSpace) -> None:
    """Start the sums of `newton_step` anew."""
    fill(space.summed, 0.0)
    for a in range(space.step.shape[0]):
        fill(space.information[a], 0.0)


@inner_loop
def _sum_information(X: Matrix, space: NewtonSpace) -> None:
    """X' diag(h) X: arms that touch a wall since the last step are added.

    Once one has left, everything is summed anew: subtracting it would leave its rounding behind.
    """
    h, summed = space.curvature, space.summed
    left = False
    for k in range(h.shape[0]):
        left = left or (summed[k] != 0.0 and summed[k] != h[k])
        space.change[k] = h[k] - summed[k]
        summed[k] = h[k]
    if left:
        gram(X, space.spanner, space.rest, h, space.information)
    else:
        add_gram(X, space.spanner, space.rest, space.change, space.information)


@inner_loop
def _dense_step(X: Matrix, proximity: float, whole: bool, pinned: bool, space: NewtonSpace) -> None:
    """Fill step (d,) and step_x (K,) by the normal equations."""
    d = X.shape[1]
    H, V, g, p = space.hessian, space.metric, space.gradient, space.step
    transposed_times(X, space.spanner, space.rest, space.multipliers, g)
    _sum_information(X, space)
    for a in range(d):
        g[a] -= proximity * space.pull[a]
        for b in range(a):
            H[a, b] = space.information[a, b] + (proximity * V[a, b] if whole else 0.0)
        H[a, a] = space.information[a, a] + proximity * V[a, a]
    cholesky(H, d)
    cholesky_solve(H, d, g, p)
    if pinned:
        cholesky_solve(H, d, space.difference, space.work)
        shift = dot(space.difference, p) / dot(space.difference, space.work)
        for a in range(d):
            p[a] -= shift * space.work[a]
    times(X, space.spanner, space.rest, p, space.step_x)


@inner_loop
def newton_step(
    X: Matrix, w: Vector, proximity: float, state: int, whole: bool, space: NewtonSpace
) -> tuple[float, float, float]:
    """Fill step (d,) and step_x (K,); return the slope along them, and the proximal term's part.

    The third number is that term's curvature. Its metric is `space.metric` if `whole`, else that
    matrix's diagonal, with which few touching arms make a smaller system.
    """
    d = X.shape[1]
    p, pinned = space.step, is_pinned(state)
    if whole:
        symmetric_times(space.metric, space.drift, space.pull)
    else:
        for a in range(d):
            space.pull[a] = space.metric[a, a] * space.drift[a]
    n = touching_rest(space)
    few = not whole and space.spanner.shape[0] == d and n < FEW * d
    if not (few and low_rank_step(X, proximity, pinned, n, space)):
        _dense_step(X, proximity, whole, pinned, space)
    drift = proximity * dot(space.pull, p)
    if whole:
        return (
            drift - dot(space.multipliers, space.step_x),
            drift,
            proximity * weighted_square(w, space.step_x),
        )
    growth = 0.0
    for a in range(d):
        growth += space.metric[a, a] * p[a] * p[a]
    return drift - dot(space.multipliers, space.step_x), drift, proximity * growth


@inner
def graded_newton_step(
    X: Matrix, w: Vector, proximity: float, state: int, space: NewtonSpace
) -> tuple[float, float, float]:
    """`newton_step` for weights that the normal equations cannot carry."""
    symmetric_times(space.metric, space.drift, space.pull)
    graded_step(
        X,
        space.multipliers,
        space.curvature,
        w,
        proximity,
        space.difference,
        is_pinned(state),
        space.drift,
        space.hessian,
        space.gradient,
        space.work,
        space.order,
        space.keys,
        space.step,
    )
    times(X, space.spanner, space.rest, space.step, space.step_x)
    drift = proximity * dot(space.pull, space.step)
    growth = proximity * weighted_square(w, space.step_x)
    return -dot(space.multipliers, space.step_x), drift, growth


@inner_loop
def half_space_multiplier(X: Matrix, space: NewtonSpace) -> float:
    """The alpha with X'z + alpha c = 0 in a pinned state, read where c is largest."""
    c = space.difference
    transposed_times(X, space.spanner, space.rest, space.multipliers, space.work)
    pivot = 0
    for a in range(c.shape[0]):
        if abs(c[a]) > abs(c[pivot]):
            pivot = a
    return -space.work[pivot] / c[pivot]


@inner
def refine_multipliers(problem: Problem, alpha: float, space: NewtonSpace) -> float:
    """Bring X'z closer to zero by the step's own prediction; theta stays. Returns alpha."""
    w, i, j = problem.w, problem.i, problem.j
    z, h, step = space.multipliers, space.curvature, space.step_x
    for k in range(z.shape[0]):
        z[k] -= h[k] * step[k]
    if i < 0:
        return alpha
    if h[j] == 0.0 and h[i] == w[i] + w[j]:
        return alpha - w[j] * step[i]
    if h[i] == 0.0 and h[j] == w[i] + w[j]:
        return alpha + w[i] * step[j]
    return alpha
