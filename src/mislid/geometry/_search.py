"""Compiled search for the closest alternative: bound every pair, solve only what the bounds leave.

Visit the pairs in increasing order of a lower bound. A pair that comes up with a crude bound gets
a better one; one whose bound is already good is solved. The search ends when the next bound
exceeds the best cost. The multipliers of solved pairs stay valid for ever, whatever the means and
the weights become, so in a sequence of similar calls one solve a call is the rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, inner_loop, kernel
from mislid.geometry._heap import ROOT, Indices, heapify, sift_down
from mislid.geometry._linalg import (
    cholesky_solve,
    copy,
    dot,
    fill,
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


# Rows of `SearchSpace.arms`.
LINEAR = 0  # linear part of the projection
CENTRED = 1  # means less that
PROJECTED = 2  # projection less that
FLOOR = 3  # the projection's multipliers: they bound every pair
BELOW = 4  # means minus the answer
PROOF = 5  # multipliers of the answer
ALONG = 6
# Rows of `SearchSpace.features`.
MIDDLE = 0  # theta of the projection
THETA = 1  # theta of the answer
LOCAL = 2
DIRECTION = 3
# Rows of `SearchSpace.pairs`.
QUALITY = 0
EXEMPT = 1  # pairs that the caller leaves out, else 0
SLOT = 2
HEAP = 3
# Rows of `SearchSpace.places`.
CHALLENGERS = 0  # K - m of them
PLACE = 1  # of an arm among challengers or incumbents
# Columns of `SearchSpace.kept`.
CHALLENGER, INCUMBENT, AGE = 0, 1, 2
# Positions in `SearchSpace.scalars`.
LEVEL = 0  # largest of the means
CLOCK = 1  # how many pairs were solved so far
BASE = 2  # certified bound of the projection: a floor under every pair
# Parts of a search.
ALL, PROJECTION, PAIRS = 0, 1, 2


class SearchSpace(NamedTuple):
    """What a search needs and what it remembers from earlier calls.

    P = m (K - m) pairs; `kept*` hold certificates of solved pairs, one per slot: the pair and its
    age, multipliers, theta and, last, alpha. Few arrays of many vectors: see `NewtonSpace`.
    """

    newton: NewtonSpace
    arms: Matrix  # (7, K)
    features: Matrix  # (4, d)
    bounds: Vector  # (P,)
    pairs: Indices  # (4, P)
    places: Indices  # (2, K)
    kept: Indices  # (slots, 3)
    kept_multipliers: Matrix  # (slots, K)
    kept_theta: Matrix  # (slots, d + 1)
    scalars: Vector  # (3,)


def search_space(
    X: Matrix, m: int, slots: int, units: tuple[Indices, Indices] | None = None
) -> SearchSpace:
    """A workspace for the m(K - m) pairs, remembering the certificates of `slots` of them."""
    K, d = X.shape
    count = m * (K - m)
    return SearchSpace(
        newton=newton_space(X, units),
        arms=np.zeros((ALONG + 1, K)),
        features=np.zeros((DIRECTION + 1, d)),
        bounds=np.zeros(count),
        pairs=np.zeros((HEAP + 1, count), np.int64),
        places=np.zeros((PLACE + 1, K), np.int64),
        kept=np.full((slots, 3), -1, np.int64),
        kept_multipliers=np.zeros((slots, K)),
        kept_theta=np.zeros((slots, d + 1)),
        scalars=np.zeros(BASE + 1),
    )


@inner_loop
def _kept_bound(
    slot: int, i: int, j: int, eps: float, tol: float, w: Vector, space: SearchSpace
) -> float:
    """The bound of a kept certificate at the present means and weights."""
    z, mu, alpha = space.kept_multipliers[slot], space.arms[CENTRED], space.kept_theta[slot, -1]
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
    g, along, at = space.features[DIRECTION], space.arms[ALONG], space.arms[PROJECTED]
    newton = space.newton
    for a in range(d):
        space.features[LOCAL, a] = X[i, a] - X[j, a]
    cholesky_solve(space.newton.matrices[FACTOR], d, space.features[LOCAL], g)
    q1 = dot(space.features[LOCAL], g)
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
    times(X, space.newton.spanner, space.newton.rest, space.features[MIDDLE], space.arms[LINEAR])
    for k in range(mu.shape[0]):
        space.arms[CENTRED, k] = mu[k] - space.arms[LINEAR, k]


@inner
def _aim(X: Matrix, mu: Vector, w: Vector, space: SearchSpace) -> None:
    """Get ready to project the means, from the last projection on."""
    set_metric(X, w, space.newton)
    space.scalars[LEVEL] = 0.0
    for k in range(mu.shape[0]):
        space.scalars[LEVEL] = max(space.scalars[LEVEL], abs(mu[k]))
    _centre_means(X, mu, space)


@inner
def _keep_projection(projection: Problem, mu: Vector, space: SearchSpace) -> None:
    """Move the centre to the projection just found."""
    means_below(projection, space.newton, space.arms[BELOW])
    copy(space.newton.arms[MULTIPLIERS], space.arms[FLOOR])
    for a in range(space.features[MIDDLE].shape[0]):
        space.features[MIDDLE, a] += space.features[LOCAL, a]
    _centre_means(projection.X, mu, space)
    for k in range(mu.shape[0]):
        space.arms[PROJECTED, k] = space.arms[CENTRED, k] - space.arms[BELOW, k]


@inner
def aim_at_projection(X: Matrix, w: Vector, found: SearchSpace, space: SearchSpace) -> None:
    """Get ready to search the pairs around the projection that `found` has, at other weights.

    A model is its own projection, at no cost.
    """
    set_metric(X, w, space.newton)
    for row in (LINEAR, PROJECTED):
        copy(found.arms[row], space.arms[row])
    copy(found.features[MIDDLE], space.features[MIDDLE])
    space.scalars[LEVEL] = found.scalars[LEVEL]
    forget_means(space)


@inner
def forget_means(space: SearchSpace) -> None:
    """Get ready to search the pairs around the projection instead of the means."""
    copy(space.arms[PROJECTED], space.arms[CENTRED])
    fill(space.arms[FLOOR], 0.0)
    space.scalars[BASE] = 0.0


@inner
def _list_pairs(incumbents: Indices, w: Vector, tol: float, space: SearchSpace) -> None:
    """Give every pair the projection's cost and, on top, its unstructured bound there."""
    m, floor = incumbents.shape[0], space.scalars[BASE]
    place, at, linear = space.places[PLACE], space.arms[PROJECTED], space.arms[LINEAR]
    for k in range(w.shape[0]):
        place[k] = 0
    for b in range(m):
        place[incumbents[b]] = -1 - b
    n = 0
    for k in range(w.shape[0]):
        if place[k] >= 0:
            space.places[CHALLENGERS, n] = k
            place[k] = n
            n += 1
    for a in range(n):
        i = space.places[CHALLENGERS, a]
        for b in range(m):
            p, j = a * m + b, incumbents[b]
            gap = (at[j] - at[i]) + (linear[j] - linear[i]) + tol
            bound = floor
            if gap > 0.0:
                bound += gap * gap / (2.0 * (1.0 / w[i] + 1.0 / w[j]))
            space.bounds[p] = np.inf if space.pairs[EXEMPT, p] else bound
            space.pairs[QUALITY, p] = DONE if space.pairs[EXEMPT, p] else CRUDE
            space.pairs[SLOT, p] = -1
            space.pairs[HEAP, p] = p
    for s in range(space.kept.shape[0]):
        i, j = space.kept[s, CHALLENGER], space.kept[s, INCUMBENT]
        if i >= 0 and place[i] >= 0 and place[j] < 0:
            space.pairs[SLOT, place[i] * m - 1 - place[j]] = s


@inner
def _slot_for(p: int, i: int, j: int, m: int, space: SearchSpace) -> int:
    """The slot that keeps pair p from now on: its own, an empty one, or the oldest."""
    if space.pairs[SLOT, p] >= 0:
        return space.pairs[SLOT, p]
    oldest = 0
    for s in range(space.kept.shape[0]):
        if space.kept[s, CHALLENGER] < 0:
            oldest = s
            break
        if space.kept[s, AGE] < space.kept[oldest, AGE]:
            oldest = s
    gone_i, gone_j = space.kept[oldest, CHALLENGER], space.kept[oldest, INCUMBENT]
    if gone_i >= 0 and space.places[PLACE, gone_i] >= 0 and space.places[PLACE, gone_j] < 0:
        space.pairs[SLOT, space.places[PLACE, gone_i] * m - 1 - space.places[PLACE, gone_j]] = -1
    space.kept[oldest, CHALLENGER] = i
    space.kept[oldest, INCUMBENT] = j
    space.pairs[SLOT, p] = oldest
    return oldest


@inner
def _keep_pair(p: int, i: int, j: int, m: int, alpha: float, space: SearchSpace) -> None:
    """Keep the certificate of the pair just solved."""
    s = _slot_for(p, i, j, m, space)
    space.scalars[CLOCK] += 1
    space.kept[s, AGE] = int(space.scalars[CLOCK])
    space.kept_theta[s, -1] = alpha
    copy(space.newton.arms[MULTIPLIERS], space.kept_multipliers[s])
    for a in range(space.features[LOCAL].shape[0]):
        space.kept_theta[s, a] = space.features[LOCAL, a] + space.features[MIDDLE, a]


@inner
def _set_start(slot: int, space: SearchSpace) -> None:
    """Start from the theta that a slot keeps, or from the projection."""
    for a in range(space.features[LOCAL].shape[0]):
        start = space.kept_theta[slot, a] - space.features[MIDDLE, a] if slot >= 0 else 0.0
        space.features[LOCAL, a] = start


@inner
def _keep_answer(problem: Problem, space: SearchSpace) -> None:
    """Keep the cheapest pair so far, just solved: means, theta and multipliers."""
    means_below(problem, space.newton, space.arms[BELOW])
    copy(space.newton.arms[MULTIPLIERS], space.arms[PROOF])
    for a in range(problem.X.shape[1]):
        space.features[THETA, a] = space.features[LOCAL, a] + space.features[MIDDLE, a]


@inner
def _better_bound(
    X: Matrix, p: int, i: int, j: int, eps: float, tol: float, w: Vector, space: SearchSpace
) -> float:
    """Of a pair that came up with a crude bound; the linear one comes on top of the floor."""
    if space.pairs[SLOT, p] >= 0:
        return _kept_bound(space.pairs[SLOT, p], i, j, eps, tol, w, space)
    return space.scalars[BASE] + _linear_bound(X, i, j, eps, tol, w, space)


Found = tuple[int, float, float, int, int, float, int]


@inner
def search(
    part: int,
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

    Row BELOW of `space.arms` holds means minus the alternative, row THETA of `space.features`
    its theta and row PROOF of `space.arms` its z. Where all pairs are exempt, the cost is infinite
    and i = j = -1. The search has two parts, PROJECTION and PAIRS: either may be asked for alone,
    the latter after the former. One function for all: each that contains the solver takes
    seconds to compile.
    """
    cost, bound, best_i, best_j, best_alpha, solves = np.inf, np.inf, -1, -1, 0.0, 0
    if part != PAIRS:
        _aim(X, mu, w, space)
        _set_start(NOBODY, space)
        level = space.scalars[LEVEL]
        problem = Problem(X, eps, space.arms[CENTRED], w, NOBODY, NOBODY, 0.0, level)
        status, cost, bound, _, _ = solve(problem, space.features[LOCAL], rtol, space.newton)
        if status == STALLED:
            return STALLED, np.inf, 0.0, -1, -1, 0.0, 0
        _keep_projection(problem, mu, space)
        space.scalars[BASE] = bound
        if part == PROJECTION:
            return status, cost, bound, NOBODY, NOBODY, 0.0, 0
    m, size = incumbents.shape[0], space.bounds.shape[0]
    _list_pairs(incumbents, w, tol, space)
    heapify(space.pairs[HEAP], size, space.bounds)
    cost = np.inf
    while True:
        p = space.pairs[HEAP, 0]
        if space.pairs[QUALITY, p] == DONE:
            break
        if best_i >= 0 and space.bounds[p] >= cost * (1.0 - 1e-10):
            break
        i, j = space.places[CHALLENGERS, p // m], incumbents[p % m]
        tolerance = tol + (space.arms[LINEAR, j] - space.arms[LINEAR, i])
        if space.pairs[QUALITY, p] == CRUDE:
            space.pairs[QUALITY, p] = GOOD
            better = _better_bound(X, p, i, j, eps, tolerance, w, space)
            space.bounds[p] = max(space.bounds[p], better)
        else:
            _set_start(space.pairs[SLOT, p], space)
            level = space.scalars[LEVEL]
            problem = Problem(X, eps, space.arms[CENTRED], w, i, j, tolerance, level)
            status, pair_cost, pair_bound, alpha, _ = solve(
                problem, space.features[LOCAL], rtol, space.newton
            )
            if status == STALLED:
                return STALLED, pair_cost, pair_bound, i, j, alpha, solves
            _keep_pair(p, i, j, m, alpha, space)
            space.pairs[QUALITY, p] = DONE
            space.bounds[p] = np.inf
            solves += 1
            if pair_cost < cost or best_i < 0:
                cost, bound, best_i, best_j, best_alpha = pair_cost, pair_bound, i, j, alpha
                _keep_answer(problem, space)
        sift_down(space.pairs[HEAP], size, space.bounds, int(ROOT))
    return SOLVED, cost, bound, best_i, best_j, best_alpha, solves


@kernel
def search_all(
    X: Matrix,
    eps: float,
    mu: Vector,
    w: Vector,
    incumbents: Indices,
    tol: float,
    rtol: float,
    space: SearchSpace,
) -> Found:
    """Both parts of `search` for Python callers."""
    return search(int(ALL), X, eps, mu, w, incumbents, tol, rtol, space)
