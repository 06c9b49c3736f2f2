"""The closest alternative in closed form, for tubes so wide that features do not matter."""

from __future__ import annotations

import numpy as np

from mislid._jit import Indices, Vector, inner, kernel
from mislid.geometry.linalg import fill
from mislid.geometry.newton import SOLVED
from mislid.geometry.search import SearchSpace

# Relative accuracy of a search.
ACCURACY = 1e-10

Closest = tuple[int, float, int, int]


@inner
def is_wide(eps: float, given: Vector, tol: float) -> bool:
    """Whether the tube around zero contains every alternative that moves two arms only."""
    if np.isinf(eps):
        return True
    largest = 0.0
    for k in range(given.shape[0]):
        largest = max(largest, abs(given[k]))
    return eps >= largest + tol


@inner
def pair_cost(given: Vector, weights: Vector, i: int, j: int, tol: float) -> float:
    """The least cost of models in which i beats j by tol, if only these two arms move."""
    gap = given[j] - given[i] + tol
    if gap <= 0.0 or weights[i] == 0.0 or weights[j] == 0.0:
        return 0.0
    return gap * gap / (2.0 * (1.0 / weights[i] + 1.0 / weights[j]))


@inner
def list_challengers(K: int, incumbents: Indices, challengers: Indices) -> None:
    """The arms that are not incumbents, increasing; the incumbents are increasing too."""
    a, b = 0, 0
    for k in range(K):
        if b < incumbents.shape[0] and incumbents[b] == k:
            b += 1
        else:
            challengers[a] = k
            a += 1


@inner
def leave_nothing_out(space: SearchSpace) -> None:
    """Make no pair exempt."""
    for p in range(space.bounds.shape[0]):
        space.exempt[p] = 0


@inner
def move_pair(given: Vector, weights: Vector, i: int, j: int, tol: float, below: Vector) -> None:
    """Fill `below` (K,) with given minus the closest means at which i beats j by tol."""
    fill(below, 0.0)
    gap = given[j] - given[i] + tol if i >= 0 else 0.0
    if gap > 0.0:
        total = weights[i] + weights[j]
        share = weights[j] / total if total > 0.0 else 1.0
        below[i] = -share * gap
        below[j] = gap - share * gap


@kernel
def closest_unstructured(
    given: Vector, weights: Vector, incumbents: Indices, tol: float, space: SearchSpace
) -> Closest:
    """Status, cost and pair (challenger, incumbent) of the cheapest pair, whose two arms meet.

    `space.below` is set to given minus the alternative; pairs marked in `space.exempt` are left
    out.
    """
    m, challengers, below = incumbents.shape[0], space.challengers, space.below
    list_challengers(given.shape[0], incumbents, challengers)
    cost, i, j = np.inf, -1, -1
    for a in range(challengers.shape[0] - m):
        for b in range(m):
            if space.exempt[a * m + b] == 0:
                candidate = pair_cost(given, weights, challengers[a], incumbents[b], tol)
                if candidate < cost:
                    cost, i, j = candidate, challengers[a], incumbents[b]
    move_pair(given, weights, int(i), int(j), tol, below)
    return SOLVED, cost, i, j
