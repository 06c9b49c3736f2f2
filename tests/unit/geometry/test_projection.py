import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.instances import Problem
from mislid.geometry.projection import Projection, project
from mislid.model import Model
from oracles.agreement import disagreements, drawn, survey
from oracles.pair_qp import project_brute

INF = math.inf
# The judge is slow.
SURVEYS = [(0, 50), *(pytest.param(seed, 250, marks=pytest.mark.slow) for seed in range(4))]


def projection_of(problem: Problem) -> Projection:
    model = Model(problem.features, problem.misspecification)
    return project(model, problem.means, problem.weights)


def judged(problem: Problem, found: Projection) -> list[str]:
    truth = project_brute(
        problem.features, problem.misspecification, problem.means, problem.weights, rtol=1e-13
    )
    return disagreements(problem, found, truth.lower, truth.upper)


@pytest.mark.parametrize("hard", [False, True])
class TestRandomProblems:
    @pytest.mark.parametrize(("seed", "count"), SURVEYS)
    def test_agrees_with_the_judge(self, seed: int, count: int, hard: bool) -> None:
        assert survey(seed, count, lambda p, _: judged(p, projection_of(p)), hard=hard) == []

    @pytest.mark.parametrize("seed", range(4))
    def test_certificates_hold(self, seed: int, hard: bool) -> None:
        failures = survey(
            100 + seed, 400, lambda p, _: list(projection_of(p).check().failures), hard=hard
        )
        assert failures == []


class TestLimits:
    FEATURES = np.random.default_rng(2).normal(size=(9, 3))
    MEANS = np.random.default_rng(3).normal(size=9)
    WEIGHTS = np.random.default_rng(4).uniform(0.5, 1.5, 9)

    def test_arms_without_weight_get_their_linear_value(self) -> None:
        weights = np.where(np.arange(9) < 3, 0.0, self.WEIGHTS)
        for eps in (0.0, 0.1, 10.0, INF):
            found = project(Model(self.FEATURES, eps), self.MEANS, weights)
            assert_allclose(found.means[:3], self.FEATURES[:3] @ found.theta, rtol=1e-9)
            assert_allclose(found.deviation[:3], 0.0, atol=1e-9)
            assert found.check()


class TestOneOfMany:
    """Where several theta fit, the one nearest to least squares is taken."""

    def test_the_nearest_end_of_an_interval(self) -> None:
        # The arms of the first feature fit wherever theta_0 is in [0.9, 1]; those of the second are
        # out of reach of one another, so that least squares leaves the tube and costs something.
        features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        means, weights = np.array([0.0, 1.9, -2.0, 2.0]), np.array([9.0, 1.0, 1.0, 1.0])
        found = project(Model(features, 1.0), means, weights)
        # Least squares says theta_0 = 0.19.
        assert_allclose(found.theta, [0.9, 0.0], atol=1e-6)
        assert_allclose(found.cost, 1.0, rtol=1e-9)
        assert found.check()


def test_calls_are_deterministic() -> None:
    for index in range(30):
        problem, _ = drawn(80, index)
        one, other = projection_of(problem), projection_of(problem)
        assert (one.cost, one.bound) == (other.cost, other.bound)
        for name in ("means", "theta", "deviation", "multipliers"):
            assert_array_equal(getattr(one, name), getattr(other, name))
