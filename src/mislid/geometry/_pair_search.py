"""Closest alternatives for the characteristic time's game, pair by pair with certificates kept."""

from __future__ import annotations

import numpy as np

from mislid._validation import Vector
from mislid.geometry._game import Near, all_pairs
from mislid.geometry._game_check import dual_bounds, feasible
from mislid.geometry.alternatives import Alternative, pair_alternative
from mislid.geometry.duality import Proofs, unstructured_bounds
from mislid.model import Model


class PairSearch:
    """All pairs within a ratio of the cheapest one, solving no others.

    A pair's multipliers, once found, bound its cost at all later weights. Before that z = 0 does,
    which is the cost without structure. Pairs are visited in the order of these bounds.
    """

    def __init__(self, model: Model, means: Vector, m: int, tolerance: float) -> None:
        pairs = all_pairs(means, m)
        pairs = pairs[feasible(model, pairs, tolerance)]
        self._model = model
        self._means = means
        self._tolerance = tolerance
        self._proofs = Proofs(pairs, np.zeros((len(pairs), model.K)), np.ones(len(pairs)))

    def near(self, weights: Vector, ratio: float, limit: int) -> Near:
        """The alternatives whose cost is within `ratio` of the least, at most `limit`."""
        bounds = self._bounds(weights)
        found: list[Alternative] = []
        best = np.inf
        for p in np.argsort(bounds, kind="stable"):
            if bounds[p] > (ratio * best if len(found) < limit else best):
                break
            found.append(self._solve(weights, int(p)))
            best = min(best, found[-1].cost)
        found.sort(key=lambda alternative: alternative.cost)
        kept = [alternative for alternative in found if alternative.cost <= ratio * best][:limit]
        return Near(
            np.array([alternative.cost for alternative in kept]),
            np.array([alternative.bound for alternative in kept]),
            np.array([alternative.pair for alternative in kept], dtype=np.int64),
            np.array([alternative.means for alternative in kept]),
            np.array([alternative.theta for alternative in kept]),
        )

    def prove(self, weights: Vector, target: float) -> Proofs:
        """Proofs for every feasible pair that costs less than `target` without structure."""
        pairs = self._proofs.pairs
        needed = unstructured_bounds(self._means, weights, pairs, self._tolerance) < target
        for p in np.flatnonzero(needed & (self._bounds(weights) < target)):
            self._solve(weights, int(p))
        return Proofs(pairs[needed], self._proofs.multipliers[needed], self._proofs.alphas[needed])

    def _bounds(self, weights: Vector) -> Vector:
        return dual_bounds(self._model, self._means, weights, self._tolerance, self._proofs)

    def _solve(self, weights: Vector, p: int) -> Alternative:
        i, j = self._proofs.pairs[p].tolist()
        found = pair_alternative(self._model, self._means, weights, i, j, tolerance=self._tolerance)
        self._proofs.multipliers[p] = found.multipliers
        self._proofs.alphas[p] = found.alpha
        return found
