"""The two arms of a pair inside the tube: which walls they touch, and what that costs.

A mean is written by how far it moves, down, from the given one: si = mu_i - a and sj = mu_j - b for
the means a of challenger i and b of incumbent j. The tube confines them to [u_i, l_i] and
[u_j, l_j], where u = mu - x - eps and l = mu - x + eps for linear values x: u belongs to the upper
wall. With G = tol - (mu_i - mu_j), the half-space a >= b + tol reads sj - si >= G. The pair costs

    g = min 1/2 w_i si^2 + 1/2 w_j sj^2
    subject to  u_i <= si <= l_i,  u_j <= sj <= l_j,  sj - si >= G.

g is convex and piecewise quadratic in (x_i, x_j) with the gradient (-z_i, -z_j), z the tube
multipliers: z_i = alpha + w_i si, z_j = -alpha + w_j sj. It has kinks, and the edge of its domain,
only where both arms touch a wall and sj - si = G at once: the four corners. A minimiser can sit on
such a corner, so each of them is a state of its own.
"""

from __future__ import annotations

from mislid._jit import inner

FREE = 0
# Both arms on a wall and sj - si = G: x_i - x_j is pinned.
UPPER_LOWER = 1  # i at its upper wall, j at its lower one: the edge of the domain
UPPER_UPPER = 2
LOWER_LOWER = 3
LOWER_UPPER = 4
# One side of a corner, for one-sided derivatives.
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
    """Where to go from a corner with multipliers zi, zj, alpha; the state itself if optimal.

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
