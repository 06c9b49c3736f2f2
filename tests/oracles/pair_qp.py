"""Slow references for the pair problem, the closest alternative and the projection.

Pair problem (i, j): minimise 1/2 sum_k w_k (lambda_k - mu_k)^2 over theta (d,), lambda (K,) with
|lambda_k - phi_k'theta| <= misspecification for every arm and lambda_i >= lambda_j + tolerance.

quadprog on the (theta, lambda) variables gives points; `interior_point` turns every point into
proven bounds, and solves the problem where these leave a gap. Inputs are floats taken as exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import localcontext
from typing import Any, NamedTuple

import numpy as np
import quadprog
from numpy.typing import NDArray
from scipy import linalg

from .arithmetic import DECIMAL, DIGITS, floats
from .interior_point import Bracketing, Reduced, bracket, reduce, solve

Floats = NDArray[np.float64]
Point = tuple[Floats, Floats, float]


class Bracket(NamedTuple):
    """lower <= optimal cost <= upper, and a model (K,) that costs `upper`.

    The model is NaN at arms without weight, where it is not unique. The bounds are proven in
    76-digit decimals and rounded to the nearest float64.
    """

    lower: float
    upper: float
    means: Floats

    @property
    def gap(self) -> float:
        """(upper - lower) / upper."""
        return (self.upper - self.lower) / self.upper if self.upper > self.lower else 0.0


class Closest(NamedTuple):
    """The cheapest of all pairs: bounds on its cost, a pair that attains `upper`, and its model."""

    lower: float
    upper: float
    pair: tuple[int, int]
    means: Floats


class PairProblem(NamedTuple):
    """What is asked of a pair; functions below take these fields one by one."""

    features: Floats
    misspecification: float
    means: Floats
    weights: Floats
    challenger: int
    incumbent: int
    tolerance: float = 0.0

    @property
    def pair(self) -> tuple[int, int]:
        """(challenger, incumbent)."""
        return self.challenger, self.incumbent


def pair_cost_exact(*fields: Any, rtol: float = 1e-13) -> Bracket:
    """The judge: a bracket of relative width rtol by `interior_point` alone.

    >>> import numpy as np
    >>> answer = pair_cost_exact(np.eye(2), 0.0, np.array([1.0, 0.0]), np.ones(2), 1, 0)
    >>> answer.lower == answer.upper == 0.25
    True
    """
    problem = PairProblem(*fields)
    with localcontext(prec=DIGITS):
        found = _without_solver(problem)
        if isinstance(found, Reduced):
            found = _expanded(found, solve(found, rtol), len(problem.means))
    return found


def closest_brute(
    features: Floats,
    misspecification: float,
    means: Floats,
    weights: Floats,
    m: int,
    tolerance: float = 0.0,
    incumbents: Iterable[int] | None = None,
    rtol: float = 1e-12,
) -> Closest:
    """The cheapest of all pairs (challenger outside, incumbent inside the m best arms).

    Every pair is solved by quadprog. Those whose proven lower bound is below the cheapest proven
    upper bound are solved again by the judge. Ties for the m best go to the smaller index.
    """
    best = set(np.argsort(-means, kind="stable")[:m] if incumbents is None else incumbents)
    pairs = [(i, int(j)) for j in best for i in range(len(means)) if i not in best]
    shared = _Shared(features, misspecification, means, weights=weights, tolerance=tolerance)
    with localcontext(prec=DIGITS):
        first = {pair: shared.first_bracket(pair) for pair in pairs}
        answer = _cheapest(first)
        for pair in sorted(pairs, key=lambda pair: first[pair].lower):
            if first[pair].lower >= answer.upper * (1 - rtol) or first[pair].gap <= rtol:
                continue
            first[pair] = shared.judged_bracket(pair, rtol)
            answer = _cheapest(first)
    return answer


def project_brute(
    features: Floats,
    misspecification: float,
    means: Floats,
    weights: Floats,
    rtol: float = 1e-22,
) -> Bracket:
    """The projection; the default rtol gives lambda to about 1e-11 of its distance."""
    with localcontext(prec=DIGITS):
        if np.isinf(misspecification):
            return Bracket(0.0, 0.0, np.where(weights > 0, means, np.nan))
        problem = reduce(features, misspecification, means, weights, None, 0.0)
        return _expanded(problem, solve(problem, rtol), len(means))


def _without_solver(problem: PairProblem) -> Bracket | Reduced:
    """The answer where it is a formula (no structure, no model), else the problem to solve."""
    features, misspecification, means, weights, i, j, tolerance = problem
    if np.array_equal(features[i], features[j]) and tolerance > 2 * misspecification:
        return Bracket(np.inf, np.inf, np.full(len(means), np.nan))
    if np.isinf(misspecification):
        return _unstructured(means, weights, problem.pair, tolerance)
    return reduce(features, misspecification, means, weights, problem.pair, tolerance)


def _unstructured(
    means: Floats, weights: Floats, pair: tuple[int, int], tolerance: float
) -> Bracket:
    mu, w = DECIMAL.array(means), DECIMAL.array(weights)
    i, j = pair
    gap = mu[j] - mu[i] + DECIMAL.number(tolerance)
    if gap <= 0 or w[i] == 0 or w[j] == 0:
        return Bracket(0.0, 0.0, np.where(weights > 0, means, np.nan))
    total = w[i] + w[j]
    model = mu.copy()
    model[i], model[j] = mu[i] + gap * w[j] / total, mu[j] - gap * w[i] / total
    cost = float(gap * gap * w[i] * w[j] / (2 * total))
    return Bracket(cost, cost, np.where(weights > 0, floats(model), np.nan))


def _quadprog_bracket(problem: Reduced) -> Bracketing:
    """What quadprog's point proves, or the judge's where it has none."""
    if problem.eps == 0:
        return solve(problem)
    try:
        point = _quadprog_point(problem)
    except ArithmeticError:
        return solve(problem)
    return bracket(problem, point, problem.factor())


def _expanded(problem: Reduced, found: Bracketing, size: int) -> Bracket:
    model = np.full(size, np.nan)
    weighted = np.asarray(problem.weights > 0, dtype=bool)
    model[problem.arms[weighted]] = floats(found.model[weighted])
    return Bracket(float(found.lower), float(found.upper), model)


def _cheapest(brackets: dict[tuple[int, int], Bracket]) -> Closest:
    pair = min(brackets, key=lambda pair: brackets[pair].upper)
    lower = min(found.lower for found in brackets.values())
    return Closest(lower, brackets[pair].upper, pair, brackets[pair].means)


class _Shared:
    """The pairs of one problem: their reductions differ only if an arm of one has no weight."""

    def __init__(self, *given: Any, weights: Floats, tolerance: float) -> None:
        self._given = *given, weights
        self._tolerance = tolerance
        self._weights = weights
        self._common: Reduced | None = None

    def first_bracket(self, pair: tuple[int, int]) -> Bracket:
        problem = self._problem(pair)
        if isinstance(problem, Bracket):
            return problem
        return _expanded(problem, _quadprog_bracket(problem), len(self._weights))

    def judged_bracket(self, pair: tuple[int, int], rtol: float) -> Bracket:
        problem = self._problem(pair)
        assert isinstance(problem, Reduced)
        return _expanded(problem, solve(problem, rtol), len(self._weights))

    def _problem(self, pair: tuple[int, int]) -> Bracket | Reduced:
        i, j = pair
        if self._weights[i] == 0 or self._weights[j] == 0 or self._common is None:
            problem = _without_solver(PairProblem(*self._given, *pair, self._tolerance))
            if isinstance(problem, Reduced) and self._weights[i] > 0 and self._weights[j] > 0:
                self._common = problem
            return problem
        features, misspecification, _, _ = self._given
        if np.array_equal(features[i], features[j]) and self._tolerance > 2 * misspecification:
            return _without_solver(PairProblem(*self._given, *pair, self._tolerance))
        where = {int(arm): n for n, arm in enumerate(self._common.arms)}
        return replace(self._common, pair=(where[i], where[j]))


class _Whitened(NamedTuple):
    """A reduced problem in float64 with orthonormal features, unit scales: x = (theta, lambda).

    theta = scale R^-1 t, lambda = centre + scale l, weights divided by their largest.
    """

    basis: Floats
    triangle: Floats
    scale: float
    top: float
    hessian: Floats
    linear: Floats
    inequalities: Floats
    bounds: Floats

    def point(self, x: Floats, multipliers: Floats) -> Point:
        """(theta, z, alpha) of the reduced problem from the solver's x and multipliers >= 0."""
        size, rank = self.basis.shape
        theta = linalg.solve_triangular(self.triangle, x[:rank]) * self.scale
        z = (multipliers[:size] - multipliers[size : 2 * size]) * self.scale * self.top
        alpha = float(multipliers[2 * size :].sum()) * self.scale * self.top
        return theta, z, alpha


def _whitened(problem: Reduced) -> _Whitened:
    """minimise 1/2 x'Hx - c'x with Gx <= g; rows: upper walls, lower walls, half-space."""
    a = floats(problem.features)
    mu, w = floats(problem.means), floats(problem.weights)
    eps, tol = float(problem.eps), float(problem.tolerance)
    basis, triangle = np.linalg.qr(a / np.max(np.abs(a), axis=0))
    triangle = triangle * np.max(np.abs(a), axis=0)
    scale = max(float(np.max(np.abs(mu))), min(eps, 1e3 * float(np.max(np.abs(mu)))), tol) or 1.0
    top = float(w.max())
    size, rank = a.shape
    hessian = np.concatenate([np.zeros(rank), w / top])
    linear = hessian * np.concatenate([np.zeros(rank), mu / scale])
    rows = [np.hstack([-basis, np.eye(size)]), np.hstack([basis, -np.eye(size)])]
    bounds = [np.full(2 * size, eps / scale)]
    if problem.pair is not None:
        rows.append(np.concatenate([np.zeros(rank), floats(problem.u)])[None])
        bounds.append(np.array([-tol / scale]))
    inequalities, limit = np.vstack(rows), np.concatenate(bounds)
    return _Whitened(basis, triangle, scale, top, hessian, linear, inequalities, limit)


def _quadprog_point(problem: Reduced, ridge: float = 1e-5, rounds: int = 8) -> Point:
    """Proximal rounds, since quadprog wants a positive definite Hessian and theta costs nothing."""
    qp = _whitened(problem)
    proximal = np.where(qp.hessian > ridge, 0.0, ridge)
    inverse_root = np.diag(1 / np.sqrt(qp.hessian + proximal))
    x = np.zeros_like(qp.hessian)
    multipliers = np.zeros_like(qp.bounds)
    for _ in range(rounds):
        before = x
        try:
            x, _, _, _, multipliers, _ = quadprog.solve_qp(
                inverse_root, qp.linear + proximal * x, -qp.inequalities.T, -qp.bounds, 0, True
            )
        except ValueError as error:
            raise ArithmeticError(f"quadprog: {error}") from error
        if np.max(np.abs(x - before)) <= 1e-14:
            break
    return qp.point(x, multipliers)
