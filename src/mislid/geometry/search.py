"""Compiled search for the closest alternative, which bounds every pair and solves few.

Visit the pairs in increasing order of a lower bound. A pair with a crude bound gets a better one; a
pair with a good bound is solved. The search ends when the next bound exceeds the best cost. The
multipliers of solved pairs stay valid at all other means and weights, so most calls in a sequence
of similar ones need one solve.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mislid._jit import (
    ArmOrder,
    Indices,
    Matrix,
    PerArm,
    PerFeature,
    Struct,
    Vector,
    inner,
    inner_loop,
    kernel,
)
from mislid.geometry.linalg import cholesky_solve, copy, dot, fill, times, transposed_times
from mislid.geometry.newton import SOLVED, STALLED, means_below, solve
from mislid.geometry.order import ROOT, heapify, sift_down
from mislid.geometry.problem import NOBODY, NewtonSpace, set_metric, set_problem

CRUDE, GOOD, DONE = 0, 1, 2


class SearchSpace(Struct):
    """The workspace of a search, and its memory of earlier calls.

    P = m (K - m) pairs; `kept_*` hold certificates of solved pairs, one per slot. The means less
    the projection's linear part, and the weights, are in `newton`.
    """

    newton: NewtonSpace
    linear: PerArm  # linear part of the projection
    projected: PerArm  # projection less that
    floor: PerArm  # the projection's multipliers: they bound every pair
    below: PerArm  # means minus the answer
    proof: PerArm  # multipliers of the answer
    along: PerArm
    middle: PerFeature  # theta of the projection
    theta: PerFeature  # theta of the answer
    local: PerFeature
    direction: PerFeature
    bounds: Annotated[Vector, ("P",)]
    quality: Annotated[Indices, ("P",)]
    exempt: Annotated[Indices, ("P",)]  # 1 for pairs that the caller excludes
    slot: Annotated[Indices, ("P",)]
    heap: Annotated[Indices, ("P",)]
    challengers: ArmOrder  # K - m of them
    place: ArmOrder  # of an arm among challengers or incumbents
    kept_challenger: Indices  # (slots,)
    kept_incumbent: Annotated[Indices, ("slots",)]
    kept_age: Annotated[Indices, ("slots",)]
    kept_multipliers: Annotated[Matrix, ("slots", "K")]
    kept_theta: Annotated[Matrix, ("slots", "d")]
    kept_alpha: Annotated[Vector, ("slots",)]
    level: float  # largest of the means
    base: float  # certified bound of the projection: a floor under every pair
    solved: int  # how many pairs were solved so far


@inner_loop
def _kept_bound(slot: int, i: int, j: int, eps: float, tol: float, space: SearchSpace) -> float:
    """The bound of a kept certificate at the present means and weights."""
    z, mu, w = space.kept_multipliers[slot], space.newton.mu, space.newton.w
    alpha = space.kept_alpha[slot]
    value, square = alpha * tol, 0.0
    for k in range(mu.shape[0]):
        v = z[k]
        if v != 0.0 and k != i and k != j:
            value += v * mu[k] - eps * abs(v)
            square += v * v / w[k]
    for k in (i, j):
        v = z[k] + (alpha if k == j else -alpha)
        value -= eps * abs(z[k])
        if v != 0.0:
            value += v * mu[k]
            square += v * v / w[k]
    return value * value / (2.0 * square) if value > 0.0 else 0.0


@inner_loop
def _linear_bound(i: int, j: int, eps: float, tol: float, space: SearchSpace) -> float:
    """The bound of s z_lin on top of the projection's cost, for the best s in [0, 1].

    z_lin = (D A V^-1 A' - I) u is optimal for eps = 0, z = 0 is the unstructured bound.
    """
    newton, X, w = space.newton, space.newton.X, space.newton.w
    d = X.shape[1]
    g, along, at = space.direction, space.along, space.projected
    for a in range(d):
        space.local[a] = X[i, a] - X[j, a]
    cholesky_solve(newton.factor, d, space.local, g)
    q1 = dot(space.local, g)
    times(X, newton.spanner, newton.rest, g, along)
    size, value = 0.0, 0.0
    for k in range(along.shape[0]):
        z = -w[k] * along[k]
        if k == i:
            z += 1.0
        elif k == j:
            z -= 1.0
        along[k] = z
        size += abs(z)
        value += z * at[k]
    transposed_times(X, newton.spanner, newton.rest, along, g)
    for a in range(d):
        if abs(g[a]) > 1e-10 * size:
            return 0.0  # V is too ill-conditioned for a feasible z_lin
    n0 = at[j] - at[i] + tol
    n1 = value - eps * size
    if w[i] == 0.0 or w[j] == 0.0:
        n = n0 + n1
        return n * n / (2.0 * q1) if n > 0.0 else 0.0
    q0 = 1.0 / w[i] + 1.0 / w[j]
    gain = q0 - q1
    # rest = 1 - s, written so that nothing cancels where q0 is many orders above q1.
    rest = 1.0
    if n1 * q0 + n0 * gain > 0.0:
        rest = max(0.0, -n1 * q1 / (gain * (n0 + n1))) if gain > 0.0 else 0.0
    n = n0 + (1.0 - rest) * n1
    if n <= 0.0:
        return 0.0
    return n * n / (2.0 * (q1 + rest * rest * gain))


@inner
def _centre_means(mu: Vector, space: SearchSpace) -> None:
    """Subtract the centre from the means, so that their common level loses no digits."""
    newton = space.newton
    times(newton.X, newton.spanner, newton.rest, space.middle, space.linear)
    for k in range(mu.shape[0]):
        newton.mu[k] = mu[k] - space.linear[k]


@inner
def _aim(mu: Vector, w: Vector, space: SearchSpace) -> None:
    """Prepare to project the means, starting at the last projection."""
    set_metric(w, space.newton)
    level = 0.0
    for k in range(mu.shape[0]):
        level = max(level, abs(mu[k]))
    space.level = level
    _centre_means(mu, space)


@inner
def _keep_projection(mu: Vector, space: SearchSpace) -> None:
    """Move the centre to the projection just found."""
    means_below(space.newton, space.below)
    copy(space.newton.multipliers, space.floor)
    for a in range(space.middle.shape[0]):
        space.middle[a] += space.local[a]
    _centre_means(mu, space)
    for k in range(mu.shape[0]):
        space.projected[k] = space.newton.mu[k] - space.below[k]


@inner
def aim_at_projection(w: Vector, found: SearchSpace, space: SearchSpace) -> None:
    """Prepare to search the pairs around the projection in `found`, at other weights.

    The projection is a model, so it is its own projection at no cost.
    """
    set_metric(w, space.newton)
    copy(found.linear, space.linear)
    copy(found.projected, space.projected)
    copy(found.middle, space.middle)
    space.level = found.level
    forget_means(space)


@inner
def forget_means(space: SearchSpace) -> None:
    """Prepare to search the pairs around the projection instead of the means."""
    copy(space.projected, space.newton.mu)
    fill(space.floor, 0.0)
    space.base = 0.0


@inner
def list_pairs(incumbents: Indices, tol: float, space: SearchSpace) -> None:
    """Give every pair the projection's cost and, on top, its unstructured bound there."""
    m, floor, w = incumbents.shape[0], space.base, space.newton.w
    place, at, linear = space.place, space.projected, space.linear
    for k in range(w.shape[0]):
        place[k] = 0
    for b in range(m):
        place[incumbents[b]] = -1 - b
    n = 0
    for k in range(w.shape[0]):
        if place[k] >= 0:
            space.challengers[n] = k
            place[k] = n
            n += 1
    for a in range(n):
        i = space.challengers[a]
        for b in range(m):
            p, j = a * m + b, incumbents[b]
            gap = (at[j] - at[i]) + (linear[j] - linear[i]) + tol
            bound = floor
            if gap > 0.0:
                bound += gap * gap / (2.0 * (1.0 / w[i] + 1.0 / w[j]))
            space.bounds[p] = np.inf if space.exempt[p] else bound
            space.quality[p] = DONE if space.exempt[p] else CRUDE
            space.slot[p] = -1
            space.heap[p] = p
    for s in range(space.kept_age.shape[0]):
        i, j = space.kept_challenger[s], space.kept_incumbent[s]
        if i >= 0 and place[i] >= 0 and place[j] < 0:
            space.slot[place[i] * m - 1 - place[j]] = s


@inner
def _slot_for(p: int, i: int, j: int, m: int, space: SearchSpace) -> int:
    """The slot that keeps pair p from now on: its own, an empty one, or the oldest."""
    if space.slot[p] >= 0:
        return space.slot[p]
    oldest = 0
    for s in range(space.kept_age.shape[0]):
        if space.kept_challenger[s] < 0:
            oldest = s
            break
        if space.kept_age[s] < space.kept_age[oldest]:
            oldest = s
    gone_i, gone_j = space.kept_challenger[oldest], space.kept_incumbent[oldest]
    if gone_i >= 0 and space.place[gone_i] >= 0 and space.place[gone_j] < 0:
        space.slot[space.place[gone_i] * m - 1 - space.place[gone_j]] = -1
    space.kept_challenger[oldest] = i
    space.kept_incumbent[oldest] = j
    space.slot[p] = oldest
    return oldest


@inner
def keep_pair(p: int, i: int, j: int, m: int, alpha: float, space: SearchSpace) -> None:
    """Keep the certificate of the pair just solved."""
    s = _slot_for(p, i, j, m, space)
    space.solved += 1
    space.kept_age[s] = space.solved
    space.kept_alpha[s] = alpha
    copy(space.newton.multipliers, space.kept_multipliers[s])
    for a in range(space.local.shape[0]):
        space.kept_theta[s, a] = space.local[a] + space.middle[a]


@inner
def set_start(slot: int, space: SearchSpace) -> None:
    """Start from the theta that a slot keeps, or from the projection."""
    for a in range(space.local.shape[0]):
        start = space.kept_theta[slot, a] - space.middle[a] if slot >= 0 else 0.0
        space.local[a] = start


@inner
def _keep_answer(space: SearchSpace) -> None:
    """Keep the cheapest pair so far, just solved: means, theta and multipliers."""
    means_below(space.newton, space.below)
    copy(space.newton.multipliers, space.proof)
    for a in range(space.theta.shape[0]):
        space.theta[a] = space.local[a] + space.middle[a]


@kernel
def better_bound(p: int, i: int, j: int, eps: float, tol: float, space: SearchSpace) -> float:
    """A better bound for a pair with a crude one: that of a kept certificate, or the linear one."""
    if space.slot[p] >= 0:
        return _kept_bound(space.slot[p], i, j, eps, tol, space)
    return space.base + _linear_bound(i, j, eps, tol, space)


@kernel
def project_means(
    eps: float, mu: Vector, w: Vector, rtol: float, space: SearchSpace
) -> tuple[int, float, float]:
    """The nearest model to the means mu (K,) at weights w (K,): (status, cost, bound).

    It is `linear` + `projected`; `search_pairs` starts from there.
    """
    _aim(mu, w, space)
    set_start(int(NOBODY), space)
    set_problem(int(NOBODY), int(NOBODY), eps, 0.0, space.level, space.newton)
    status, cost, bound, _, _ = solve(space.local, rtol, space.newton)
    if status != STALLED:
        _keep_projection(mu, space)
        space.base = bound
    return status, cost, bound


Found = tuple[int, float, float, int, int, float, int]


@kernel
def search_pairs(
    eps: float, incumbents: Indices, tol: float, rtol: float, space: SearchSpace
) -> Found:
    """The closest alternative: (status, cost, bound, i, j, alpha, pairs solved).

    Around the means that were projected last. `below` holds means minus the alternative, `theta`
    its theta and `proof` its z. Where all pairs are exempt, the cost is infinite and i = j = -1.
    """
    cost, bound, best_i, best_j, best_alpha, solves = np.inf, np.inf, -1, -1, 0.0, 0
    m, size, level = incumbents.shape[0], space.bounds.shape[0], space.level
    list_pairs(incumbents, tol, space)
    heapify(space.heap, size, space.bounds)
    while True:
        p = space.heap[0]
        if space.quality[p] == DONE:
            break
        if best_i >= 0 and space.bounds[p] >= cost * (1.0 - 1e-10):
            break
        i, j = space.challengers[p // m], incumbents[p % m]
        tolerance = tol + (space.linear[j] - space.linear[i])
        if space.quality[p] == CRUDE:
            space.quality[p] = GOOD
            better = better_bound(p, i, j, eps, tolerance, space)
            space.bounds[p] = max(space.bounds[p], better)
        else:
            set_start(space.slot[p], space)
            set_problem(i, j, eps, tolerance, level, space.newton)
            status, pair_cost, pair_bound, alpha, _ = solve(space.local, rtol, space.newton)
            if status == STALLED:
                return STALLED, pair_cost, pair_bound, i, j, alpha, solves
            keep_pair(p, i, j, m, alpha, space)
            space.quality[p] = DONE
            space.bounds[p] = np.inf
            solves += 1
            if pair_cost < cost or best_i < 0:
                cost, bound, best_i, best_j, best_alpha = pair_cost, pair_bound, i, j, alpha
                _keep_answer(space)
        sift_down(space.heap, size, space.bounds, int(ROOT))
    return SOLVED, cost, bound, best_i, best_j, best_alpha, solves
