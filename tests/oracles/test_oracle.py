"""The oracles agree with closed forms, with each other and with weak duality on random points."""

from __future__ import annotations

from decimal import localcontext

import numpy as np
import pytest

from helpers.instances import Problem, random_problem, random_problems
from mislid.geometry.tube import chebyshev_deviation

from .arithmetic import DIGITS
from .interior_point import bracket, reduce
from .pair_qp import Bracket, closest_brute, pair_cost_exact, project_brute

SEEDS = range(40)


def weighted_scale(problem: Problem) -> float:
    """The cost of moving every mean by its own size: what 'absolute' is relative to."""
    return float(problem.weights @ problem.means**2)


def drawn(seed: int, **options: bool | int) -> tuple[Problem, tuple[int, int]]:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, **options)
    return problem, problem.random_pair(rng)


def exact(problem: Problem, pair: tuple[int, int], **changes: float) -> Bracket:
    misspecification = changes.get("misspecification", problem.misspecification)
    tolerance = changes.get("tolerance", problem.tolerance)
    return pair_cost_exact(
        problem.features, misspecification, problem.means, problem.weights, *pair, tolerance
    )


def test_judge_closes_every_bracket() -> None:
    for index, problem in enumerate(random_problems(seed=1, count=300)):
        found = exact(problem, problem.random_pair(np.random.default_rng(index)))
        assert found.lower <= found.upper * (1 + 1e-15), problem.kind
        zero = 1e-38 * weighted_scale(problem)
        assert found.gap <= 1e-13 or found.upper <= zero, (problem.kind, found[:2])


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_model_has_a_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms, dimension = 12, 4
    features, means = rng.normal(size=(arms, dimension)), rng.normal(size=arms)
    weights, tolerance = rng.dirichlet(np.ones(arms)), float(rng.uniform(0, 0.3))
    root = np.sqrt(weights)
    theta, *_ = np.linalg.lstsq(root[:, None] * features, root * means)
    direction = features[1] - features[0]
    information = features.T @ (weights[:, None] * features)
    excess = max(direction @ theta + tolerance, 0.0)
    expected = weights @ (means - features @ theta) ** 2 / 2
    expected += excess**2 / (2 * direction @ np.linalg.solve(information, direction))
    found = pair_cost_exact(features, 0.0, means, weights, 0, 1, tolerance)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-12)


@pytest.mark.parametrize("misspecification", [1e6, float("inf")])
def test_without_structure_only_the_pair_moves(misspecification: float) -> None:
    rng = np.random.default_rng(7)
    features, means, weights = rng.normal(size=(9, 3)), rng.normal(size=9), rng.uniform(1, 2, 9)
    i, j = int(np.argmin(means)), int(np.argmax(means))
    gap = means[j] - means[i] + 0.25
    expected = gap**2 / (2 * (1 / weights[i] + 1 / weights[j]))
    found = pair_cost_exact(features, misspecification, means, weights, i, j, 0.25)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-13)
    others = [k for k in range(9) if k not in (i, j)]
    np.testing.assert_array_equal(found.means[others], means[others])


@pytest.mark.parametrize("seed", SEEDS)
def test_any_point_of_any_solver_gives_valid_bounds(seed: int) -> None:
    problem, pair = drawn(seed, largest=15)
    if problem.misspecification in (0.0, np.inf) or np.isinf(exact(problem, pair).upper):
        problem, pair = drawn(seed + 1000, largest=15)
    truth = exact(problem, pair)
    if not 0 < problem.misspecification < np.inf or np.isinf(truth.upper):
        return
    rng = np.random.default_rng(seed)
    with localcontext(prec=DIGITS):
        reduced = reduce(
            problem.features,
            problem.misspecification,
            problem.means,
            problem.weights,
            pair,
            problem.tolerance,
        )
        size, rank = reduced.features.shape
        for _ in range(5):
            noise = problem.weights[reduced.arms] * rng.normal(size=size)
            point = rng.normal(size=rank), noise, abs(rng.normal())
            found = bracket(reduced, point, reduced.factor())
            assert float(found.lower) <= truth.upper * (1 + 1e-15)
            assert float(found.upper) >= truth.lower * (1 - 1e-15)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_closest_is_the_cheapest_pair(seed: int, hard: bool) -> None:
    problem, _ = drawn(seed, largest=10, hard=hard)
    found = closest_brute(
        problem.features,
        problem.misspecification,
        problem.means,
        problem.weights,
        problem.m,
        problem.tolerance,
    )
    inside = problem.incumbents
    outside = [k for k in range(len(problem.means)) if k not in inside]
    every = {(i, j): exact(problem, (i, j)) for i in outside for j in inside}
    cheapest = min(answer.upper for answer in every.values())
    zero = 1e-38 * weighted_scale(problem)
    np.testing.assert_allclose([found.lower, found.upper], cheapest, rtol=2e-12, atol=zero)
    np.testing.assert_allclose(every[found.pair].upper, cheapest, rtol=2e-12, atol=zero)


@pytest.mark.parametrize("seed", SEEDS)
def test_projection_satisfies_its_optimality_conditions(seed: int) -> None:
    problem, _ = drawn(seed, largest=20, hard=False)
    found = project_brute(
        problem.features, problem.misspecification, problem.means, problem.weights
    )
    if np.isinf(problem.misspecification):
        assert found.upper == 0.0
        return
    known = problem.weights > 0
    z = (problem.weights * (problem.means - found.means))[known]
    features = problem.features[known] / np.max(np.abs(problem.features))
    rounding = problem.weights @ np.abs(problem.means)
    assert np.max(np.abs(features.T @ z)) <= 1e-9 * np.abs(z).sum() + 1e-14 * rounding
    least, _ = chebyshev_deviation(problem.features[known], found.means[known])
    assert least - problem.misspecification <= 1e-6 * (
        np.max(np.abs(problem.means)) + problem.misspecification
    )
    assert found.lower <= found.upper


def test_judge_is_exact_where_the_answer_is_rational() -> None:
    """One feature, two arms on it: theta, both walls and the half-space by hand."""
    features = np.array([[1.0], [2.0]])
    means, weights = np.array([3.0, 1.0]), np.array([1e-12, 1e6])
    # lambda_1 >= lambda_0 with theta >= -2 eps feasible near (1, 1): only the light arm moves.
    expected = 4.0 / (2 * (1e12 + 1e-6))
    found = pair_cost_exact(features, 1.0, means, weights, 1, 0)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-15)
