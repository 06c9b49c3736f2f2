"""Compiled minimisation over the tube: the projection and the pair problem are one function.

With the means eliminated only theta is left:

    F(theta) = sum_{k not i, j} 1/2 w_k (|mu_k - x_k| - eps)_+^2  +  g(x_i, x_j),  x = X theta.

F is convex and piecewise quadratic. Newton's method with a line search lands on the minimiser
after a few steps, exactly, because the last step solves its quadratic piece. The gradient is
-X'z and the Hessian X' diag(h) X for tube multipliers z (K,) and curvatures h (K,), so both live on
the arms that touch a wall. Where those do not span, F is flat; a small proximal term picks a point.

Distances to the walls, u = mu - x - eps and l = mu - x + eps, are carried along and updated by the
steps, never recomputed from theta: on a heavy arm the multiplier w u rests on digits of u that
mu - x does not have.
"""

from __future__ import annotations

import numpy as np

from mislid._jit import Vector, inner, kernel
from mislid.geometry.descent import (
    FREE,
    UPPER_LOWER,
    evaluate,
    gap_to_close,
    is_pinned,
    line_search,
    released,
    slope_ahead,
    unstructured,
)
from mislid.geometry.linalg import cholesky_solve, copy, dot, fill, times
from mislid.geometry.problem import NewtonSpace, cost_scales, dual_bound
from mislid.geometry.steps import (
    forget_information,
    graded_newton_step,
    half_space_multiplier,
    newton_step,
    refine_multipliers,
)

SOLVED, STALLED, INFEASIBLE = 0, 1, 2

# A cost below this multiple of the largest scale of costs is zero up to rounding.
ROUNDING = 1e-28
# Accuracy for inputs that are too hard for the requested one.
LOOSE, LOOSE_ABSOLUTE = 1e-6, 1e-18
# Proximal terms of the attempts by rotations, in units of the least over the largest weight.
PROXIMITIES = (1e-8, 1.0, 1e4)
# Features closer than this in spanner coordinates, whose entries are of order one, are the same.
SAME_FEATURES = 1e-14

# (status, cost, bound, alpha, steps)
Outcome = tuple[int, float, float, float, int]


@inner
def _difference(space: NewtonSpace) -> bool:
    """Fill x_i - x_j; return whether some model reverses the pair."""
    X, i, j, c = space.X, space.i, space.j, space.difference
    largest = 0.0
    for a in range(c.shape[0]):
        c[a] = X[i, a] - X[j, a]
        largest = max(largest, abs(c[a]))
    if largest >= SAME_FEATURES:
        return True
    fill(c, 0.0)
    return space.tol <= 2.0 * space.eps


@inner
def _shortfall(theta: Vector, space: NewtonSpace) -> float:
    """By how much theta misses the domain, x_i - x_j >= tol - 2 eps; negative inside."""
    short = space.tol - 2.0 * space.eps
    size = abs(space.tol) + 2.0 * space.eps
    for a in range(theta.shape[0]):
        short -= space.difference[a] * theta[a]
        size += abs(space.difference[a] * theta[a])
    # A theta within rounding of the edge counts as on it: from just inside, no step would fit.
    return short if short < -1e-14 * size else max(short, 0.0)


@inner
def _prepare(theta: Vector, state: int, space: NewtonSpace) -> None:
    """The walls at theta; a pinned pair starts exactly on its corner."""
    mu, eps, i, j = space.mu, space.eps, space.i, space.j
    others, upper, lower = space.others, space.upper, space.lower
    times(space.X, space.spanner, space.rest, theta, space.step_x)
    for k in range(mu.shape[0]):
        others[k] = space.w[k]
        upper[k] = mu[k] - space.step_x[k] - eps
        lower[k] = mu[k] - space.step_x[k] + eps
    if i >= 0:
        others[i] = 0.0
        others[j] = 0.0
        if state == UPPER_LOWER:
            lower[j] = upper[i] + gap_to_close(space)
            upper[j] = lower[j] - 2.0 * eps


@inner
def _move(t: float, theta: Vector, space: NewtonSpace) -> bool:
    """Take the step; return whether the set of arms that touch a wall is unchanged."""
    for a in range(theta.shape[0]):
        theta[a] += t * space.step[a]
    for k in range(space.upper.shape[0]):
        space.upper[k] -= t * space.step_x[k]
        space.lower[k] -= t * space.step_x[k]
        space.old_curvature[k] = space.curvature[k]
    return t == 1.0


@kernel
def _start(theta: Vector, space: NewtonSpace) -> int:
    """Move a theta outside the domain into it, to the best point along V^-1 c; return the state.

    Both the model that is optimal for eps = 0 and the best fit to the unstructured alternative lie
    on that line. Fills the walls.
    """
    short = -1.0
    if space.i >= 0:
        cholesky_solve(space.factor, theta.shape[0], space.difference, space.step)
        short = _shortfall(theta, space)
    unit = dot(space.difference, space.step)
    if short < 0.0 or unit == 0.0:
        _prepare(theta, int(FREE), space)
        return FREE
    for a in range(theta.shape[0]):
        theta[a] += short / unit * space.step[a]
    _prepare(theta, int(UPPER_LOWER), space)
    # From the edge, where the tube reverses as much as possible, to where the linear part suffices.
    for a in range(theta.shape[0]):
        space.step[a] *= 2.0 * space.eps / unit
    times(space.X, space.spanner, space.rest, space.step, space.step_x)
    G = gap_to_close(space)
    slope = slope_ahead(G, space)
    if not slope < 0.0:
        return UPPER_LOWER
    t, state = line_search(G, int(FREE), slope, 0.0, 0.0, space)
    _move(t, theta, space)
    return state


@inner
def _same_walls(space: NewtonSpace) -> bool:
    for k in range(space.curvature.shape[0]):
        if space.curvature[k] != space.old_curvature[k]:
            return False
    return True


@kernel
def minimise(
    theta: Vector,
    proximity: float,
    recentre: bool,
    graded: bool,
    steps: int,
    rtol: float,
    atol: float,
    space: NewtonSpace,
) -> Outcome:
    """Minimise F from `theta` (d,), in place.

    Returns (status, cost, bound, alpha, steps taken); `space.multipliers` holds z. The solve
    ends when cost - bound <= rtol cost + atol. With `recentre` the proximal term follows theta and
    vanishes; without, it stays at the given theta: the minimiser nearest to it, as `proximity`
    goes to 0. `graded` solves by rotations instead of normal equations.
    """
    i, j, eps, G = space.i, space.j, space.eps, gap_to_close(space)
    z, centre = space.multipliers, space.centre
    copy(theta, centre)
    if i >= 0 and not _difference(space):
        fill(z, 0.0)
        z[i] = 1.0
        z[j] = -1.0
        return INFEASIBLE, np.inf, np.inf, 1.0, 0
    state = _start(theta, space)
    if recentre:
        copy(theta, centre)
    simple, simple_alpha = unstructured(space)
    forget_information(space)
    F, alpha = evaluate(G, state, space)
    bound = 0.0
    recentred = 0
    tilted = True
    for taken in range(steps):
        if F - simple <= rtol * F + atol:
            fill(z, 0.0)
            return SOLVED, F, min(F, simple), simple_alpha, taken
        for a in range(theta.shape[0]):
            space.drift[a] = theta[a] - centre[a]
        if graded:
            slope0, drift, growth = graded_newton_step(proximity, state, space)
        else:
            slope0, drift, growth = newton_step(proximity, state, not recentre, space)
        settled = slope0 > -1e-15 * F and (tilted or slope0 >= 0.0)
        if settled:
            # Theta is minimal up to rounding; refine the multipliers only. While the proximal
            # term pulls, moving theta could only increase F; without it, a tiny slope may be a long
            # valley.
            alpha = refine_multipliers(alpha, space)
        else:
            t, after = line_search(G, state, slope0, drift, growth, space)
            settled = _move(t, theta, space) and after == (state if is_pinned(state) else FREE)
            state = after
            F, alpha = evaluate(G, state, space)
            tilted = tilted or t < 1.0
            settled = settled and _same_walls(space)
        if not settled or F - simple <= rtol * F + atol:
            continue
        pinned = is_pinned(state)
        if pinned:
            alpha = half_space_multiplier(space)
            z[i] += alpha
            z[j] -= alpha
        bound = min(F, dual_bound(z, alpha, theta, space))
        if F - bound <= rtol * F + atol:
            return SOLVED, F, bound, alpha, taken + 1
        if pinned:
            # The proximal term perturbs multipliers that should vanish. Use their sign only if they
            # exceed the perturbation, or if the term has just been centred here.
            noise = 1e-6 * abs(alpha) if tilted else 0.0
            onward = released(state, z[i], z[j], alpha, eps, noise)
            z[i] -= alpha
            z[j] += alpha
            if onward != state:
                state = onward
                F, alpha = evaluate(G, state, space)
                tilted = True
                continue
        if not recentre:
            return SOLVED, F, bound, alpha, taken + 1
        recentred += 1
        if recentred > 15:
            break
        copy(theta, centre)
        tilted = False
        proximity *= 0.1
    return STALLED, F, bound, alpha, steps


# Normal equations, then rotations to the requested accuracy, then rotations to LOOSE.
ATTEMPTS = 1 + 2 * len(PROXIMITIES)


@inner
def solve(theta: Vector, rtol: float, space: NewtonSpace) -> Outcome:
    """`minimise`, by normal equations or, where these do not certify, by rotations.

    The proximal terms of later attempts range from far below the lightest arm to above it, because
    flat directions need one or the other. If no attempt certifies `rtol`, LOOSE is tried; if that
    fails, all is tried again from zero, and then the status is STALLED. `hasty` spaces give up
    after the first attempt.
    """
    scale, worst, rounding, spread = cost_scales(space)
    copy(theta, space.start)
    outcome = (STALLED, np.inf, 0.0, 0.0, 0)
    for round_ in range(2):
        for attempt in range(ATTEMPTS):
            graded = attempt > 0
            loose = attempt > len(PROXIMITIES)
            proximity, steps = 1e-10, 60
            if graded:
                proximity, steps = PROXIMITIES[(attempt - 1) % len(PROXIMITIES)] * spread, 150
            copy(space.start, theta)
            accuracy = LOOSE if loose else rtol
            atol = rounding + ROUNDING * scale + (LOOSE_ABSOLUTE * worst if loose else 0.0)
            outcome = minimise(
                theta,
                proximity,
                True,
                graded,
                steps,
                accuracy,
                atol,
                space,
            )
            if outcome[0] != STALLED or space.hasty:
                return outcome
        if round_ > 0 or dot(space.start, space.start) == 0.0:
            break
        fill(space.start, 0.0)
    return outcome


@inner
def means_below(space: NewtonSpace, out: Vector) -> None:
    """mu - lambda (K,) at the minimiser; an arm without weight sits in the middle of the tube."""
    w, i, j = space.w, space.i, space.j
    for k in range(w.shape[0]):
        above, below = space.upper[k], space.lower[k]
        beyond = max(above, 0.0) + min(below, 0.0)
        out[k] = beyond if w[k] > 0.0 else 0.5 * (above + below)
    if i >= 0:
        out[i] = space.pair[0]
        out[j] = space.pair[1]
