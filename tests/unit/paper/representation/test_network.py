"""The network: what is split, learned, scaled and refused."""

import sys

import numpy as np
import pytest

from mislid.errors import MissingPackageError, ProblemError
from mislid.paper.representation import network as subject
from mislid.paper.representation.network import Recipe, train

SMALL = Recipe(hidden=(16,), width=4, epochs=60)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(100, 3))
    return X, np.abs(X[:, 0]) + X[:, 1]


def test_most_of_the_variance_is_explained_where_it_can_be(data):
    network = train(*data, SMALL._replace(epochs=400))
    assert network.r2_train > 0.98
    assert network.r2_test > 0.95


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


@pytest.mark.slow
def test_rows_flatter_where_candidates_repeat(rng):
    """What cannot be learned of new candidates can be remembered of known ones."""
    X = np.repeat(rng.normal(size=(40, 3)), 10, axis=0)
    y = np.repeat(rng.normal(size=40), 10)
    wide = Recipe(hidden=(64,), width=8, epochs=300)
    known, new = (train(X, y, wide._replace(split=split)) for split in ("rows", "candidates"))
    assert known.r2_test > 0.5
    assert new.r2_test < 0.2


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


def test_units_of_columns_and_rewards_do_not_matter(data):
    X, y = data
    # Powers of two, which round nothing.
    plain, scaled = train(X, y, SMALL), train(X * [1024, 1, 0.25], 8 * y, SMALL)
    np.testing.assert_allclose(8 * plain.theta, scaled.theta, rtol=1e-12)
    assert plain.r2_test == pytest.approx(scaled.r2_test, rel=1e-12)


def test_one_scale_for_all_columns_keeps_their_sizes(data):
    X, y = data
    network = train(X * [1024, 1, 1], y, SMALL._replace(standardize=False, epochs=1))
    assert network.scale.min() == network.scale.max() > 100


@pytest.mark.slow
def test_training_ends_where_the_loss_no_longer_falls(data):
    network = train(*data, SMALL._replace(epochs=5000))
    assert subject.PATIENCE < len(network.losses) < 5000
    assert not subject._settled(list(network.losses[:-1]))
    assert subject._settled(list(network.losses))


def test_progress_is_told_every_epoch(data):
    told = []
    network = train(*data, SMALL._replace(epochs=4), lambda *news: told.append(news))
    assert told == [(at + 1, 4, loss) for at, loss in enumerate(network.losses)]


def test_an_interruption_ends_the_training(data, monkeypatch):
    from sklearn.neural_network import MLPRegressor

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(MLPRegressor, "_backprop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(*data, SMALL)


def test_a_missing_package_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.neural_network", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'mislid\[representation\]'"):
        train(*data, SMALL)


def test_other_columns_are_refused(data):
    network = train(*data, SMALL._replace(epochs=1))
    with pytest.raises(ProblemError, match="X must have 3 columns, as the rows trained on; got 2"):
        network.predict([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (np.ones((20, 2)), np.arange(20.0), "all 2 are constant, so there is nothing to learn"),
        (np.eye(20), np.ones(20), "y must vary; got 1 in all rows"),
        (np.eye(4), np.arange(4.0), "enough rows for 2 in each part of the split; got 4 rows"),
        (np.empty((0, 3)), np.empty(0), r"X must have rows and columns; got shape \(0, 3\)"),
    ],
)
def test_data_without_anything_to_learn_are_refused(X, y, sentence):
    with pytest.raises(ProblemError, match=sentence):
        train(X, y, SMALL)


def test_rewards_that_vary_only_in_the_test_rows_are_refused(data):
    X, _ = data
    test = train(*data, SMALL._replace(epochs=1)).test
    y = np.zeros(100)
    y[test] = 1.0
    with pytest.raises(ProblemError, match="y must vary; got 0 in the rows drawn for training"):
        train(X, y, SMALL)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"hidden": (16, 0)}, "hidden must be an integer at least 1; got 0"),
        ({"hidden": 16}, "hidden must be a list of layer sizes; got 16"),
        ({"split": "users"}, 'split must be "rows" or "candidates"; got \'users\''),
        ({"seed": -1}, "seed must be an integer at least 0; got -1"),
    ],
)
def test_wrong_recipes_are_refused(data, changed, sentence):
    with pytest.raises(ProblemError, match=sentence):
        train(*data, SMALL._replace(**changed))
