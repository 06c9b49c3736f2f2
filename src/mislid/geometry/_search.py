"""Compiled search for the closest alternative: bound every pair, solve only what the bounds leave.

Visit the pairs in increasing order of a lower bound. A pair that comes up with a crude bound gets
a better one; one whose bound is already good is solved. The search ends when the next bound
exceeds the best cost. The multipliers of solved pairs stay valid for ever, whatever the means and
the weights become, so in a sequence of similar calls one solve a call is the rule.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, inner_loop, kernel
from mislid.geometry._heap import Indices, heapify, sift_down
from mislid.geometry._linalg import (
    cholesky_solve,
    copy,
    dot,
    times,
    transposed_times,
)
from mislid.geometry._newton import SOLVED, STALLED, means_below, solve
from mislid.geometry._problem import (
    FACTOR,
    MULTIPLIERS,
    NOBODY,
    NewtonSpace,
    Problem,
    newton_space,
    set_metric,
)

CRUDE, GOOD, DONE = 0, 1, 2

# Of the type of `SearchSpace.slot`: numba compiles another version for any other.
NO_SLOT: int = cast(int, np.int32(-1))


class SearchSpace(NamedTuple):
    """What a search needs and what it remembers from earlier calls.

    P = m (K - m) pairs; `kept_*` hold certificates of solved pairs, one per slot.
    """

    newton: NewtonSpace
    linear: Vector  # (K,) linear part of the projection
    centred: Vector  # (K,) means less that
    projected: Vector  # (K,) projection less that
    floor: Vector  # (K,) the projection's multipliers: they bound every pair
    centre: Vector  # (d,) theta of the projection
    theta: Vector  # (d,) theta of the answer
    below: Vector  # (K,) means minus the answer
    multipliers: Vector  # (K,) of the answer
    local: Vector  # (d,)
    direction: Vector  # (d,)
    along: Vector  # (K,)
    challengers: Indices  # (K - m,)
    bounds: Vector  # (P,)
    quality: npt.NDArray[np.int8]  # (P,)
    exempt: npt.NDArray[np.int8]  # (P,) pairs that the caller leaves out, else 0
    slot: npt.NDArray[np.int32]  # (P,)
    heap: Indices  # (P,)
    place: Indices  # (K,) of an arm among challengers or incumbents
    kept_pair: Indices  # (slots, 2)
    kept_multipliers: Matrix  # (slots, K)
    kept_theta: Matrix  # (slots, d)
    kept_alpha: Vector  # (slots,)
    kept_age: Indices  # (slots,)
    clock: Indices  # (1,)
    level: Vector  # (1,) largest of the means


def search_space(X: Matrix, m: int, slots: int) -> SearchSpace:
    """A workspace for the m(K - m) pairs, remembering the certificates of `slots` of them."""
    K, d = X.shape
    pairs = m * (K - m)
    return SearchSpace(
        newton=newton_space(X),
        linear=np.zeros(K),
        centred=np.zeros(K),
        projected=np.zeros(K),
        floor=np.zeros(K),
        centre=np.zeros(d),
        theta=np.zeros(d),
        below=np.zeros(K),
        multipliers=np.zeros(K),
        local=np.zeros(d),
        direction=np.zeros(d),
        along=np.zeros(K),
        challengers=np.zeros(K - m, np.int64),
        bounds=np.zeros(pairs),
        quality=np.zeros(pairs, np.int8),
        exempt=np.zeros(pairs, np.int8),
        slot=np.zeros(pairs, np.int32),
        heap=np.zeros(pairs, np.int64),
        place=np.zeros(K, np.int64),
        kept_pair=np.full((slots, 2), -1, np.int64),
        kept_multipliers=np.zeros((slots, K)),
        kept_theta=np.zeros((slots, d)),
        kept_alpha=np.zeros(slots),
        kept_age=np.zeros(slots, np.int64),
        clock=np.zeros(1, np.int64),
        level=np.zeros(1),
    )


@inner_loop
def _kept_bound(
    slot: int, i: int, j: int, eps: float, tol: float, w: Vector, space: SearchSpace
) -> float:
    """The bound of a kept certificate at the present means and weights."""
    z, mu, alpha = space.kept_multipliers[slot], space.centred, space.kept_alpha[slot]
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
def _linear_bound(
    X: Matrix, i: int, j: int, eps: float, tol: float, w: Vector, space: SearchSpace
) -> float:
    """What the multipliers s z_lin add to the projection's cost, for the best s in [0, 1].

    z_lin = (D A V^-1 A' - I) u is optimal for eps = 0, z = 0 is the unstructured bound.
    """
    d = X.shape[1]
    g, along, at = space.direction, space.along, space.projected
    newton = space.newton
    for a in range(d):
        space.local[a] = X[i, a] - X[j, a]
    cholesky_solve(space.newton.matrices[FACTOR], d, space.local, g)
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
def _centre_means(X: Matrix, mu: Vector, space: SearchSpace) -> None:
    """Measure the means from the centre: distances, not a common level, carry the digits."""
    times(X, space.newton.spanner, space.newton.rest, space.centre, space.linear)
    for k in range(mu.shape[0]):
        space.centred[k] = mu[k] - space.linear[k]


@inner
def _aim(X: Matrix, mu: Vector, w: Vector, space: SearchSpace) -> None:
    """Get ready to project the means, from the last projection on."""
    set_metric(X, w, space.newton)
    space.level[0] = 0.0
    for k in range(mu.shape[0]):
        space.level[0] = max(space.level[0], abs(mu[k]))
    _centre_means(X, mu, space)


@inner
def _keep_projection(X: Matrix, eps: float, mu: Vector, w: Vector, space: SearchSpace) -> None:
    """Move the centre to the projection just found."""
    projection = Problem(X, eps, space.centred, w, NOBODY, NOBODY, 0.0, space.level[0])
    means_below(projection, space.newton, space.below)
    copy(space.newton.arms[MULTIPLIERS], space.floor)
    for a in range(X.shape[1]):
        space.centre[a] += space.local[a]
    _centre_means(X, mu, space)
    for k in range(mu.shape[0]):
        space.projected[k] = space.centred[k] - space.below[k]


@inner
def _list_pairs(
    incumbents: Indices, w: Vector, tol: float, floor: float, space: SearchSpace
) -> None:
    """Give every pair the projection's cost `floor` and, on top, its unstructured bound there."""
    m = incumbents.shape[0]
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
    for s in range(space.kept_pair.shape[0]):
        i, j = space.kept_pair[s, 0], space.kept_pair[s, 1]
        if i >= 0 and place[i] >= 0 and place[j] < 0:
            space.slot[place[i] * m - 1 - place[j]] = s


@inner
def _slot_for(p: int, i: int, j: int, space: SearchSpace) -> int:
    """The slot that keeps pair p from now on: its own, an empty one, or the oldest."""
    if space.slot[p] >= 0:
        return space.slot[p]
    oldest = 0
    for s in range(space.kept_pair.shape[0]):
        if space.kept_pair[s, 0] < 0:
            oldest = s
            break
        if space.kept_age[s] < space.kept_age[oldest]:
            oldest = s
    gone_i, gone_j = space.kept_pair[oldest, 0], space.kept_pair[oldest, 1]
    if gone_i >= 0 and space.place[gone_i] >= 0 and space.place[gone_j] < 0:
        m = space.bounds.shape[0] // space.challengers.shape[0]
        space.slot[space.place[gone_i] * m - 1 - space.place[gone_j]] = -1
    space.kept_pair[oldest, 0] = i
    space.kept_pair[oldest, 1] = j
    space.slot[p] = oldest
    return oldest


@inner
def _keep_pair(p: int, i: int, j: int, alpha: float, space: SearchSpace) -> None:
    """Keep the certificate of the pair just solved."""
    s = _slot_for(p, i, j, space)
    space.clock[0] += 1
    space.kept_age[s] = space.clock[0]
    space.kept_alpha[s] = alpha
    copy(space.newton.arms[MULTIPLIERS], space.kept_multipliers[s])
    for a in range(space.local.shape[0]):
        space.kept_theta[s, a] = space.local[a] + space.centre[a]


@inner
def _solve(
    X: Matrix,
    eps: float,
    w: Vector,
    i: int,
    j: int,
    tol: float,
    warm: int,
    rtol: float,
    space: SearchSpace,
) -> tuple[int, float, float, float]:
    """Solve a pair or the projection around the centre, from the theta of slot `warm` if any.

    One function for both: each that calls `solve` takes seconds to compile.
    """
    problem = Problem(X, eps, space.centred, w, i, j, tol, space.level[0])
    while True:
        for a in range(X.shape[1]):
            space.local[a] = space.kept_theta[warm, a] - space.centre[a] if warm >= 0 else 0.0
        status, cost, bound, alpha, _ = solve(problem, space.local, rtol, space.newton)
        if status != STALLED or warm < 0:
            return status, cost, bound, alpha
        warm = -1


@inner
def project_means(
    X: Matrix, eps: float, mu: Vector, w: Vector, rtol: float, space: SearchSpace
) -> tuple[int, float]:
    """Project the means from the last projection on; returns the status and the certified bound."""
    _aim(X, mu, w, space)
    status, _, floor, _ = _solve(X, eps, w, NOBODY, NOBODY, 0.0, NO_SLOT, rtol, space)
    if status != STALLED:
        _keep_projection(X, eps, mu, w, space)
    return status, floor


Found = tuple[int, float, float, int, int, float, int]


@inner
def search_pairs(
    X: Matrix,
    eps: float,
    w: Vector,
    incumbents: Indices,
    tol: float,
    floor: float,
    rtol: float,
    space: SearchSpace,
) -> Found:
    """`search` after `project_means`, whose certified bound is `floor`."""
    m = incumbents.shape[0]
    _list_pairs(incumbents, w, tol, floor, space)
    size = space.heap.shape[0]
    heapify(space.heap, size, space.bounds)
    cost, bound, best_i, best_j, best_alpha, solves = np.inf, np.inf, -1, -1, 0.0, 0
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
            if space.slot[p] >= 0:
                better = _kept_bound(space.slot[p], i, j, eps, tolerance, w, space)
            else:
                better = floor + _linear_bound(X, i, j, eps, tolerance, w, space)
            space.bounds[p] = max(space.bounds[p], better)
        else:
            status, pair_cost, pair_bound, alpha = _solve(
                X, eps, w, i, j, tolerance, space.slot[p], rtol, space
            )
            if status == STALLED:
                return STALLED, pair_cost, pair_bound, i, j, alpha, solves
            _keep_pair(p, i, j, alpha, space)
            space.quality[p] = DONE
            space.bounds[p] = np.inf
            solves += 1
            if pair_cost < cost or best_i < 0:
                cost, bound, best_i, best_j, best_alpha = pair_cost, pair_bound, i, j, alpha
                level = space.level[0]
                problem = Problem(X, eps, space.centred, w, i, j, tolerance, level)
                means_below(problem, space.newton, space.below)
                copy(space.newton.arms[MULTIPLIERS], space.multipliers)
                for a in range(X.shape[1]):
                    space.theta[a] = space.local[a] + space.centre[a]
        sift_down(space.heap, size, space.bounds, 0)
    return SOLVED, cost, bound, best_i, best_j, best_alpha, solves


@kernel
def search(
    X: Matrix,
    eps: float,
    mu: Vector,
    w: Vector,
    incumbents: Indices,
    tol: float,
    rtol: float,
    space: SearchSpace,
) -> Found:
    """The closest alternative: (status, cost, bound, i, j, alpha, pairs solved).

    `space.below` (K,) holds means minus the alternative, `space.theta` its theta and
    `space.multipliers` its z. Where all pairs are exempt, the cost is infinite and i = j = -1.
    """
    status, floor = project_means(X, eps, mu, w, rtol, space)
    if status == STALLED:
        return STALLED, np.inf, 0.0, -1, -1, 0.0, 0
    return search_pairs(X, eps, w, incumbents, tol, floor, rtol, space)
