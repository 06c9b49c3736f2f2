"""What the data of a decision prove of every pair by a rule that measures distances.

These rules, of the paper and of the published runs, compare how far alternatives are from the
projection with one threshold. They decided while measurements came in, with searches that remember.
Here the same data are judged once more from the beginning, every pair is solved, and what proves
its cost is kept. `proof` is of the rule `guaranteed`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.certificate.refine import Problem, polished
from mislid.engine import Engine
from mislid.errors import CertificateError
from mislid.geometry.coordinates import Coordinates, coordinates
from mislid.geometry.duality import (
    all_pairs,
    balanced,
    is_unstructured,
    proved_bound,
    unstructured_bounds,
)
from mislid.geometry.pair_solver import PairSolver
from mislid.geometry.projection import project
from mislid.model import Model
from mislid.study.candidates import Candidates
from mislid.study.settings import Settings, question_of

Pair = tuple[int, int]


class Data(NamedTuple):
    """Counts (K,) and sums (K,) of the measurements, in the user's sign.

    `scatter` (K,) is that of `Engine.scatter`, None where the noise model does not ask for it.
    """

    counts: Vector
    sums: Vector
    scatter: Vector | None = None

    @property
    def samples(self) -> int:
        """Number of measurements."""
        return int(np.sum(self.counts))

    @property
    def means(self) -> Vector:
        """Empirical means (K,), 0 where nothing was measured."""
        return np.divide(
            self.sums, self.counts, out=np.zeros_like(self.sums), where=self.counts > 0
        )


@dataclass(frozen=True, slots=True, eq=False)
class PairEvidence:
    """What is proved of one pair: how much, and how much is enough.

    `values` (d,), the linear part of the closest alternative at the spanner's arms, and `alpha`
    prove the statistic where features matter.
    """

    pair: Pair
    statistic: float
    threshold: float
    values: Vector | None = None
    alpha: float = 0.0

    @property
    def ratio(self) -> float:
        """How much of what is needed is there."""
        return self.statistic / self.threshold


@dataclass(frozen=True, slots=True, eq=False)
class ClosestAlternative:
    """The nearest means (K,) that reverse a pair, and the multipliers (K,) that prove it.

    `theta` (d,) is in the columns that the model keeps, None where all means are models.
    """

    means: Vector
    theta: Vector | None
    multipliers: Vector
    alpha: float
    cost: float
    bound: float


class Judgement:
    """A stopping rule applied to the data of a decision, where more is better."""

    def __init__(self, settings: Settings, candidates: Candidates, data: Data) -> None:
        self.settings, self.candidates, self.data = settings, candidates, data
        self.model: Model = candidates.model(settings.misspecification)
        self.noise = settings.deviations(candidates.K)
        self.means = settings.sign * data.means
        self.weights = data.counts / self.noise**2

    @cached_property
    def at(self) -> Coordinates:
        """The spanner, and the features in its coordinates."""
        return coordinates(self.model)

    @cached_property
    def _within(self) -> Model:
        """The same model in these coordinates, where collinear features cost no digits."""
        return Model(self.at.matrix, self.model.misspecification)

    @cached_property
    def projected_values(self) -> Vector:
        """The projection's linear part (d,) at the spanner's arms."""
        theta = project(self.model, self.means, self.weights).theta
        return polished(self._around_means, self.model.features[self.at.basis] @ theta)[0]

    @cached_property
    def projected(self) -> Vector:
        """The nearest model (K,); an arm that was never measured has its linear value."""
        if math.isinf(self.model.misspecification):
            return self.means
        near = self._around_means.nearest(self.projected_values)
        return np.where(self.weights > 0.0, near, self.at.matrix @ self.projected_values)

    @cached_property
    def projection_bound(self) -> float:
        """What no model can be nearer than."""
        if math.isinf(self.model.misspecification):
            return 0.0
        z = self.weights * (self.means - self.projected)
        z = balanced(self.at.matrix, self.weights, z)
        values = self.projected_values
        return proved_bound(self._within, self.means, self.weights, z, theta=values)

    @property
    def _around_means(self) -> Problem:
        eps = self.model.misspecification
        return Problem(self.at.matrix, eps, self.means, self.weights)

    @cached_property
    def is_free(self) -> bool:
        """Whether features say nothing of any pair."""
        return is_unstructured(self.model, self.projected, self.settings.tolerance)

    @cached_property
    def threshold(self) -> float:
        """What every pair must reach: a stopping test on the same numbers, by the compiled rule."""
        settings = self.settings
        engine = Engine(question_of(settings, self.candidates), stopping=settings.stopping)
        sums, scatter = settings.sign * self.data.sums, self.data.scatter
        engine.reset(self.data.counts, sums, scatter=scatter)
        verdict = engine.judge()
        if engine.unsolved > 0:
            raise CertificateError(
                "the decision could not be certified: the closest alternative cannot be told in "
                "double precision, the weights or features are too ill-conditioned"
            )
        return verdict.threshold

    def evidence(self, incumbents: tuple[int, ...]) -> list[PairEvidence]:
        """What is proved of every pair of these incumbents, sorted by pair."""
        pairs = all_pairs(self.model.K, np.sort(np.array(incumbents)))
        return [self._of_pair((i, j)) for i, j in pairs.tolist()]

    @cached_property
    def _solver(self) -> PairSolver:
        return PairSolver(self.model, self.projected, self.weights)

    def _of_pair(self, pair: Pair) -> PairEvidence:
        (i, j), threshold = pair, self.threshold
        tol, features = self.settings.tolerance, self.model.features
        if np.all(features[i] == features[j]) and tol > 2.0 * self.model.misspecification:
            return PairEvidence(pair, math.inf, threshold)
        if self.is_free:
            costs = unstructured_bounds(self.projected, self.weights, np.array([pair]), tol)
            return PairEvidence(pair, float(costs[0]), threshold)
        solved = self._solver.solve(pair, tol)
        values, alpha = polished(self._around(pair), solved.values, solved.alpha)
        bound = self._proved(pair, values, alpha)[0]
        return PairEvidence(pair, bound, threshold, values, alpha)

    def _around(self, pair: Pair) -> Problem:
        eps, tol = self.model.misspecification, self.settings.tolerance
        return Problem(self.at.matrix, eps, self.projected, self.weights, pair, tol)

    def _proved(self, pair: Pair, values: Vector, alpha: float) -> tuple[float, Vector]:
        """A lower bound on the pair's cost, and the multipliers (K,) that prove it."""
        z = self._around(pair).multipliers(values, alpha)
        z = balanced(self.at.matrix, self.weights, z, alpha)
        tol, given, weights = self.settings.tolerance, self.projected, self.weights
        bound = proved_bound(self._within, given, weights, z, alpha, pair, tol, values)
        return bound, z

    def closest(self, evidence: PairEvidence) -> ClosestAlternative:
        """The closest alternative of a pair that models can reverse."""
        if evidence.values is None:
            return self._meeting(evidence)
        pair, values, alpha = evidence.pair, evidence.values, evidence.alpha
        means = self._around(pair).nearest(values, alpha)
        cost = 0.5 * float(np.sum(self.weights * (means - self.projected) ** 2))
        bound, z = self._proved(pair, values, alpha)
        return ClosestAlternative(means, self.at.theta(self.model, values), z, alpha, cost, bound)

    def linear(self, evidence: PairEvidence) -> Vector:
        """The linear part (K,) of a pair's closest alternative."""
        values = np.zeros(self.model.d) if evidence.values is None else evidence.values
        found: Vector = self.at.matrix @ values
        return found

    def _meeting(self, evidence: PairEvidence) -> ClosestAlternative:
        """Only the two arms move, and meet at their weighted mean."""
        means = self.projected.copy()
        (i, j), w = evidence.pair, self.weights
        gap = max(float(means[j] - means[i]) + self.settings.tolerance, 0.0)
        share = float(w[j] / (w[i] + w[j])) if w[i] + w[j] > 0.0 else 1.0
        means[i] += share * gap
        means[j] -= (1.0 - share) * gap
        anything = math.isinf(self.model.misspecification)
        return ClosestAlternative(
            means=means,
            theta=None if anything else np.zeros(self.model.d),
            multipliers=np.zeros(self.model.K),
            alpha=2.0 * evidence.statistic / gap if gap > 0.0 else 0.0,
            cost=evidence.statistic,
            bound=evidence.statistic,
        )
