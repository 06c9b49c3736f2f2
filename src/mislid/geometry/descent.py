"""The objective F and its slope along a step, and how far to follow it."""

from __future__ import annotations

from mislid._jit import inner, inner_loop, kernel
from mislid.geometry.problem import NewtonSpace
from mislid.geometry.walls import FREE, UPPER_LOWER, Pair, corner_at, is_pinned, pair_state


@inner
def gap_to_close(space: NewtonSpace) -> float:
    """G = tol - (mu_i - mu_j); 0 for the projection."""
    if space.i < 0:
        return 0.0
    return space.tol - (space.mu[space.i] - space.mu[space.j])


@inner
def unstructured(space: NewtonSpace) -> tuple[float, float]:
    """The bound of z = 0 and its alpha: what the pair costs if no other arm can tell."""
    G = gap_to_close(space)
    if space.i < 0 or G <= 0.0:
        return 0.0, 0.0
    wi, wj = space.w[space.i], space.w[space.j]
    if wi == 0.0 or wj == 0.0:
        return 0.0, 0.0
    alpha = G / (1.0 / wi + 1.0 / wj)
    return 0.5 * G * alpha, alpha


# G is the gap to close.
@inner
def _pair_at(t: float, G: float, state: int, space: NewtonSpace) -> Pair:
    """`pair_state` at t along the step."""
    i, j, w, upper, lower = space.i, space.j, space.w, space.upper, space.lower
    a, b = t * space.step_x[i], t * space.step_x[j]
    return pair_state(upper[i] - a, lower[i] - a, upper[j] - b, lower[j] - b, G, w[i], w[j], state)


@inner_loop
def evaluate(G: float, state: int, space: NewtonSpace) -> tuple[float, float]:
    """F and alpha at the current walls; fills multipliers and curvature (K,), and the pair (2,)."""
    i, j, w, others, upper, lower = (
        space.i,
        space.j,
        space.w,
        space.others,
        space.upper,
        space.lower,
    )
    z, h = space.multipliers, space.curvature
    F = 0.0
    for k in range(w.shape[0]):
        excess = max(upper[k], 0.0) + min(lower[k], 0.0)
        z[k] = others[k] * excess
        h[k] = others[k] if excess != 0.0 else 0.0
        F += others[k] * excess * excess
    if i < 0:
        return 0.5 * F, 0.0
    si, sj, z[i], z[j], h[i], h[j], alpha = _pair_at(0.0, G, state, space)
    space.pair[0] = si
    space.pair[1] = sj
    return 0.5 * (F + w[i] * si * si + w[j] * sj * sj), alpha


@inner_loop
def _slope(t: float, G: float, state: int, space: NewtonSpace) -> tuple[float, float]:
    """First and second derivative of F at t along the step."""
    i, j, upper, lower = space.i, space.j, space.upper, space.lower
    step, others = space.step_x, space.others
    slope, curvature = 0.0, 0.0
    for k in range(step.shape[0]):
        move = t * step[k]
        excess = max(upper[k] - move, 0.0) + min(lower[k] - move, 0.0)
        slope -= others[k] * excess * step[k]
        curvature += others[k] * step[k] * step[k] if excess != 0.0 else 0.0
    if i >= 0:
        _, _, zi, zj, hi, hj, _ = _pair_at(t, G, state, space)
        slope -= zi * step[i] + zj * step[j]
        curvature += hi * step[i] * step[i] + hj * step[j] * step[j]
    return slope, curvature


@inner
def slope_ahead(G: float, space: NewtonSpace) -> float:
    """Derivative of F along the step, at its start, on the far side of a corner there."""
    return _slope(1e-9, G, int(FREE), space)[0]


@kernel
def line_search(
    G: float, state: int, slope0: float, drift: float, growth: float, space: NewtonSpace
) -> tuple[float, int]:
    """A step length in (0, 1] near the minimum along the step, and the state it ends in.

    The derivative grows piecewise linearly and jumps up at corners of the pair; one of these may
    be the minimum. `drift + t growth` is the proximal term's part of it.
    """
    i, j, w, eps = space.i, space.j, space.w, space.eps
    upper, lower, step = space.upper, space.lower, space.step_x
    natural = state if is_pinned(state) else FREE
    low, slope_low, high = 0.0, slope0, 1.0
    accept = 0.5 * abs(slope0)
    end = natural
    speed = step[i] - step[j] if i >= 0 else 0.0
    if natural == FREE and speed != 0.0:
        edge = (G - (lower[j] - upper[i])) / speed
        if speed < 0.0 and edge <= high:
            high, end = max(edge, 0.0), UPPER_LOWER
        tie = (G - (upper[j] - upper[i])) / speed
        part = (G - (upper[j] - lower[i])) / speed
        for at_tie in (tie <= part, tie > part):
            t = tie if at_tie else part
            # A full step often ends on a corner, and then the next one starts there.
            rounding = 1e-14 * (abs(G) + abs(upper[i]) + abs(upper[j]))
            first = abs(t * speed) <= rounding
            last = abs((t - high) * speed) <= rounding
            if first or last:
                t = 0.0 if first else high
            elif t <= low or t >= high:
                continue
            if eps == 0.0:
                continue
            a, b = t * step[i], t * step[j]
            corner, smaller, larger = corner_at(
                at_tie, upper[i] - a, lower[i] - a, upper[j] - b, lower[j] - b, G, w[i], w[j]
            )
            if corner == FREE:
                continue
            ahead, behind = (larger, smaller) if speed > 0.0 else (smaller, larger)
            proximal = drift + t * growth
            before = _slope(t, G, behind, space)[0] + proximal
            if not first and before >= (accept if last else 0.0):
                high, end = t, FREE
                break
            after = _slope(t, G, ahead, space)[0] + proximal
            if after >= 0.0:
                return t, corner
            low, slope_low = t, after
    slope, curvature = _slope(high, G, natural, space)
    slope += drift + high * growth
    if slope <= accept:
        return high, end if slope < 0.0 else natural
    t, slope_high = high, slope
    for _ in range(40):
        # Newton's method on the slope; the secant where that leaves the bracket.
        t -= slope / (curvature + growth)
        margin = 0.01 * (high - low)
        if not low + margin < t < high - margin:
            t = low - slope_low * (high - low) / (slope_high - slope_low)
            t = min(max(t, low + margin), high - margin)
        slope, curvature = _slope(t, G, natural, space)
        slope += drift + t * growth
        if abs(slope) <= accept:
            break
        if slope < 0.0:
            low, slope_low = t, slope
        else:
            high, slope_high = t, slope
    return t, natural
