"""Representations: what they predict, and what a reduction keeps or loses."""

import numpy as np
import pytest

from mislid.paper.representation import Representation, learn


@pytest.fixture
def given(rng):
    """Twelve candidates, six features: one unit is dead and one depends on two others."""
    features = np.maximum(rng.normal(size=(12, 6)), 0.0)
    features[:, 2] = 0.0
    features[:, 4] = features[:, 0] + 2 * features[:, 1]
    theta = rng.normal(size=6)
    return Representation(features, theta, features @ theta + rng.uniform(-0.1, 0.1, 12))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(30, 3)), 3, axis=0)
    return X, np.abs(X[:, 0]) + X[:, 1] + 0.01 * rng.normal(size=90)


SMALL = {"hidden": (16,), "width": 4, "epochs": 40}


def test_scores_are_those_of_the_predictions(data):
    X, y = data
    learned = learn(X, y, candidates=X, means=y, **SMALL)
    part = np.isin(np.arange(len(y)), learned.tested)
    for rows, score in ((~part, learned.r2_train), (part, learned.r2_test)):
        left = np.mean((y[rows] - learned.predictions[rows]) ** 2)
        assert score == pytest.approx(1 - left / np.var(y[rows]), rel=1e-12)


def test_equal_rows_are_one_candidate_with_their_average(data):
    X, y = data
    learned = learn(X, y, names=range(30), **SMALL | {"epochs": 1})
    assert learned.names == tuple(range(30))
    np.testing.assert_allclose(learned.means, y.reshape(30, 3).mean(axis=1), rtol=1e-12)


def test_the_same_seed_gives_the_same_network_and_rows_left_out_teach_nothing(data):
    X, y = data
    once, again, other = (learn(X, y, **SMALL | {"epochs": 5, "seed": seed}) for seed in (3, 3, 4))
    np.testing.assert_array_equal(once.theta, again.theta)
    assert not np.array_equal(once.theta, other.theta)
    changed = y.copy()
    changed[[*once.tested]] += 100.0
    taught = learn(X, changed, **SMALL | {"epochs": 5, "seed": 3})
    np.testing.assert_array_equal(once.theta, taught.theta)
    assert once.r2_test != taught.r2_test


def test_a_reduction_to_the_rank_loses_nothing(given):
    assert given.rank == 4
    reduced = given.reduce()
    assert reduced.d == reduced.rank == 4
    np.testing.assert_allclose(reduced.predictions, given.predictions, rtol=0, atol=1e-12)
    together = np.hstack([given.features, reduced.features])
    assert np.linalg.matrix_rank(together, tol=1e-10) == 4
    assert reduced.least_misspecification == pytest.approx(given.least_misspecification, abs=1e-10)
    gram = reduced.features.T @ reduced.features
    np.testing.assert_allclose(gram, 12 * np.eye(4), rtol=0, atol=1e-10)
