from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mislid.errors import ProblemError
from mislid.geometry.coordinates import coordinates
from mislid.geometry.orthogonal import orthogonal_parameters
from mislid.model import Model
from oracles.rational import fractions, solution


def exact_linear_part(features, means, weights):
    """A theta (K,) of weighted least squares in rational arithmetic, rounded once."""
    A = [fractions(row) for row in features]
    mu, w = fractions(means), fractions(weights)
    K, d = features.shape
    gram = [[sum(w[k] * A[k][i] * A[k][j] for k in range(K)) for j in range(d)] for i in range(d)]
    slope = [[sum(w[k] * A[k][i] * mu[k] for k in range(K))] for i in range(d)]
    theta = [row[0] for row in solution(gram, slope)]
    return np.array([float(sum(a * x for a, x in zip(row, theta, strict=True))) for row in A])


def random_case(rng, number):
    K = int(rng.integers(2, 12))
    d = int(rng.integers(1, min(K, 4) + 1))
    features = rng.normal(size=(K, d))
    if number % 3 == 1 and d > 1:
        features[:, -1] = features[:, 0] + 10.0 ** -rng.integers(1, 9) * features[:, -1]
    if number % 3 == 2:
        features *= 10.0 ** rng.integers(-6, 7, size=d)
    return features, rng.normal(size=K), 10.0 ** rng.uniform(-12, 6, size=K)


@pytest.mark.parametrize("number", range(60))
def test_weights_over_eighteen_orders_against_rationals(number):
    features, means, weights = random_case(np.random.default_rng(number), number)
    split = orthogonal_parameters(Model(features, 0.1), means, weights)
    expected = exact_linear_part(features, means, weights)
    assert_allclose(split.linear, expected, rtol=0, atol=1e-12 * np.max(np.abs(expected)))
    assert split.check()


def test_parts_add_up_and_theta_gives_the_linear_one(rng):
    model, means = Model(rng.normal(size=(12, 4)), 0.2), rng.normal(size=12)
    split = orthogonal_parameters(model, means, rng.random(12))
    assert_allclose(split.linear + split.deviation, means, rtol=0, atol=1e-15)
    assert_allclose(model.features @ split.theta, split.linear, rtol=0, atol=1e-13)


def test_projection_and_residual_are_those_of_the_projection_matrix(rng):
    model, means, weights = Model(rng.normal(size=(9, 3)), 0.2), rng.normal(size=9), rng.random(9)
    weights[[1, 4]] = 0.0
    split = orthogonal_parameters(model, means, weights)
    root = np.sqrt(weights)
    weighted = root[:, None] * model.features
    P = weighted @ np.linalg.pinv(weighted)
    assert_allclose(split.projection, P @ (root * means), rtol=0, atol=1e-13)
    assert_allclose(split.residual, (np.eye(9) - P) @ (root * means), rtol=0, atol=1e-13)


def test_arms_without_weight_do_not_count(rng):
    features, means, weights = rng.normal(size=(10, 3)), rng.normal(size=10), rng.random(10)
    weights[7:] = 0.0
    all_arms = orthogonal_parameters(Model(features, 0.1), means, weights)
    means[7:] = 1e6
    changed = orthogonal_parameters(Model(features, 0.1), means, weights)
    assert_array_equal(all_arms.theta, changed.theta)
    fewer = orthogonal_parameters(Model(features[:7], 0.1), means[:7], weights[:7])
    assert_allclose(all_arms.theta, fewer.theta, rtol=1e-12)


def test_too_few_weighted_arms_give_the_smallest_linear_part(rng):
    features, means = rng.normal(size=(8, 4)), rng.normal(size=8)
    weights = np.array([1.0, 1e-9, 0, 0, 0, 0, 0, 0])
    split = orthogonal_parameters(Model(features, 0.1), means, weights)
    assert_allclose(split.linear[:2], means[:2], rtol=1e-12)
    # Any direction that leaves the two arms where they are must be orthogonal to A theta.
    free = np.linalg.svd(features[:2])[2][2:].T
    assert_allclose((features @ free).T @ split.linear, 0.0, atol=1e-12)
    change = rng.normal(size=(4, 4))
    other = orthogonal_parameters(Model(features @ change, 0.1), means, weights)
    assert_allclose(other.linear, split.linear, rtol=0, atol=1e-11)
    assert split.check()


def test_one_weighted_arm_with_zero_features():
    split = orthogonal_parameters(Model([[0.0], [1.0]], 0.1), [3.0, 5.0], [1.0, 0.0])
    assert_array_equal(split.linear, [0.0, 0.0])
    assert_array_equal(split.deviation, [3.0, 5.0])


def test_integer_weights_are_repeated_arms(rng):
    features, means = rng.normal(size=(5, 2)), rng.normal(size=5)
    weights = np.array([3, 1, 2, 1, 4])
    rows = np.repeat(np.arange(5), weights)
    once = orthogonal_parameters(Model(features, 0.1), means, weights)
    repeated = orthogonal_parameters(Model(features[rows], 0.1), means[rows], np.ones(11))
    assert_allclose(once.theta, repeated.theta, rtol=1e-12)


def test_check_sees_a_wrong_theta_a_wrong_deviation_and_wrong_weights(rng):
    model, means = Model(rng.normal(size=(9, 3)), 0.2), rng.normal(size=9)
    split = orthogonal_parameters(model, means, np.ones(9))
    assert "A theta" in str(replace(split, theta=split.theta + 1e-6).check())
    assert "add" not in str(split.check())
    assert "differs from the means" in str(replace(split, deviation=split.deviation + 1e-9).check())
    assert "not orthogonal" in str(replace(split, weights=np.arange(1.0, 10.0)).check())


def test_bad_arguments_are_named():
    model = Model([[1.0], [2.0]], 0.1)
    with pytest.raises(ProblemError, match="weights must have at least one positive entry"):
        orthogonal_parameters(model, [1.0, 2.0], [0.0, 0.0])
    with pytest.raises(ProblemError, match=r"weights must be at least 0; got -1\.0 at index 1"):
        orthogonal_parameters(model, [1.0, 2.0], [1.0, -1.0])
    with pytest.raises(ProblemError, match="means must have 2 entries"):
        orthogonal_parameters(model, [1.0], [1.0, 1.0])
    with pytest.raises(ProblemError, match=r"model must be a mislid\.Model"):
        orthogonal_parameters([[1.0], [2.0]], [1.0, 2.0], [1.0, 1.0])


def test_models_of_the_same_features_share_their_coordinates() -> None:
    first = Model(np.random.default_rng(3).normal(size=(6, 2)), 0.1)
    second = first.with_misspecification(0.5)
    assert coordinates(second) is coordinates(first)
    assert first.with_misspecification(0.0).misspecification == 0.0
    assert (first.misspecification, second.misspecification) == (0.1, 0.5)
