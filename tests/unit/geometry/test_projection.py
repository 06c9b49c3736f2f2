import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.instances import Problem
from mislid.errors import CertificateError, ProblemError
from mislid.geometry.projection import Projection, project
from mislid.model import Model
from oracles.agreement import disagreements, drawn, slack, survey
from oracles.pair_qp import project_brute

INF = math.inf


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
    @pytest.mark.parametrize("seed", range(4))
    def test_agrees_with_the_judge(self, seed: int, hard: bool) -> None:
        assert survey(seed, 250, lambda p, _: judged(p, projection_of(p)), hard=hard) == []

    @pytest.mark.parametrize("seed", range(4))
    def test_certificates_hold(self, seed: int, hard: bool) -> None:
        failures = survey(
            100 + seed, 400, lambda p, _: list(projection_of(p).check().failures), hard=hard
        )
        assert failures == []

    def test_parts_add_up(self, hard: bool) -> None:
        for index in range(200):
            problem, _ = drawn(50, index, hard=hard)
            found = projection_of(problem)
            model = found.model
            size = np.abs(model.features) @ np.abs(found.theta) + np.abs(found.means).max()
            sum_of_parts = model.features @ found.theta + found.deviation
            assert np.all(np.abs(sum_of_parts - found.means) <= 1e-9 * size), problem.kind
            assert np.max(np.abs(found.deviation)) <= model.misspecification
            assert found.bound <= found.cost


def test_the_projection_itself_is_the_judges() -> None:
    for index in range(300):
        problem, _ = drawn(60, index, hard=False)
        truth = project_brute(
            problem.features, problem.misspecification, problem.means, problem.weights
        )
        found = projection_of(problem)
        weighted = problem.weights > 0
        away = (found.means - truth.means)[weighted]
        distance = float(np.sum(problem.weights[weighted] * away**2)) / 2
        assert distance <= 2 * slack(problem, truth.upper), (index, problem.kind)


def test_projecting_twice_changes_nothing() -> None:
    for index in range(200):
        problem, _ = drawn(70, index, hard=False)
        once = projection_of(problem)
        twice = project(once.model, once.means, problem.weights)
        size = float(np.max(np.abs(problem.means)))
        weighted = problem.weights > 0
        assert twice.cost <= 1e-18 * float(np.max(problem.weights)) * size**2, problem.kind
        root = np.sqrt(problem.weights / np.max(problem.weights))[weighted]
        assert_allclose(root * twice.means[weighted], root * once.means[weighted], atol=1e-8 * size)


def test_projections_do_not_part() -> None:
    """The projection on a convex set is a contraction in the norm of the weights."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        K, d = int(rng.integers(2, 15)), int(rng.integers(1, 4))
        model = Model(rng.normal(size=(K, min(d, K))), float(rng.uniform(0, 1)))
        weights = rng.uniform(0.1, 1, K)
        a, b = rng.normal(size=K), rng.normal(size=K)
        moved = project(model, a, weights).means - project(model, b, weights).means
        assert weights @ moved**2 <= weights @ (a - b) ** 2 * (1 + 1e-9)


class TestLimits:
    FEATURES = np.random.default_rng(2).normal(size=(9, 3))
    MEANS = np.random.default_rng(3).normal(size=9)
    WEIGHTS = np.random.default_rng(4).uniform(0.5, 1.5, 9)

    def test_linear_model_is_weighted_least_squares(self) -> None:
        found = project(Model(self.FEATURES, 0.0), self.MEANS, self.WEIGHTS)
        information = self.FEATURES.T @ (self.WEIGHTS[:, None] * self.FEATURES)
        theta = np.linalg.solve(information, self.FEATURES.T @ (self.WEIGHTS * self.MEANS))
        assert_allclose(found.theta, theta, rtol=1e-12)
        assert_allclose(found.means, self.FEATURES @ theta, rtol=1e-12)
        cost = self.WEIGHTS @ (self.MEANS - self.FEATURES @ theta) ** 2 / 2
        assert_allclose([found.cost, found.bound], cost, rtol=1e-12)
        assert_array_equal(found.deviation, np.zeros(9))

    @pytest.mark.parametrize("eps", [1e-300, 1e-13])
    def test_a_tiny_misspecification_is_a_linear_model(self, eps: float) -> None:
        tiny, linear = (
            project(Model(self.FEATURES, value), self.MEANS, self.WEIGHTS) for value in (eps, 0.0)
        )
        assert_allclose(tiny.cost, linear.cost, rtol=1e-9)
        assert_allclose(tiny.means, linear.means, rtol=1e-9)
        assert tiny.check(rtol=1e-9)

    @pytest.mark.parametrize("eps", [1e3, 1e300, INF])
    def test_everything_is_a_model_of_a_wide_tube(self, eps: float) -> None:
        found = project(Model(self.FEATURES, eps), self.MEANS, self.WEIGHTS)
        assert found.cost == found.bound == 0.0
        assert_array_equal(found.means, self.MEANS)
        assert found.check()

    def test_arms_without_weight_get_their_linear_value(self) -> None:
        weights = np.where(np.arange(9) < 3, 0.0, self.WEIGHTS)
        for eps in (0.0, 0.1, 10.0, INF):
            found = project(Model(self.FEATURES, eps), self.MEANS, weights)
            assert_allclose(found.means[:3], self.FEATURES[:3] @ found.theta, rtol=1e-9)
            assert_allclose(found.deviation[:3], 0.0, atol=1e-9)
            assert found.check()

    @pytest.mark.parametrize("eps", [0.0, 0.5, INF])
    def test_one_arm_with_weight(self, eps: float) -> None:
        weights = np.eye(9)[4]
        found = project(Model(self.FEATURES, eps), self.MEANS, weights)
        assert found.cost <= 1e-30
        assert_allclose(found.means[4], self.MEANS[4], rtol=1e-12)
        assert found.check()

    @pytest.mark.parametrize("distance", [1e2, 1e6, 1e10])
    def test_means_far_outside_the_tube(self, distance: float) -> None:
        found = project(Model(self.FEATURES, 0.1), distance * self.MEANS, self.WEIGHTS)
        truth = project_brute(self.FEATURES, 0.1, distance * self.MEANS, self.WEIGHTS)
        assert_allclose([found.cost, found.bound], truth.upper, rtol=1e-9)
        assert_allclose(found.means, truth.means, rtol=1e-7, atol=1e-9 * distance)


class TestOneOfMany:
    """Where several theta fit, the one nearest to least squares is taken."""

    def test_least_squares_itself_where_it_fits(self) -> None:
        features, means = np.array([[1.0], [1.0], [1.0]]), np.array([0.0, 0.3, 0.9])
        found = project(Model(features, 1.0), means, np.ones(3))
        assert_allclose(found.theta, [0.4], rtol=1e-12)

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

    def test_it_does_not_depend_on_the_order_of_arms(self) -> None:
        rng = np.random.default_rng(5)
        for _ in range(30):
            features, means = rng.normal(size=(8, 5)), 3 * rng.normal(size=8)
            weights, order = rng.uniform(0.5, 1, 8), rng.permutation(8)
            one = project(Model(features, 0.6), means, weights)
            other = project(Model(features[order], 0.6), means[order], weights[order])
            assert_allclose(one.theta, other.theta, atol=1e-5)
            assert_allclose(one.cost, other.cost, rtol=1e-9, atol=1e-15)


def test_calls_are_deterministic() -> None:
    for index in range(30):
        problem, _ = drawn(80, index)
        one, other = projection_of(problem), projection_of(problem)
        assert (one.cost, one.bound) == (other.cost, other.bound)
        for name in ("means", "theta", "deviation", "multipliers"):
            assert_array_equal(getattr(one, name), getattr(other, name))


def test_what_cannot_be_certified_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    from mislid.geometry import newton

    stalled = (newton.STALLED, 2.0, 1.0, 0.0, 9)
    monkeypatch.setattr(newton, "solve_problem", lambda *_: stalled)
    model = Model([[1.0], [1.0]], 0.1)
    with pytest.raises(
        CertificateError, match=r"projection could not be certified: cost 2.*bound 1"
    ):
        project(model, [0.0, 1.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("means", "weights", "message"),
    [
        ([1.0], [1.0, 1.0], "means must have 2 entries.*got 1"),
        ([1.0, math.nan], [1.0, 1.0], "means must be finite; got nan at index 1"),
        (["x", "y"], [1.0, 1.0], "means must hold real numbers.*'x'"),
        ([1.0, 2.0], [1.0, -2.0], "weights must be at least 0; got -2.0 at index 1"),
        ([1.0, 2.0], [0.0, 0.0], "weights must have at least one positive entry; got 2 zeros"),
        ([1.0, 2.0], [1.0, INF], "weights must be finite; got inf at index 1"),
        ([1.0, 2.0], 1.0, "weights must be a vector.*got 1.0"),
    ],
)
def test_bad_input(means: object, weights: object, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        project(Model([[1.0], [2.0]], 0.1), means, weights)
