"""Evidence of pairs by the rule `guaranteed`, at one time or at the best of several.

The compiled rule decided while measurements came in. Here the same evidence is computed from counts
and sums, in NumPy, for certificates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.errors import CertificateError
from mislid.geometry.alternatives import PairSolver
from mislid.geometry.coordinates import Coordinates, coordinates
from mislid.geometry.duality import PairProblem, Pairs, balanced, proved_bound
from mislid.model import Model
from mislid.stopping.equal import spread_of
from mislid.stopping.evidence import (
    Families,
    by_features,
    by_two_arms,
    diagonal_weights,
    families_of,
)
from mislid.stopping.noise import by_own_values
from mislid.study.candidates import Candidates
from mislid.study.settings import EQUAL, KNOWN, Settings

TWO_ARMS, LINEAR, DIAGONAL = "two arms", "linear", "diagonal"
FAMILIES = (TWO_ARMS, LINEAR, DIAGONAL)
# Evidence may fall short of the level by so much: compiled and in NumPy it is rounded differently.
ROUNDING = 5e-7
# Newton's steps that refine a closest model, and halvings of each.
_STEPS, _HALVINGS = 30, 12
# Times of a search without a hint.
SEARCHED = 300

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
        values, alpha = refined(problem, solved.values, solved.alpha)
        z = balanced(X, q, problem.multipliers(values, alpha), alpha)
        within = Model(X, eps)
        cost = proved_bound(PairProblem(within, self.means, q, tolerance), z, alpha, pair, values)
        evidence = self._evidence_of_all_arms(cost, scale)
        return Settlement(pair, DIAGONAL, self.samples, evidence, scale, values, alpha)

    def _evidence_of_all_arms(self, cost: float, scale: int) -> float:
        """What a cost at one scale proves, once its price is paid."""
        price = self._diagonal[scale][1]
        if self.spread is None:
            return cost - price
        sizes = self.claim.families.diagonal.scales[[scale]]
        return self.spread.by_costs(sizes, np.array([-price]), np.array([cost]))

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
        last = self._after(self._last)
        left = self._take(pairs, last.settle(pairs))
        left = self._take(left, last.settle_by_all_arms(left))
        for samples in self._hinted(left):
            left = self._take(left, self._after(samples).settle(left))
        for samples in self._hinted(left):
            left = self._take(left, self._after(samples).settle_by_all_arms(left))
        for samples in _spread(self._before, SEARCHED) if len(left) else ():
            left = self._take(left, self._after(samples).settle(left))
        return left

    def _hinted(self, pairs: Pairs) -> list[int]:
        """The times before the last at which the rule settled pairs, the last one first."""
        times = {self._hints.get((i, j), self._last) for i, j in pairs.tolist()}
        return sorted(times - {self._last}, reverse=True)

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


class Problem(NamedTuple):
    """The models X b + eta, |eta| <= eps, around given means with weights (K,).

    For a pair (challenger i, incumbent j), those with lambda_i >= lambda_j + tol.
    """

    X: Matrix
    eps: float
    given: Vector
    weights: Vector
    pair: tuple[int, int] | None = None
    tol: float = 0.0

    def nearest(self, values: Vector, alpha: float = 0.0) -> Vector:
        """Minimises cost - alpha (lambda_i - lambda_j) over means (K,) around linear values."""
        linear = self.X @ values
        pushed = self.given.copy()
        for arm, push in zip(self.pair or (), (alpha, -alpha), strict=False):
            if push != 0.0:
                weight = float(self.weights[arm])
                pushed[arm] += push / weight if weight > 0.0 else math.copysign(math.inf, push)
        found: Vector = linear + np.clip(pushed - linear, -self.eps, self.eps)
        return found

    def multipliers(self, values: Vector, alpha: float = 0.0) -> Vector:
        """Of the tube's walls (K,); orthogonal to X at the closest model."""
        z = self.weights * (self.given - self.nearest(values, alpha))
        if self.pair is not None:
            z[self.pair[0]] += alpha
            z[self.pair[1]] -= alpha
        return z


def refined(problem: Problem, values: Vector, alpha: float = 0.0) -> tuple[Vector, float]:
    """Values (d,) and alpha of the closest model, from ones that are nearly so.

    Solvers stop once a cost is certified. Where an alternative touches the tube is then known, and
    linear equations are left: Newton's method ends after a step or two, with both sides of the
    certificate equal to the last digits.
    """
    unit = float(np.max(problem.weights))
    scaled = problem._replace(weights=problem.weights / unit)
    if alpha == 0.0:
        scaled = scaled._replace(pair=None)
    point = np.append(values, alpha / unit)
    residual = _residual(scaled, point)
    for _ in range(_STEPS):
        step = np.linalg.lstsq(_slopes(scaled, point), residual, rcond=None)[0]
        for halving in range(_HALVINGS):
            trial = point + 0.5**halving * step
            left = _residual(scaled, trial)
            if trial[-1] >= 0.0 and np.linalg.norm(left) < np.linalg.norm(residual):
                point, residual = trial, left
                break
        else:
            break
    return point[:-1], float(point[-1]) * unit


def _residual(problem: Problem, point: Vector) -> Vector:
    """X'z and tol - (lambda_i - lambda_j): what should vanish, (d + 1,)."""
    values, alpha = point[:-1], float(point[-1])
    short = 0.0
    if problem.pair is not None:
        means = problem.nearest(values, alpha)
        short = problem.tol - float(means[problem.pair[0]] - means[problem.pair[1]])
    return np.append(problem.X.T @ problem.multipliers(values, alpha), short)


def _slopes(problem: Problem, point: Vector) -> Matrix:
    """Minus the derivative of the residual, (d + 1, d + 1), while the same arms touch the tube."""
    X, w, values = problem.X, problem.weights, point[:-1]
    means = problem.nearest(values, float(point[-1]))
    touching = np.abs(means - X @ values) >= problem.eps * (1.0 - 1e-12)
    d = X.shape[1]
    slopes = np.zeros((d + 1, d + 1))
    slopes[:d, :d] = X.T @ (np.where(touching, w, 0.0)[:, None] * X)
    for arm, sign in zip(problem.pair or (), (1.0, -1.0), strict=False):
        if touching[arm]:
            slopes[:d, d] -= sign * X[arm]
            slopes[d, :d] += sign * X[arm]
        else:
            slopes[d, d] += 1.0 / w[arm]
    return slopes
