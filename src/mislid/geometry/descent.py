"""The objective F of a pair inside the tube, its slope along a step, and the line search.

A mean is written by how far it moves, down, from the given one: si = mu_i - a and sj = mu_j - b for
the means a of challenger i and b of incumbent j. The tube confines them to [u_i, l_i] and
[u_j, l_j], where u = mu - x - eps and l = mu - x + eps for linear values x: u belongs to the upper
wall. With G = tol - (mu_i - mu_j), the half-space a >= b + tol reads sj - si >= G. The pair costs

    g = min 1/2 w_i si^2 + 1/2 w_j sj^2
    subject to  u_i <= si <= l_i,  u_j <= sj <= l_j,  sj - si >= G.

g is convex and piecewise quadratic in (x_i, x_j) with the gradient (-z_i, -z_j), z the tube
multipliers: z_i = alpha + w_i si, z_j = -alpha + w_j sj. It has kinks, and the edge of its domain,
only where both arms touch a wall and sj - si = G at once: the four corners. A minimiser can sit on
such a corner, so each corner is a separate state.
"""

from __future__ import annotations

from mislid._jit import inner, inner_loop, kernel
from mislid.geometry.problem import NewtonSpace

FREE = 0
# Both arms on a wall and sj - si = G: x_i - x_j is pinned.
UPPER_LOWER = 1  # i at its upper wall, j at its lower one: the edge of the domain
UPPER_UPPER = 2
LOWER_LOWER = 3
LOWER_UPPER = 4
# Sides of a corner, for one-sided derivatives.
TIED_TO_J = 5
TIED_TO_I = 6
APART = 7

Pair = tuple[float, float, float, float, float, float, float]


@inner
def is_pinned(state: int) -> bool:
    """Whether the state fixes x_i - x_j."""
    return (
        state == UPPER_LOWER or state == UPPER_UPPER or state == LOWER_LOWER or state == LOWER_UPPER
    )


@inner
def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


@inner
def pair_state(
    ui: float, li: float, uj: float, lj: float, G: float, wi: float, wj: float, state: int
) -> Pair:
    """si, sj, z_i, z_j, the curvatures h_i, h_j of g in x_i, x_j, and alpha.

    In a pinned state alpha depends on the other arms: it is left out of z_i and z_j.
    """
    if is_pinned(state):
        si = li if state == LOWER_LOWER or state == LOWER_UPPER else ui
        sj = uj if state == UPPER_UPPER or state == LOWER_UPPER else lj
        return si, sj, wi * si, wj * sj, wi, wj, 0.0
    si = _clip(0.0, ui, li)
    sj = _clip(0.0, uj, lj)
    if wi == 0.0:
        si = _clip(sj - G, ui, li)
    elif wj == 0.0:
        sj = _clip(si + G, uj, lj)
    if state == APART or (state == FREE and sj - si >= G):
        zi, zj = wi * si, wj * sj
        return si, sj, zi, zj, wi if zi != 0.0 else 0.0, wj if zj != 0.0 else 0.0, 0.0
    return _tied(ui, li, uj, lj, G, wi, wj, state)


@inner
def _tied_target(G: float, wi: float, wj: float, otherwise: float) -> float:
    """The best si under sj = si + G with no walls."""
    return -wj * G / (wi + wj) if wi + wj > 0.0 else otherwise


@inner
def _tied(
    ui: float, li: float, uj: float, lj: float, G: float, wi: float, wj: float, state: int
) -> Pair:
    """`pair_state` where sj = si + G binds: at the target, or at the first wall before it."""
    target = _tied_target(G, wi, wj, ui)
    w = wi + wj
    i_first_above = ui >= uj - G if state == FREE else state == TIED_TO_I
    i_first_below = li <= lj - G if state == FREE else state == TIED_TO_I
    if (target < ui and i_first_above) or (target > li and i_first_below):
        si = ui if target < ui and i_first_above else li
        alpha = wj * (si + G)
        return si, si + G, alpha + wi * si, 0.0, w, 0.0, alpha
    if target < uj - G or target > lj - G:
        sj = uj if target < uj - G else lj
        alpha = wi * (G - sj)
        return sj - G, sj, 0.0, wj * sj - alpha, 0.0, w, alpha
    # Both formulas give alpha; the lighter arm moves more and loses fewer digits.
    alpha = -wi * target if wi <= wj else wj * (target + G)
    return target, target + G, 0.0, 0.0, 0.0, 0.0, alpha


@inner
def corner_at(
    tie: bool, ui: float, li: float, uj: float, lj: float, G: float, wi: float, wj: float
) -> tuple[int, int, int]:
    """The kink at a point with u_j - u_i = G (`tie`) or u_j - l_i = G, and its two sides.

    Returns the corner (FREE where g is smooth), the state on the side of smaller x_i - x_j and the
    state on the side of larger x_i - x_j.
    """
    if not tie:
        if wi > 0.0 and wj > 0.0 and li < 0.0 and uj > 0.0:
            above = _tied_target(G, wi, wj, li) < li
            return LOWER_UPPER, TIED_TO_J if above else TIED_TO_I, APART
        return FREE, FREE, FREE
    target = _tied_target(G, wi, wj, 0.5 * (ui + li))
    if target < ui and wj > 0.0 and uj > 0.0:
        return UPPER_UPPER, TIED_TO_I, APART if wi > 0.0 and ui >= 0.0 else TIED_TO_J
    if target > li and wi > 0.0 and li < 0.0:
        return LOWER_LOWER, TIED_TO_J, APART if wj > 0.0 and lj <= 0.0 else TIED_TO_I
    return FREE, FREE, FREE


@inner
def released(state: int, zi: float, zj: float, alpha: float, eps: float, noise: float) -> int:
    """The state after a corner with multipliers zi, zj, alpha; the same state if optimal.

    A wrong sign below `noise` does not count.
    """
    if eps == 0.0:
        return state if alpha >= 0.0 else APART
    at_lower = state == LOWER_LOWER or state == LOWER_UPPER
    wrong_i = zi > noise if at_lower else zi < -noise
    wrong_j = zj < -noise if state == UPPER_UPPER or state == LOWER_UPPER else zj > noise
    if state == UPPER_LOWER:
        return FREE if wrong_i or wrong_j or alpha < 0.0 else state
    if state == UPPER_UPPER and wrong_i:
        return TIED_TO_J
    if state == LOWER_LOWER and wrong_j:
        return TIED_TO_I
    if alpha < 0.0:
        return APART
    if state == LOWER_UPPER and wrong_i and wrong_j:
        return TIED_TO_J if zi + zj > 0.0 else TIED_TO_I
    if wrong_i:
        return TIED_TO_J
    return TIED_TO_I if wrong_j else state


@inner
def gap_to_close(space: NewtonSpace) -> float:
    """G = tol - (mu_i - mu_j); 0 for the projection."""
    if space.i < 0:
        return 0.0
    return space.tol - (space.mu[space.i] - space.mu[space.j])


@inner
def unstructured(space: NewtonSpace) -> tuple[float, float]:
    """The bound of z = 0 and its alpha: the cost if no other arm matters."""
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
