"""The network: what is split, learned, scaled and refused."""

import numpy as np
import pytest

from mislid.paper.representation import network as subject
from mislid.paper.representation.network import Recipe, train

SMALL = Recipe(hidden=(16,), width=4, epochs=60)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(100, 3))
    return X, np.abs(X[:, 0]) + X[:, 1]


def test_scores_are_those_of_the_predictions(data):
    X, y = data
    network = train(X, y, SMALL)
    for rows, score in ((network.train, network.r2_train), (network.test, network.r2_test)):
        left = np.mean((y[rows] - network.predict(X[rows])) ** 2)
        assert score == pytest.approx(1 - left / np.var(y[rows]), rel=1e-12)


def repeated(rng):
    """Thirty candidates, each measured one to six times, in no order."""
    X = np.repeat(rng.normal(size=(30, 3)), rng.integers(1, 7, 30), axis=0)
    X = X[rng.permutation(len(X))]
    return X, np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=len(X))


def shared(X, network):
    """Candidates with rows both in training and in test."""
    return {tuple(row) for row in X[network.train]} & {tuple(row) for row in X[network.test]}


def test_candidates_can_be_left_out_whole(rng):
    X, y = repeated(rng)
    for seed in range(5):
        recipe = SMALL._replace(epochs=1, seed=seed)
        assert shared(X, train(X, y, recipe))
        network = train(X, y, recipe._replace(split="candidates"))
        assert not shared(X, network)
        assert sorted([*network.train, *network.test]) == list(range(len(y)))
        # As near to a fifth as whole candidates of at most six rows get.
        assert abs(len(network.test) - 0.2 * len(y)) <= 3.5


def test_the_rows_left_out_teach_nothing(data):
    X, y = data
    once = train(X, y, SMALL._replace(epochs=3))
    y = y.copy()
    y[once.test] += 100.0
    again = train(X, y, SMALL._replace(epochs=3))
    np.testing.assert_array_equal(once.theta, again.theta)
    assert once.r2_test != again.r2_test


def test_the_same_seed_gives_the_same_network(data):
    one, two, other = (train(*data, SMALL._replace(seed=seed, epochs=5)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.theta, two.theta)
    assert one.losses == two.losses
    assert not np.array_equal(one.theta, other.theta)


def test_the_forward_pass_is_that_of_scikit_learn(data, monkeypatch):
    kept = []
    fit = subject._fit

    def watched(X, y, recipe, progress):
        kept.append((X, *fit(X, y, recipe, progress)))
        return kept[0][1:]

    monkeypatch.setattr(subject, "_fit", watched)
    X, y = data
    network = train(X, y, SMALL)
    scaled, regressor, _ = kept[0]
    theirs = regressor.predict(scaled) * y[network.train].std() + y[network.train].mean()
    np.testing.assert_allclose(network.predict(X[network.train]), theirs, rtol=0, atol=2e-5)
