"""Closest alternatives for the characteristic time's game, pair by pair."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import (
    Proofs,
    all_pairs,
    linear_fit,
    no_proofs,
    proved_bounds,
    top_arms,
)
from mislid.geometry.equilibrium import Near
from mislid.geometry.linear_bounds import closed_form_bounds
from mislid.geometry.pair_solver import PairSolution, PairSolver
from mislid.model import Model

# Numbers in multipliers that are remembered, and that are looked at together.
MOST_KEPT, MOST_NUMBERS = 1 << 22, 1 << 17


class PairSearch:
    """All pairs within a ratio of the cheapest one, solving few others.

    Pairs are visited in the order of what is proved of them: by closed forms, which say of most
    that they are far away, and by the multipliers that a pair had when it was solved before.
    """

    def __init__(self, model: Model, means: Vector, m: int, tolerance: float) -> None:
        self._model = model
        self._means = means
        self._tolerance = tolerance
        self._theta = linear_fit(model, means)
        self._pairs = all_pairs(model.K, top_arms(means, m))
        self._solver = PairSolver(model, means, np.ones(model.K))
        self._kept: dict[int, tuple[Vector, float]] = {}
        self.solved = 0

    def near(self, weights: Vector, ratio: float, limit: int) -> Near:
        """The alternatives whose cost is within `ratio` of the least, at most `limit`."""
        bounds = self._aim(weights)
        first = int(np.argmin(bounds))
        found = {first: self._solve(first)}
        best = found[first].cost
        rivals = np.flatnonzero(bounds <= ratio * best)
        rivals = rivals[rivals != first]
        bounds = np.maximum(bounds[rivals], self._kept_bounds(rivals, weights))
        for n in np.argsort(bounds, kind="stable").tolist():
            if bounds[n] > (ratio * best if len(found) < limit else best):
                break
            p = int(rivals[n])
            solution = self._solve(p)
            best = min(best, solution.cost)
            if solution.cost <= ratio * best:
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
        return self._proofs([(one.multipliers, one.alpha) for one in found], needed)

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

    def _kept_bounds(self, chosen: NDArray[np.int64], weights: Vector) -> Vector:
        """What kept multipliers prove of some pairs (n,); 0 where there are none."""
        bounds = np.zeros(chosen.size)
        known = [n for n, p in enumerate(chosen.tolist()) if p in self._kept]
        step = max(1, MOST_NUMBERS // self._model.K)
        for start in range(0, len(known), step):
            some = known[start : start + step]
            proofs = self._proofs([self._kept[p] for p in chosen[some].tolist()], chosen[some])
            bounds[some] = proved_bounds(
                self._model, self._means, weights, self._tolerance, proofs, self._theta
            )
        return bounds

    def _proofs(self, kept: list[tuple[Vector, float]], chosen: NDArray[np.int64]) -> Proofs:
        return Proofs(
            self._pairs[chosen],
            np.array([multipliers for multipliers, _ in kept]),
            np.array([alpha for _, alpha in kept]),
        )

    def _solve(self, p: int) -> PairSolution:
        i, j = self._pairs[p].tolist()
        solution = self._solver.solve((i, j), self._tolerance)
        self.solved += 1
        self._kept.pop(p, None)
        self._kept[p] = solution.multipliers, solution.alpha
        if len(self._kept) > max(1, MOST_KEPT // self._model.K):
            del self._kept[next(iter(self._kept))]  # the oldest
        return solution

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
    possible = [p for p in found if math.isfinite(found[p].cost) and found[p].cost <= most]
    order = sorted(possible, key=lambda p: found[p].cost)[:limit]
    return {p: found[p] for p in order}
