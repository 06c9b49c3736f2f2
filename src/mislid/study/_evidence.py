"""What the data of a decision prove of every pair, from counts and sums alone.

The rules decided while measurements came in, with searches that remember. Here the same data are
judged once more from the beginning, every pair is solved, and what proves its cost is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.errors import CertificateError
from mislid.geometry._pair_solver import PairSolver
from mislid.geometry.coordinates import Coordinates, coordinates
from mislid.geometry.duality import (
    balanced,
    is_unstructured,
    proved_bound,
    unstructured_bounds,
)
from mislid.geometry.pairs import all_pairs
from mislid.geometry.projection import project
from mislid.model import Model
from mislid.study.settings import Candidates, Settings

GUARANTEED, MIXTURE, PAIRWISE = "guaranteed", "mixture", "pairwise"
# Of two proofs that both fall short by rounding, the one that was meant.
ROUNDING = 1e-9

Pair = tuple[int, int]


class Data(NamedTuple):
    """Counts (K,) and sums (K,) of the measurements, in the user's sign."""

    counts: Vector
    sums: Vector

    @property
    def samples(self) -> int:
        """Number of measurements."""
        return int(np.sum(self.counts))

    @property
    def means(self) -> Vector:
        """Empirical means (K,), 0 where nothing was measured."""
        return np.divide(self.sums, self.counts, out=np.zeros_like(self.sums), where=self.counts > 0)


@dataclass(frozen=True, slots=True, eq=False)
class PairEvidence:
    """What is proved of one pair: by which argument, how much, and how much is enough.

    `values` (d,), the linear part of the closest alternative at the spanner's arms, and `alpha`
    prove the statistic where features matter.
    """

    pair: Pair
    proof: str
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
        self.settings, self.data = settings, data
        self.model: Model = candidates.model(settings.misspecification)
        self.noise = settings.deviations(candidates.K)
        self.means = settings.sign * data.means
        self.weights = data.counts / self.noise**2
        self.share = 0.5 if settings.stopping == GUARANTEED else 1.0

    @cached_property
    def at(self) -> Coordinates:
        """The spanner, and the features in its coordinates."""
        return coordinates(self.model)

    @cached_property
    def projected_values(self) -> Vector:
        """The projection's linear part at the spanner's arms, to the last digits."""
        given, w, X, eps = self.means, self.weights, self.at.matrix, self.model.misspecification
        values: Vector = self.model.features[self.at.basis] @ project(self.model, given, w).theta
        for _ in range(50):
            excess = _excess(given - X @ values, eps)
            root = np.sqrt(np.where(excess != 0.0, w, 0.0))
            step = np.linalg.lstsq(root[:, None] * X, root * excess, rcond=None)[0]
            moved = _excess(given - X @ (values + step), eps)
            if not np.sum(w * moved**2) < np.sum(w * excess**2):
                break
            values = values + step
        return values

    @cached_property
    def projected(self) -> Vector:
        """The nearest model (K,)."""
        if math.isinf(self.model.misspecification):
            return self.means
        linear = self.at.matrix @ self.projected_values
        near = linear + np.clip(
            self.means - linear, -self.model.misspecification, self.model.misspecification
        )
        return np.where(self.weights > 0.0, near, linear)

    @cached_property
    def projection_bound(self) -> float:
        """What no model can be nearer than."""
        if math.isinf(self.model.misspecification):
            return 0.0
        z = self.weights * (self.means - self.projected)
        z = balanced(self.at.matrix, self.weights, z)
        theta = self.at.theta(self.model, self.projected_values)
        return proved_bound(self.model, self.means, self.weights, z, theta=theta)

    @cached_property
    def given(self) -> Vector:
        """The means (K,) that alternatives are searched around."""
        by_means = self.settings.stopping in (GUARANTEED, MIXTURE)
        return self.means if by_means else self.projected

    @cached_property
    def is_free(self) -> bool:
        """Whether features say nothing of any pair."""
        return is_unstructured(self.model, self.given, self.settings.tolerance)

    @cached_property
    def common_threshold(self) -> float:
        """What every pair must reach that is not settled by its two arms alone.

        A stopping test on the same numbers, by the compiled rules.
        """
        from mislid.algorithms import as_algorithm
        from mislid.algorithms._setting import new_setting
        from mislid.rules._state import SAMPLES, STALLS, THRESHOLD, new_state
        from mislid.rules._stopping import estimate_and_test, new_stopping

        settings, rule = self.settings, self.settings.stopping
        setting = new_setting(
            self.model,
            self.noise,
            settings.m,
            self.share * settings.delta,
            settings.tolerance,
            as_algorithm("mislid"),
            settings.mean_bound,
        )
        state = new_state(setting)
        state.counts[:], state.means[:] = self.data.counts, self.means
        state.sums[:], state.weights[:] = settings.sign * self.data.sums, self.weights
        state.clock[SAMPLES] = self.data.samples
        stopping = new_stopping(setting, MIXTURE if rule == GUARANTEED else rule)
        estimate_and_test(setting, stopping, state)
        if state.clock[STALLS] > 0:
            raise CertificateError(
                "the decision could not be certified: the closest alternative cannot be told in "
                "double precision, the weights or features are too ill-conditioned"
            )
        return float(state.evidence[THRESHOLD])

    def evidence(self, incumbents: tuple[int, ...]) -> list[PairEvidence]:
        """What is proved of every pair of these incumbents, sorted by pair."""
        pairs = all_pairs(self.model.K, np.sort(np.array(incumbents)))
        found = [None] * len(pairs)
        if self.settings.stopping in (GUARANTEED, PAIRWISE):
            found = self._by_two_arms(pairs)
        return [
            one if one is not None else self._by_model((i, j))
            for one, (i, j) in zip(found, pairs.tolist(), strict=True)
        ]

    def _by_two_arms(self, pairs: np.ndarray) -> list[PairEvidence | None]:
        from mislid.rules.thresholds import pairwise_threshold

        settings, counts, K = self.settings, self.data.counts, self.model.K
        costs = unstructured_bounds(self.means, self.weights, pairs, settings.tolerance)
        delta = self.share * settings.delta
        found: list[PairEvidence | None] = []
        for (i, j), cost in zip(pairs.tolist(), costs.tolist(), strict=True):
            threshold = pairwise_threshold(counts[i], counts[j], K, settings.m, delta)
            settled = cost >= threshold * (1.0 - ROUNDING) or settings.stopping == PAIRWISE
            found.append(PairEvidence((i, j), PAIRWISE, cost, threshold) if settled else None)
        return found

    @cached_property
    def _solver(self) -> PairSolver:
        return PairSolver(self.model, self.given, self.weights)

    def _by_model(self, pair: Pair) -> PairEvidence:
        rule = self.settings.stopping
        proof, threshold = MIXTURE if rule == GUARANTEED else rule, self.common_threshold
        i, j = pair
        tol, features = self.settings.tolerance, self.model.features
        if np.all(features[i] == features[j]) and tol > 2.0 * self.model.misspecification:
            return PairEvidence(pair, proof, math.inf, threshold)
        if self.is_free:
            costs = unstructured_bounds(self.given, self.weights, np.array([pair]), tol)
            return PairEvidence(pair, proof, float(costs[0]), threshold)
        solved = self._solver.solve(pair, tol)
        z = self._multipliers(pair, solved.values, solved.alpha)
        bound = self._proved(pair, z, solved.values, solved.alpha)
        return PairEvidence(pair, proof, bound, threshold, solved.values, solved.alpha)

    def _nearest(self, pair: Pair, values: Vector, alpha: float) -> Vector:
        """Minimises the cost minus alpha (lambda_i - lambda_j) around these linear values."""
        linear, eps = self.at.matrix @ values, self.model.misspecification
        pushed = self.given.copy()
        for arm, push in zip(pair, (alpha, -alpha), strict=True):
            if push != 0.0:
                weight = float(self.weights[arm])
                pushed[arm] += push / weight if weight > 0.0 else math.copysign(math.inf, push)
        return linear + np.clip(pushed - linear, -eps, eps)

    def _multipliers(self, pair: Pair, values: Vector, alpha: float) -> Vector:
        z = self.weights * (self.given - self._nearest(pair, values, alpha))
        z[pair[0]] += alpha
        z[pair[1]] -= alpha
        return balanced(self.at.matrix, self.weights, z, alpha)

    def _proved(self, pair: Pair, z: Vector, values: Vector, alpha: float) -> float:
        theta = self.at.theta(self.model, values)
        tol = self.settings.tolerance
        return proved_bound(self.model, self.given, self.weights, z, alpha, pair, tol, theta)

    def closest(self, evidence: PairEvidence) -> ClosestAlternative:
        """The closest alternative of a pair that models can reverse."""
        if evidence.values is None:
            return self._meeting(evidence)
        pair, values, alpha = evidence.pair, evidence.values, evidence.alpha
        means = self._nearest(pair, values, alpha)
        cost = 0.5 * float(np.sum(self.weights * (means - self.given) ** 2))
        z = self._multipliers(pair, values, alpha)
        bound = min(self._proved(pair, z, values, alpha), cost)
        return ClosestAlternative(means, self.at.theta(self.model, values), z, alpha, cost, bound)

    def _meeting(self, evidence: PairEvidence) -> ClosestAlternative:
        """Only the two arms move, and meet at their weighted mean."""
        by_two = evidence.proof == PAIRWISE
        means = (self.means if by_two else self.given).copy()
        (i, j), w = evidence.pair, self.weights
        gap = max(float(means[j] - means[i]) + self.settings.tolerance, 0.0)
        share = float(w[j] / (w[i] + w[j])) if w[i] + w[j] > 0.0 else 1.0
        means[i] += share * gap
        means[j] -= (1.0 - share) * gap
        anything = by_two or math.isinf(self.model.misspecification)
        return ClosestAlternative(
            means=means,
            theta=None if anything else np.zeros(self.model.d),
            multipliers=np.zeros(self.model.K),
            alpha=2.0 * evidence.statistic / gap if gap > 0.0 else 0.0,
            cost=evidence.statistic,
            bound=evidence.statistic,
        )


def _excess(residual: Vector, eps: float) -> Vector:
    outside: Vector = residual - np.clip(residual, -eps, eps)
    return outside
