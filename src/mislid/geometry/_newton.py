"""Compiled minimisation over the tube: the projection and the pair problem are one function.

With the means eliminated only theta is left:

    F(theta) = sum over k other than i, j of 1/2 w_k (|mu_k - x_k| - eps)_+^2  +  g(x_i, x_j),  x = X theta.

F is convex and piecewise quadratic. Newton's method with a line search lands on the minimiser
after a few steps, exactly, because the last step solves the right quadratic. The gradient is
-X'z and the Hessian X' diag(h) X for tube multipliers z (K,) and curvatures h (K,), so both live on
the arms that touch a wall. Where those do not span, F is flat; a small proximal term picks a point.

Distances to the walls, u = mu - x - eps and l = mu - x + eps, are carried along and updated by the
steps, never recomputed from theta: on a heavy arm the multiplier w u rests on digits of u that
mu - x does not have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, inner_loop, kernel
from mislid.geometry._graded import graded_step
from mislid.geometry._heap import Indices
from mislid.geometry._linalg import (
    cholesky,
    cholesky_solve,
    dot,
    gram,
    symmetric_times,
    times,
    transposed_times,
)
from mislid.geometry._walls import (
    FREE,
    UPPER_LOWER,
    corner_at,
    is_pinned,
    pair_state,
    released,
)

SOLVED, STALLED, INFEASIBLE = 0, 1, 2

# A cost below this multiple of the largest one in sight is zero up to rounding.
ROUNDING = 1e-28
# What a solve must prove on inputs too hard for the requested accuracy.
LOOSE, LOOSE_ABSOLUTE = 1e-6, 1e-13
# Features closer than this in spanner coordinates, whose entries are of order one, are the same.
SAME_FEATURES = 1e-14


class NewtonSpace(NamedTuple):
    """Everything a solve writes to; `metric` (d, d) is the proximal metric, set by the caller."""

    upper: Vector
    lower: Vector
    step_x: Vector
    multipliers: Vector
    curvature: Vector
    old_curvature: Vector
    others: Vector
    keys: Vector
    order: Indices
    hessian: Matrix
    metric: Matrix
    gradient: Vector
    step: Vector
    work: Vector
    difference: Vector
    centre: Vector
    drift: Vector
    pair: Vector


def newton_space(K: int, d: int) -> NewtonSpace:
    """A workspace for K arms and d features."""
    arms = [np.zeros(K) for _ in range(8)]
    squares = [np.zeros((d, d)) for _ in range(2)]
    vectors = [np.zeros(d) for _ in range(6)]
    return NewtonSpace(*arms, np.zeros(K, np.int64), *squares, *vectors, np.zeros(2))


@inner_loop
def _evaluate(
    w: Vector, i: int, j: int, G: float, state: int, space: NewtonSpace
) -> tuple[float, float]:
    """F and alpha at the current walls; fills multipliers and curvature (K,)."""
    u, l, z, h, others = (
        space.upper, space.lower, space.multipliers, space.curvature, space.others,
    )
    F = 0.0
    for k in range(w.shape[0]):
        excess = max(u[k], 0.0) + min(l[k], 0.0)
        z[k] = others[k] * excess
        h[k] = others[k] if excess != 0.0 else 0.0
        F += others[k] * excess * excess
    if i < 0:
        return 0.5 * F, 0.0
    A, B, z[i], z[j], h[i], h[j], alpha = pair_state(u[i], l[i], u[j], l[j], G, w[i], w[j], state)
    space.pair[0] = A
    space.pair[1] = B
    return 0.5 * (F + w[i] * A * A + w[j] * B * B), alpha


@inner_loop
def _slope(
    t: float, w: Vector, i: int, j: int, G: float, state: int, space: NewtonSpace
) -> float:
    """Derivative of F at t along the step."""
    u, l, step, others = space.upper, space.lower, space.step_x, space.others
    s = 0.0
    for k in range(w.shape[0]):
        move = t * step[k]
        s -= others[k] * (max(u[k] - move, 0.0) + min(l[k] - move, 0.0)) * step[k]
    if i < 0:
        return s
    a, b = t * step[i], t * step[j]
    _, _, zi, zj, _, _, _ = pair_state(
        u[i] - a, l[i] - a, u[j] - b, l[j] - b, G, w[i], w[j], state
    )
    return s - zi * step[i] - zj * step[j]


@inner
def _line_search(
    w: Vector, eps: float, i: int, j: int, G: float, state: int,
    slope0: float, drift: float, growth: float, space: NewtonSpace,
) -> tuple[float, int]:
    """A step length in (0, 1] near the minimum along the step, and the state it ends in.

    The derivative grows piecewise linearly and jumps up at corners of the pair; one of these may
    be the minimum. `drift + t growth` is the proximal term's part of it.
    """
    u, l, step = space.upper, space.lower, space.step_x
    natural = state if is_pinned(state) else FREE
    low, slope_low, high = 0.0, slope0, 1.0
    end = natural
    speed = step[i] - step[j] if i >= 0 else 0.0
    if natural == FREE and speed != 0.0:
        edge = (G - (l[j] - u[i])) / speed
        if speed < 0.0 and edge <= high:
            high, end = max(edge, 0.0), UPPER_LOWER
        tie = (G - (u[j] - u[i])) / speed
        part = (G - (u[j] - l[i])) / speed
        for t in (min(tie, part), max(tie, part)):
            if eps == 0.0 or t <= low or t >= high:
                continue
            a, b = t * step[i], t * step[j]
            corner, smaller, larger = corner_at(
                t == tie, u[i] - a, l[i] - a, u[j] - b, l[j] - b, G, w[i], w[j]
            )
            if corner == FREE:
                continue
            ahead, behind = (larger, smaller) if speed > 0.0 else (smaller, larger)
            proximal = drift + t * growth
            if _slope(t, w, i, j, G, behind, space) + proximal >= 0.0:
                high, end = t, FREE
                break
            after = _slope(t, w, i, j, G, ahead, space) + proximal
            if after >= 0.0:
                return t, corner
            low, slope_low = t, after
    slope_high = _slope(high, w, i, j, G, natural, space) + (drift + high * growth)
    accept = 0.1 * abs(slope0)
    if slope_high <= accept:
        return high, end if slope_high < 0.0 else natural
    t = high
    for _ in range(40):
        t = low - slope_low * (high - low) / (slope_high - slope_low)
        margin = 0.02 * (high - low)
        t = min(max(t, low + margin), high - margin)
        slope = _slope(t, w, i, j, G, natural, space) + (drift + t * growth)
        if abs(slope) <= accept:
            break
        if slope < 0.0:
            low, slope_low = t, slope
        else:
            high, slope_high = t, slope
    return t, natural


@inner_loop
def dual_bound(
    X: Matrix, eps: float, mu: Vector, w: Vector, i: int, j: int, tol: float,
    z: Vector, alpha: float, theta: Vector, residual: Vector,
) -> float:
    """The lower bound that (z, alpha) proves, less what rounding in X'z = 0 may be worth.

    (v'mu + alpha tol - eps |z|_1)_+^2 / (2 sum v_k^2 / w_k), v = z + alpha (e_j - e_i).
    """
    transposed_times(X, z, residual)
    value, square, size = alpha * tol, 0.0, abs(alpha)
    for k in range(z.shape[0]):
        v = z[k]
        size += abs(v)
        value -= eps * abs(v)
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


@inner_loop
def _newton_step(X: Matrix, proximity: float, state: int, space: NewtonSpace) -> float:
    """Fill step (d,) and step_x (K,) by the normal equations; return the derivative along them."""
    d = X.shape[1]
    H, V, g, p = space.hessian, space.metric, space.gradient, space.step
    transposed_times(X, space.multipliers, g)
    symmetric_times(V, space.drift, space.work)
    for a in range(d):
        g[a] -= proximity * space.work[a]
    gram(X, space.curvature, H)
    for a in range(d):
        for b in range(a + 1):
            H[a, b] += proximity * V[a, b]
    cholesky(H)
    cholesky_solve(H, g, p)
    if is_pinned(state):
        cholesky_solve(H, space.difference, space.work)
        shift = dot(space.difference, p) / dot(space.difference, space.work)
        for a in range(d):
            p[a] -= shift * space.work[a]
    times(X, p, space.step_x)
    return -dot(g, p)


@inner
def _graded_newton_step(
    X: Matrix, w: Vector, proximity: float, state: int, space: NewtonSpace
) -> float:
    """`_newton_step` for weights that the normal equations cannot carry."""
    graded_step(
        X, space.multipliers, space.curvature, w, proximity, space.difference, is_pinned(state),
        space.drift, space.hessian, space.gradient, space.work, space.order, space.keys, space.step,
    )
    times(X, space.step, space.step_x)
    return -dot(space.multipliers, space.step_x)


@inner_loop
def _half_space_multiplier(X: Matrix, space: NewtonSpace) -> float:
    """The alpha with X'z + alpha c = 0 in a pinned state, read where c is largest."""
    c = space.difference
    transposed_times(X, space.multipliers, space.work)
    pivot = 0
    for a in range(c.shape[0]):
        if abs(c[a]) > abs(c[pivot]):
            pivot = a
    return -space.work[pivot] / c[pivot]


@inner
def _refine_multipliers(w: Vector, i: int, j: int, alpha: float, space: NewtonSpace) -> float:
    """Bring X'z closer to zero by the step's own prediction; theta stays. Returns alpha."""
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


@inner
def _start(
    X: Matrix, eps: float, i: int, j: int, tol: float, theta: Vector, space: NewtonSpace
) -> int:
    """Make theta feasible for the pair; return the state there, or -1 if nothing is feasible."""
    if i < 0:
        return FREE
    c = space.difference
    largest = 0.0
    for a in range(c.shape[0]):
        c[a] = X[i, a] - X[j, a]
        largest = max(largest, abs(c[a]))
    if largest < SAME_FEATURES:
        c[:] = 0.0
        return FREE if tol <= 2.0 * eps else -1
    short = tol - 2.0 * eps - dot(c, theta)
    if short < 0.0:
        return FREE
    space.hessian[:] = space.metric
    cholesky(space.hessian)
    cholesky_solve(space.hessian, c, space.work)
    scale = short / dot(c, space.work)
    for a in range(c.shape[0]):
        theta[a] += scale * space.work[a]
    return UPPER_LOWER


@inner
def _prepare(
    X: Matrix, eps: float, mu: Vector, w: Vector, i: int, j: int, theta: Vector, state: int,
    G: float, space: NewtonSpace,
) -> None:
    """The walls at theta; a pinned pair starts exactly on its corner."""
    others, u, l = space.others, space.upper, space.lower
    times(X, theta, space.step_x)
    for k in range(X.shape[0]):
        others[k] = w[k]
        u[k] = mu[k] - space.step_x[k] - eps
        l[k] = mu[k] - space.step_x[k] + eps
    if i >= 0:
        others[i] = 0.0
        others[j] = 0.0
        if state == UPPER_LOWER:
            l[j] = u[i] + G
            u[j] = l[j] - 2.0 * eps


@inner
def _move(t: float, theta: Vector, space: NewtonSpace) -> bool:
    """Take the step; return whether no arm changed whether it touches, once evaluated."""
    for a in range(theta.shape[0]):
        theta[a] += t * space.step[a]
    for k in range(space.upper.shape[0]):
        space.upper[k] -= t * space.step_x[k]
        space.lower[k] -= t * space.step_x[k]
        space.old_curvature[k] = space.curvature[k]
    return t == 1.0


@inner
def _same_walls(space: NewtonSpace) -> bool:
    for k in range(space.curvature.shape[0]):
        if space.curvature[k] != space.old_curvature[k]:
            return False
    return True


@kernel
def minimise(
    X: Matrix, eps: float, mu: Vector, w: Vector, i: int, j: int, tol: float, theta: Vector,
    proximity: float, recentre: bool, graded: bool, steps: int, rtol: float, atol: float,
    space: NewtonSpace,
) -> tuple[int, float, float, float, int]:
    """Minimise F from `theta` (d,), in place; i = j = -1 is the projection.

    Returns (status, cost, bound, alpha, steps taken); `space.multipliers` holds z. The solve ends when
    cost - bound <= rtol cost + atol. With `recentre` the proximal term follows theta and vanishes;
    without, it stays at the given theta: the minimiser nearest to it, as `proximity` goes to 0.
    `graded` solves by rotations instead of normal equations.
    """
    z, centre = space.multipliers, space.centre
    centre[:] = theta
    state = _start(X, eps, i, j, tol, theta, space)
    if state < 0:
        z[:] = 0.0
        z[i] = 1.0
        z[j] = -1.0
        return INFEASIBLE, np.inf, np.inf, 1.0, 0
    if recentre:
        centre[:] = theta
    G = tol - (mu[i] - mu[j]) if i >= 0 else 0.0
    _prepare(X, eps, mu, w, i, j, theta, state, G, space)
    F, alpha = _evaluate(w, i, j, G, state, space)
    bound = 0.0
    recentred = 0
    tilted = True
    for taken in range(steps):
        if F <= atol:
            z[:] = 0.0
            return SOLVED, F, 0.0, 0.0, taken
        for a in range(theta.shape[0]):
            space.drift[a] = theta[a] - centre[a]
        if graded:
            slope0 = _graded_newton_step(X, w, proximity, state, space)
        else:
            slope0 = _newton_step(X, proximity, state, space)
        settled = slope0 > -1e-15 * F and (tilted or slope0 >= 0.0)
        if settled:
            # As good as minimal: only the multipliers gain. Along the proximal term's pull theta
            # could only lose; once that is gone, a tiny slope can still be a long valley.
            alpha = _refine_multipliers(w, i, j, alpha, space)
        else:
            symmetric_times(space.metric, space.step, space.work)
            drift = proximity * dot(space.work, space.drift)
            growth = proximity * dot(space.work, space.step)
            t, after = _line_search(w, eps, i, j, G, state, slope0, drift, growth, space)
            settled = _move(t, theta, space) and after == (state if is_pinned(state) else FREE)
            state = after
            F, alpha = _evaluate(w, i, j, G, state, space)
            tilted = tilted or t < 1.0
            settled = settled and _same_walls(space)
        if not settled or F <= atol:
            continue
        pinned = is_pinned(state)
        if pinned:
            alpha = _half_space_multiplier(X, space)
            z[i] += alpha
            z[j] -= alpha
        bound = min(F, dual_bound(X, eps, mu, w, i, j, tol, z, alpha, theta, space.work))
        if F - bound <= rtol * F + atol:
            return SOLVED, F, bound, alpha, taken + 1
        if pinned:
            # The proximal term tilts multipliers that should vanish; believe their sign only
            # when they are clear of it, or when the term has just been centred here.
            noise = 1e-6 * abs(alpha) if tilted else 0.0
            onward = released(state, z[i], z[j], alpha, eps, noise)
            z[i] -= alpha
            z[j] += alpha
            if onward != state:
                state = onward
                F, alpha = _evaluate(w, i, j, G, state, space)
                tilted = True
                continue
        if not recentre:
            return SOLVED, F, bound, alpha, taken + 1
        recentred += 1
        if recentred > 15:
            break
        centre[:] = theta
        tilted = False
        proximity *= 0.1
    return STALLED, F, bound, alpha, steps


@inner
def _cost_scale(mu: Vector, w: Vector, tol: float) -> tuple[float, float]:
    """The largest cost in sight, max w times the largest distance squared; and min w / max w."""
    lightest, heaviest, farthest = np.inf, 0.0, 0.0
    for k in range(w.shape[0]):
        farthest = max(farthest, abs(mu[k]))
        if w[k] > 0.0:
            lightest = min(lightest, w[k])
            heaviest = max(heaviest, w[k])
    return heaviest * (farthest + abs(tol)) ** 2, lightest / heaviest


@kernel
def solve(
    X: Matrix, eps: float, mu: Vector, w: Vector, i: int, j: int, tol: float, theta: Vector,
    start: Vector, rtol: float, space: NewtonSpace,
) -> tuple[int, float, float, float, int]:
    """`minimise`, by normal equations or, where these do not certify, by rotations.

    `start` (d,) keeps the given theta for later attempts. Their proximal terms reach from far
    below the lightest arm to above it: flat directions need the one or the other. What no attempt
    certifies to `rtol` is certified to LOOSE or given up as STALLED.
    """
    scale, spread = _cost_scale(mu, w, tol)
    atol = ROUNDING * scale
    start[:] = theta
    result = minimise(
        X, eps, mu, w, i, j, tol, theta, 1e-10, True, False, 60, rtol, atol, space
    )
    if result[0] != STALLED:
        return result
    for loose in (False, True):
        if loose:
            rtol, atol = LOOSE, LOOSE_ABSOLUTE * scale
        for proximity in (1e-8, 1.0, 1e4):
            theta[:] = start
            result = minimise(
                X, eps, mu, w, i, j, tol, theta, proximity * spread, True, True, 150, rtol, atol,
                space,
            )
            if result[0] != STALLED:
                return result
    return result


@kernel
def means_below(w: Vector, i: int, j: int, space: NewtonSpace, out: Vector) -> None:
    """mu - lambda (K,) at the minimiser; an arm without weight sits in the middle of the tube."""
    for k in range(w.shape[0]):
        u, l = space.upper[k], space.lower[k]
        out[k] = max(u, 0.0) + min(l, 0.0) if w[k] > 0.0 else 0.5 * (u + l)
    if i >= 0:
        out[i] = space.pair[0]
        out[j] = space.pair[1]


@kernel
def set_metric(X: Matrix, w: Vector, metric: Matrix) -> None:
    """metric = X' diag(w) X, lifted a little so that directions without weight have a length."""
    gram(X, w, metric)
    d = X.shape[1]
    largest = 0.0
    for a in range(d):
        largest = max(largest, metric[a, a])
    for a in range(d):
        metric[a, a] += 1e-12 * largest
