"""What measurements prove of pairs by the rule `guaranteed`, at one time or at the best of several.

The compiled rule decided while measurements came in. Here the same evidence is worked out from
counts and sums, in NumPy, for certificates and pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.certificate.refine import Problem, polished
from mislid.errors import CertificateError
from mislid.geometry.alternatives import PairSolver
from mislid.geometry.coordinates import Coordinates, coordinates
from mislid.geometry.duality import Pairs, balanced, proved_bound, unstructured_bounds
from mislid.model import Model
from mislid.stopping.evidence import (
    Families,
    Family,
    by_features,
    by_two_arms,
    diagonal_weights,
    families_of,
)
from mislid.stopping.noise import by_own_values
from mislid.stopping.spread import spread_of
from mislid.study.candidates import Candidates
from mislid.study.settings import EQUAL, KNOWN, Settings

TWO_ARMS, LINEAR, DIAGONAL = "two arms", "linear", "diagonal"
FAMILIES = (TWO_ARMS, LINEAR, DIAGONAL)
# Evidence may fall short of the level by so much: compiled and in NumPy it is rounded differently.
ROUNDING = 5e-7
# Times that are compared when one is chosen, and in a search without a hint.
COMPARED, SEARCHED = 24, 300

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Settlement:
    """What settled a pair: a family, after so many measurements, with so much evidence.

    For the family of all arms also the number of its scale and what proves the distance there: the
    linear part `values` (d,) of the closest alternative at the spanner's arms, and `alpha`.
    """

    pair: Pair
    family: str
    samples: int
    evidence: float
    scale: int | None = None
    values: Vector | None = None
    alpha: float = 0.0


class Claim:
    """What a study claims, and the displacements by which it can be proved."""

    def __init__(self, settings: Settings, candidates: Candidates) -> None:
        self.model: Model = candidates.model(settings.misspecification)
        self.noise = settings.deviations(candidates.K)
        self.tolerance = settings.tolerance
        self.noise_model, self.reward_range = settings.noise_model, settings.oriented_range
        self._structured = settings.is_structured
        self.families: Families = families_of(
            candidates.K, settings.m, settings.is_structured, settings.delta, self.noise
        )

    @property
    def is_structured(self) -> bool:
        """Whether features take part."""
        return self._structured and math.isfinite(self.model.misspecification)

    @cached_property
    def at(self) -> Coordinates:
        """The spanner, and the features in its coordinates."""
        return coordinates(self.model)


class Moment:
    """Evidence from counts, sums and scatter (K,), where more is better.

    The scatter is that of `Engine.scatter`, None where the noise model does not ask for it.
    """

    def __init__(
        self, claim: Claim, counts: Vector, sums: Vector, scatter: Vector | None = None
    ) -> None:
        self.claim, self.counts = claim, counts
        self.scatter = np.zeros_like(counts) if scatter is None else scatter
        self.samples = int(np.sum(counts))
        self.means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        self.weights = counts / claim.noise**2
        self.spread = spread_of(claim.noise_model, counts, self.means, scatter)

    def closed_forms(self, pairs: Pairs) -> Matrix:
        """Evidence of pairs (n, 2) by their two arms and by the features, (2, n)."""
        claim, own = self.claim, self._by_two_arms(pairs)
        if not claim.is_structured:
            return np.stack([own, np.full(len(pairs), -math.inf)])
        eps, tolerance, X = claim.model.misspecification, claim.tolerance, claim.at.matrix
        given = X, self.weights, self.means, eps, tolerance, pairs
        return np.stack([own, by_features(claim.families.linear, *given, self.spread)])

    def _by_two_arms(self, pairs: Pairs) -> Vector:
        claim, (i, j) = self.claim, pairs.T
        family = claim.families.two_arms
        if claim.noise_model in (KNOWN, EQUAL):
            gaps = self.means[j] - self.means[i] + claim.tolerance
            return by_two_arms(family, gaps, self.weights[i], self.weights[j], self.spread)
        data = self.counts, self.means, self.scatter
        noise = claim.noise_model, claim.reward_range
        return family.total + by_own_values(*noise, *data, pairs, claim.tolerance)

    @property
    def _likely_weights(self) -> Vector:
        """Counts over the squared noise (K,) that was declared, or that values let one expect."""
        found: Vector = self.weights / self._unit
        return found

    @property
    def _unit(self) -> float:
        """The squared noise that values let one expect, where weights are those of a noise of 1."""
        return 1.0 if self.spread is None else self.spread.variance

    def costs(self, pairs: Pairs) -> Matrix:
        """How far pairs (n, 2) are from a tie, by their two arms and by the features, (2, n).

        Half a squared distance: the evidence before the price of the displacements is paid.
        """
        claim, weights = self.claim, self._likely_weights
        own = unstructured_bounds(self.means, weights, pairs, claim.tolerance)
        along = np.zeros(len(pairs))
        if claim.is_structured:
            # Displacements of any size in the features, without their price.
            size = 1e6 * claim.families.linear.scales[-1]
            X, eps = claim.at.matrix, claim.model.misspecification
            V = size**2 * (X * weights[:, None]).T @ X
            price = 0.5 * float(np.linalg.slogdet(np.eye(len(V)) + V)[1])
            family = Family(np.array([size]), np.array([price]))
            along = by_features(family, X, weights, self.means, eps, claim.tolerance, pairs)
        return np.stack([own, np.maximum(along, 0.0)])

    def settle(self, pairs: Pairs) -> dict[Pair, Settlement]:
        """The pairs that their two arms settle, whatever the features say, or else the features."""
        found: dict[Pair, Settlement] = {}
        for family, values in zip(FAMILIES, self.closed_forms(pairs), strict=False):
            for n in np.flatnonzero(values >= self.claim.families.level - ROUNDING).tolist():
                i, j = pairs[n].tolist()
                found.setdefault((i, j), Settlement((i, j), family, self.samples, float(values[n])))
        return found

    def settle_by_all_arms(self, pairs: Pairs) -> dict[Pair, Settlement]:
        """The pairs that displacements of all arms settle."""
        if not self.claim.is_structured:
            return {}
        scales, found = list(range(len(self.claim.families.diagonal.scales))), {}
        for i, j in pairs.tolist():
            for scale in scales.copy():
                one = self.by_all_arms((i, j), scale)
                if one.evidence >= self.claim.families.level - ROUNDING:
                    found[i, j] = one
                    # Most likely it is the one for the next pair as well.
                    scales.remove(scale)
                    scales.insert(0, scale)
                    break
        return found

    def by_all_arms(self, pair: Pair, scale: int) -> Settlement:
        """What displacements of all arms at one scale prove of a pair."""
        claim, q = self.claim, self._diagonal[scale][0]
        X, eps, tolerance = claim.at.matrix, claim.model.misspecification, claim.tolerance
        try:
            solved = self._solver(scale).solve(pair, tolerance)
        except CertificateError:  # proves nothing
            return Settlement(pair, DIAGONAL, self.samples, -math.inf)
        problem = Problem(X, eps, self.means, q, pair, tolerance)
        values, alpha = polished(problem, solved.values, solved.alpha)
        z = balanced(X, q, problem.multipliers(values, alpha), alpha)
        within = Model(X, eps)
        cost = proved_bound(within, self.means, q, z, alpha, pair, tolerance, values)
        evidence = self._evidence_of_all_arms(cost, scale)
        return Settlement(pair, DIAGONAL, self.samples, evidence, scale, values, alpha)

    def _evidence_of_all_arms(self, cost: float, scale: int) -> float:
        """What a cost at one scale proves, once its price is paid."""
        price = self._diagonal[scale][1]
        if self.spread is None:
            return cost - price
        sizes = self.claim.families.diagonal.scales[[scale]]
        return self.spread.by_costs(sizes, np.array([-price]), np.array([cost]))

    def costs_of_all_arms(self, pairs: Pairs) -> tuple[Vector, float]:
        """How far pairs (n, 2) are from a tie by all arms, (n,), and what that has to reach.

        At the scale that is best for the first of them.
        """
        level, scales = self.claim.families.level, range(len(self._diagonal))
        i, j = pairs[0].tolist()
        scale = max(scales, key=lambda one: self._cost((i, j), one) - self._diagonal[one][1])
        costs = [self._cost((i, j), scale) for i, j in pairs.tolist()]
        return np.array(costs), level + self._diagonal[scale][1]

    def _cost(self, pair: Pair, scale: int) -> float:
        try:
            return self._solver(scale).solve(pair, self.claim.tolerance).cost / self._unit
        except CertificateError:
            return 0.0

    @cached_property
    def _diagonal(self) -> list[tuple[Vector, float]]:
        """Of every scale, its weights (K,) and what its cost is reduced by."""
        family = self.claim.families.diagonal
        found = [diagonal_weights(self.weights, scale) for scale in family.scales.tolist()]
        return [(q, price - log) for (q, price), log in zip(found, family.logs, strict=True)]

    def _solver(self, scale: int) -> PairSolver:
        if scale not in self._solvers:
            q = self._diagonal[scale][0]
            self._solvers[scale] = PairSolver(self.claim.model, self.means, q)
        return self._solvers[scale]

    @cached_property
    def _solvers(self) -> dict[int, PairSolver]:
        return {}


class Search:
    """Looks for the times at which pairs are settled: few, and the last one where that will do.

    Parameters
    ----------
    after
        The moment after so many measurements.
    last
        The number of measurements of the decision.
    hints
        When the rule settled pairs, for those where that is known.
    looks
        Numbers of measurements at which one may look, increasing. Those that were told together may
        have come in any order, or stand for others: nothing is looked at in between.
    """

    def __init__(
        self,
        after: Callable[[int], Moment],
        last: int,
        hints: dict[Pair, int],
        looks: Sequence[int],
    ) -> None:
        self._after, self._last, self._hints = cache(after), last, hints
        self._before = [samples for samples in looks if samples < last]
        self.settled: dict[Pair, Settlement] = {}

    def settle(self, pairs: Pairs) -> Pairs:
        """Settle what can be settled of pairs (n, 2); those that are left over."""
        left = self._cover_by_all_arms(self._cover(pairs, [self._last]), {self._last})
        tried: set[int] = set()
        while times := _spread(sorted(self._hinted(left) - tried), COMPARED):
            left = self._cover(left, times)
            tried |= set(times)
        left = self._cover_by_all_arms(left, self._hinted(left))
        return self._cover(left, _spread(self._before, SEARCHED)) if len(left) else left

    def _hinted(self, pairs: Pairs) -> set[int]:
        """The times before the last at which the rule settled pairs."""
        return {self._hints.get((i, j), self._last) for i, j in pairs.tolist()} - {self._last}

    def _cover(self, left: Pairs, times: Iterable[int]) -> Pairs:
        """Settle pairs in closed form at as few of these times as a greedy choice finds."""
        found = {samples: self._after(samples).settle(left) for samples in times}
        while any(found.values()):
            # Of equals the last.
            best = max(found, key=lambda samples: (len(found[samples]), samples))
            taken = found.pop(best)
            left = self._take(left, taken)
            for settled in found.values():
                for pair in taken:
                    settled.pop(pair, None)
        return left

    def _cover_by_all_arms(self, left: Pairs, times: set[int]) -> Pairs:
        """Settle pairs by displacements of all arms, at the last of these times that does."""
        for samples in sorted(times, reverse=True):
            left = self._take(left, self._after(samples).settle_by_all_arms(left))
        return left

    def _take(self, left: Pairs, found: dict[Pair, Settlement]) -> Pairs:
        self.settled |= found
        open_ = np.array([(i, j) not in found for i, j in left.tolist()], dtype=np.bool_)
        rest: Pairs = left[open_]
        return rest


def _spread(times: Sequence[int], most: int) -> list[int]:
    """At most so many of the times, evenly spread, with the first and the last.

    >>> _spread(range(1, 10), 3)
    [1, 5, 9]
    """
    if len(times) <= most:
        return list(times)
    return [times[round(at)] for at in np.linspace(0, len(times) - 1, most).tolist()]
