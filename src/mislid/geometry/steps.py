"""One Newton step on F, by normal equations or by rotations, and the multipliers it predicts."""

from __future__ import annotations

from mislid._jit import inner, inner_loop, kernel_loop
from mislid.geometry.graded import graded_step
from mislid.geometry.linalg import (
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
from mislid.geometry.low_rank import low_rank_step, touching_rest
from mislid.geometry.problem import NewtonSpace
from mislid.geometry.walls import is_pinned

# Up to this share of d, the arms beyond the spanner that touch make the cheaper system.
FEW = 0.6


@inner
def forget_information(space: NewtonSpace) -> None:
    """Start the sums of `newton_step` anew."""
    fill(space.summed, 0.0)
    for a in range(space.step.shape[0]):
        fill(space.information[a], 0.0)


@inner_loop
def _sum_information(space: NewtonSpace) -> None:
    """X' diag(h) X: arms that touch a wall since the last step are added.

    Once one has left, everything is summed anew: subtracting it would leave its rounding behind.
    """
    X, h, summed = space.X, space.curvature, space.summed
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
def _dense_step(proximity: float, whole: bool, pinned: bool, space: NewtonSpace) -> None:
    """Fill step (d,) and step_x (K,) by the normal equations."""
    X = space.X
    d = X.shape[1]
    H, V, information = space.hessian, space.metric, space.information
    g, p = space.gradient, space.step
    c, work = space.difference, space.work
    transposed_times(X, space.spanner, space.rest, space.multipliers, g)
    _sum_information(space)
    for a in range(d):
        g[a] -= proximity * space.pull[a]
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
    times(X, space.spanner, space.rest, p, space.step_x)


@kernel_loop
def newton_step(
    proximity: float, state: int, whole: bool, space: NewtonSpace
) -> tuple[float, float, float]:
    """Fill step (d,) and step_x (K,); return the slope along them, and the proximal term's part.

    The third number is that term's curvature. Its metric is `metric` if `whole`, else the diagonal
    of that, with which few touching arms make a smaller system.
    """
    d, pinned, V = space.X.shape[1], is_pinned(state), space.metric
    p, drift, pull = space.step, space.drift, space.pull
    if whole:
        symmetric_times(V, drift, pull)
    else:
        for a in range(d):
            pull[a] = V[a, a] * drift[a]
    most = 0 if whole or space.spanner.shape[0] < d else int(FEW * d)
    n = touching_rest(most, space) if most > 0 else 0
    if n >= most or not low_rank_step(proximity, pinned, n, space):
        _dense_step(proximity, whole, pinned, space)
    part, growth = proximity * dot(pull, p), 0.0
    for a in range(d):
        growth += V[a, a] * p[a] * p[a]
    if whole:
        growth = weighted_square(space.w, space.step_x)
    return part - dot(space.multipliers, space.step_x), part, proximity * growth


@inner
def graded_newton_step(
    proximity: float, state: int, space: NewtonSpace
) -> tuple[float, float, float]:
    """`newton_step` for weights that the normal equations cannot carry."""
    symmetric_times(space.metric, space.drift, space.pull)
    graded_step(proximity, is_pinned(state), space)
    times(space.X, space.spanner, space.rest, space.step, space.step_x)
    drift = proximity * dot(space.pull, space.step)
    growth = proximity * weighted_square(space.w, space.step_x)
    return -dot(space.multipliers, space.step_x), drift, growth


@inner_loop
def half_space_multiplier(space: NewtonSpace) -> float:
    """The alpha with X'z + alpha c = 0 in a pinned state, read where c is largest."""
    c = space.difference
    transposed_times(space.X, space.spanner, space.rest, space.multipliers, space.work)
    pivot = 0
    for a in range(c.shape[0]):
        if abs(c[a]) > abs(c[pivot]):
            pivot = a
    return -space.work[pivot] / c[pivot]


@inner
def refine_multipliers(alpha: float, space: NewtonSpace) -> float:
    """Bring X'z closer to zero by the step's own prediction; theta stays. Returns alpha."""
    w, i, j = space.w, space.i, space.j
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
