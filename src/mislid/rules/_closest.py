"""The closest alternative for rules: the pruned search, or closed forms without structure."""

from __future__ import annotations

import numpy as np

from mislid._validation import Vector
from mislid.geometry._compile import inner
from mislid.geometry._heap import Indices
from mislid.geometry._newton import SOLVED
from mislid.geometry._search import SearchSpace, search
from mislid.rules._state import Setting

RTOL = 1e-10


@inner
def closest(
    setting: Setting,
    given: Vector,
    weights: Vector,
    incumbents: Indices,
    tol: float,
    space: SearchSpace,
) -> tuple[int, float, int, int]:
    """(status, cost, challenger, incumbent); `space.below` (K,) is given minus the alternative."""
    if not np.isinf(setting.eps):
        status, cost, _, i, j, _, _ = search(
            setting.X, setting.eps, given, weights, incumbents, tol, RTOL, space
        )
        return status, cost, i, j
    return _unstructured(given, weights, incumbents, tol, space)


@inner
def _unstructured(
    given: Vector, weights: Vector, incumbents: Indices, tol: float, space: SearchSpace
) -> tuple[int, float, int, int]:
    K, m = given.shape[0], incumbents.shape[0]
    best, best_i, best_j = np.inf, -1, -1
    for i in range(K):
        inside = False
        for b in range(m):
            inside = inside or incumbents[b] == i
        if inside:
            continue
        for b in range(m):
            j = incumbents[b]
            gap = max(given[j] - given[i] + tol, 0.0)
            cost = 0.0
            if weights[i] > 0.0 and weights[j] > 0.0:
                cost = gap * gap / (2.0 * (1.0 / weights[i] + 1.0 / weights[j]))
            if cost < best:
                best, best_i, best_j = cost, i, j
    for k in range(K):
        space.below[k] = 0.0
    gap = max(given[best_j] - given[best_i] + tol, 0.0)
    total = weights[best_i] + weights[best_j]
    share = weights[best_j] / total if total > 0.0 else 0.5
    space.below[best_i] = -share * gap
    space.below[best_j] = (1.0 - share) * gap
    return SOLVED, best, best_i, best_j
