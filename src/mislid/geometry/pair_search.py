"""Closest alternatives for the characteristic time's game, pair by pair with certificates kept."""

from __future__ import annotations

import math

import numpy as np

from mislid._validation import Vector
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import (
    Proofs,
    all_pairs,
    linear_fit,
    no_proofs,
    proved_bounds,
    top_arms,
    unstructured_bounds,
)
from mislid.geometry.equilibrium import Near
from mislid.geometry.pair_solver import PairSolution, PairSolver
from mislid.model import Model


class PairSearch:
    """All pairs within a ratio of the cheapest one, solving no others.

    A pair's multipliers, once found, bound its cost at all later weights. Before that z = 0 does,
    which is the cost without structure. Pairs are visited in the order of these bounds.
    """

    def __init__(self, model: Model, means: Vector, m: int, tolerance: float) -> None:
        self._model = model
        self._means = means
        self._tolerance = tolerance
        self._theta = linear_fit(model, means)
        self._pairs = all_pairs(model.K, top_arms(means, m))
        self._solver = PairSolver(model, means, np.ones(model.K))
        self._kept: dict[int, PairSolution] = {}
        self.solved = 0

    def near(self, weights: Vector, ratio: float, limit: int) -> Near:
        """The alternatives whose cost is within `ratio` of the least, at most `limit`."""
        self._solver.weigh(weights)
        bounds = self._bounds(weights)
        costs: dict[int, float] = {}
        best = math.inf
        for p in np.argsort(bounds, kind="stable").tolist():
            if bounds[p] > (ratio * best if len(costs) < limit else best):
                break
            cost = self._solve(p).cost
            if math.isfinite(cost):
                costs[p] = cost
                best = min(best, cost)
        chosen = [p for p in sorted(costs, key=costs.__getitem__) if costs[p] <= ratio * best]
        return self._near(weights, chosen[:limit])

    def prove(self, weights: Vector, target: float) -> Proofs:
        """Proofs for every pair that costs less than `target` without structure."""
        self._solver.weigh(weights)
        free = unstructured_bounds(self._means, weights, self._pairs, self._tolerance)
        needed = np.flatnonzero(free < target)
        bounds = self._bounds(weights)
        for p in needed.tolist():
            if bounds[p] < target:
                self._solve(p)
        return self._proofs(needed.tolist())

    def _bounds(self, weights: Vector) -> Vector:
        bounds = unstructured_bounds(self._means, weights, self._pairs, self._tolerance)
        solved = list(self._kept)
        proved = proved_bounds(
            self._model, self._means, weights, self._tolerance, self._proofs(solved), self._theta
        )
        bounds[solved] = np.maximum(bounds[solved], proved)
        return bounds

    def _proofs(self, chosen: list[int]) -> Proofs:
        if not chosen:
            return no_proofs(self._model.K)
        return Proofs(
            self._pairs[chosen],
            np.array([self._kept[p].multipliers for p in chosen]),
            np.array([self._kept[p].alpha for p in chosen]),
        )

    def _solve(self, p: int) -> PairSolution:
        i, j = self._pairs[p].tolist()
        self._kept[p] = self._solver.solve((i, j), self._tolerance)
        self.solved += 1
        return self._kept[p]

    def _near(self, weights: Vector, chosen: list[int]) -> Near:
        K, d = self._model.K, self._model.d
        found = [self._kept[p] for p in chosen]
        means = np.array([solution.means for solution in found]).reshape(-1, K)
        values = np.array([solution.values for solution in found]).reshape(-1, d)
        # Stated for the means as they are, rounded, so that anyone recomputes the same numbers.
        costs = 0.5 * (means - self._means) ** 2 @ weights
        bounds = np.minimum([solution.bound for solution in found], costs)
        thetas = coordinates(self._model).theta(self._model, values.T).T
        return Near(costs, bounds, self._pairs[chosen], means, thetas)
