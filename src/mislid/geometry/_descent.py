"""The objective F and its slope along a step, and how far to follow it."""

from __future__ import annotations

from mislid.geometry._compile import inner, inner_loop
from mislid.geometry._problem import NewtonSpace, Problem
from mislid.geometry._walls import FREE, UPPER_LOWER, Pair, corner_at, is_pinned, pair_state


@inner
def gap_to_close(problem: Problem) -> float:
    """G = tol - (mu_i - mu_j); 0 for the projection."""
    if problem.i < 0:
        return 0.0
    return problem.tol - (problem.mu[problem.i] - problem.mu[problem.j])


@inner
def _pair_at(t: float, problem: Problem, state: int, space: NewtonSpace) -> Pair:
    """`pair_state` at t along the step."""
    i, j, upper, lower = problem.i, problem.j, space.upper, space.lower
    wi, wj, G = problem.w[i], problem.w[j], gap_to_close(problem)
    a, b = t * space.step_x[i], t * space.step_x[j]
    return pair_state(upper[i] - a, lower[i] - a, upper[j] - b, lower[j] - b, G, wi, wj, state)


@inner_loop
def evaluate(problem: Problem, state: int, space: NewtonSpace) -> tuple[float, float]:
    """F and alpha at the current walls; fills multipliers and curvature (K,)."""
    w, i, j, others = problem.w, problem.i, problem.j, space.others
    upper, lower, z, h = space.upper, space.lower, space.multipliers, space.curvature
    F = 0.0
    for k in range(w.shape[0]):
        excess = max(upper[k], 0.0) + min(lower[k], 0.0)
        z[k] = others[k] * excess
        h[k] = others[k] if excess != 0.0 else 0.0
        F += others[k] * excess * excess
    if i < 0:
        return 0.5 * F, 0.0
    A, B, z[i], z[j], h[i], h[j], alpha = _pair_at(0.0, problem, state, space)
    space.pair[0] = A
    space.pair[1] = B
    return 0.5 * (F + w[i] * A * A + w[j] * B * B), alpha


@inner_loop
def _slope(t: float, problem: Problem, state: int, space: NewtonSpace) -> float:
    """Derivative of F at t along the step."""
    w, i, j = problem.w, problem.i, problem.j
    upper, lower, step, others = space.upper, space.lower, space.step_x, space.others
    s = 0.0
    for k in range(w.shape[0]):
        move = t * step[k]
        s -= others[k] * (max(upper[k] - move, 0.0) + min(lower[k] - move, 0.0)) * step[k]
    if i < 0:
        return s
    _, _, zi, zj, _, _, _ = _pair_at(t, problem, state, space)
    return s - zi * step[i] - zj * step[j]


@inner
def line_search(
    problem: Problem, state: int, slope0: float, drift: float, growth: float, space: NewtonSpace
) -> tuple[float, int]:
    """A step length in (0, 1] near the minimum along the step, and the state it ends in.

    The derivative grows piecewise linearly and jumps up at corners of the pair; one of these may
    be the minimum. `drift + t growth` is the proximal term's part of it.
    """
    w, i, j = problem.w, problem.i, problem.j
    upper, lower, step, G = space.upper, space.lower, space.step_x, gap_to_close(problem)
    natural = state if is_pinned(state) else FREE
    low, slope_low, high = 0.0, slope0, 1.0
    end = natural
    speed = step[i] - step[j] if i >= 0 else 0.0
    if natural == FREE and speed != 0.0:
        edge = (G - (lower[j] - upper[i])) / speed
        if speed < 0.0 and edge <= high:
            high, end = max(edge, 0.0), UPPER_LOWER
        tie = (G - (upper[j] - upper[i])) / speed
        part = (G - (upper[j] - lower[i])) / speed
        for t in (min(tie, part), max(tie, part)):
            if problem.eps == 0.0 or t <= low or t >= high:
                continue
            a, b = t * step[i], t * step[j]
            corner, smaller, larger = corner_at(
                t == tie, upper[i] - a, lower[i] - a, upper[j] - b, lower[j] - b, G, w[i], w[j]
            )
            if corner == FREE:
                continue
            ahead, behind = (larger, smaller) if speed > 0.0 else (smaller, larger)
            proximal = drift + t * growth
            if _slope(t, problem, behind, space) + proximal >= 0.0:
                high, end = t, FREE
                break
            after = _slope(t, problem, ahead, space) + proximal
            if after >= 0.0:
                return t, corner
            low, slope_low = t, after
    slope_high = _slope(high, problem, natural, space) + (drift + high * growth)
    accept = 0.1 * abs(slope0)
    if slope_high <= accept:
        return high, end if slope_high < 0.0 else natural
    t = high
    for _ in range(40):
        t = low - slope_low * (high - low) / (slope_high - slope_low)
        margin = 0.02 * (high - low)
        t = min(max(t, low + margin), high - margin)
        slope = _slope(t, problem, natural, space) + (drift + t * growth)
        if abs(slope) <= accept:
            break
        if slope < 0.0:
            low, slope_low = t, slope
        else:
            high, slope_high = t, slope
    return t, natural
