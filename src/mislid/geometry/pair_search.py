"""Closest alternatives for the characteristic time's game, pair by pair."""

from __future__ import annotations

import math

import numpy as np

from mislid._validation import Vector
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import Proofs, all_pairs, no_proofs, top_arms
from mislid.geometry.equilibrium import Near
from mislid.geometry.linear_bounds import closed_form_bounds
from mislid.geometry.pair_solver import PairSolution, PairSolver
from mislid.model import Model


class PairSearch:
    """All pairs within a ratio of the cheapest one, solving few others.

    Pairs are visited in the order of what closed forms prove of them, and most are not: at an
    allocation that is any good only few pairs are close.
    """

    def __init__(self, model: Model, means: Vector, m: int, tolerance: float) -> None:
        self._model = model
        self._means = means
        self._tolerance = tolerance
        self._pairs = all_pairs(model.K, top_arms(means, m))
        self._solver = PairSolver(model, means, np.ones(model.K))
        self.solved = 0

    def near(self, weights: Vector, ratio: float, limit: int) -> Near:
        """The alternatives whose cost is within `ratio` of the least, at most `limit`."""
        bounds = self._aim(weights)
        found: dict[int, PairSolution] = {}
        best = math.inf
        for p in np.argsort(bounds, kind="stable").tolist():
            if bounds[p] > (ratio * best if len(found) < limit else best):
                break
            solution = self._solve(p)
            best = min(best, solution.cost)
            if math.isfinite(solution.cost) and solution.cost <= ratio * best:
                found[p] = solution
            if len(found) >= 2 * limit:
                found = _cheapest(found, ratio * best, limit)
        return self._near(weights, _cheapest(found, ratio * best, limit))

    def prove(self, weights: Vector, target: float) -> Proofs:
        """Proofs for every pair of which no closed form proves that it costs `target`."""
        needed = np.flatnonzero(self._aim(weights) < target)
        if needed.size == 0:
            return no_proofs(self._model.K)
        found = [self._solve(p) for p in needed.tolist()]
        return Proofs(
            self._pairs[needed],
            np.array([solution.multipliers for solution in found]),
            np.array([solution.alpha for solution in found]),
        )

    def _aim(self, weights: Vector) -> Vector:
        """Get ready to solve pairs at these weights; what closed forms prove of each (P,)."""
        self._solver.weigh(weights)
        return closed_form_bounds(
            self._model,
            self._means,
            weights,
            self._pairs,
            self._tolerance,
            self._solver.floor(),
        )

    def _solve(self, p: int) -> PairSolution:
        i, j = self._pairs[p].tolist()
        self.solved += 1
        return self._solver.solve((i, j), self._tolerance)

    def _near(self, weights: Vector, found: dict[int, PairSolution]) -> Near:
        K, d = self._model.K, self._model.d
        means = np.array([solution.means for solution in found.values()]).reshape(-1, K)
        values = np.array([solution.values for solution in found.values()]).reshape(-1, d)
        # Stated for the means as they are, rounded, so that anyone recomputes the same numbers.
        costs = 0.5 * (means - self._means) ** 2 @ weights
        bounds = np.minimum([solution.bound for solution in found.values()], costs)
        thetas = coordinates(self._model).theta(self._model, values.T).T
        return Near(costs, bounds, self._pairs[list(found)], means, thetas)


def _cheapest(found: dict[int, PairSolution], most: float, limit: int) -> dict[int, PairSolution]:
    """At most `limit` of the solutions that cost at most `most`, cheapest first."""
    order = sorted(found, key=lambda p: found[p].cost)[:limit]
    return {p: found[p] for p in order if found[p].cost <= most}
