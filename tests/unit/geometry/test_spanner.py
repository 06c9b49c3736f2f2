import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mislid.errors import ProblemError
from mislid.geometry.spanner import initial_pulls, spanner, spanner_coordinates
from mislid.model import Model
from oracles.rational import fractions, solution

SLACK = 1e-10


def exact_coordinates(features, basis):
    """X with X A_B = A in rational arithmetic, rounded once."""
    A = [fractions(row) for row in features]
    columns = [list(column) for column in zip(*A, strict=True)]
    # The transposed system A_B' X' = A'.
    X = solution([[column[b] for b in basis] for column in columns], columns)
    return np.array([[float(x) for x in row] for row in X]).T


def collinear(rng, K, d, gap):
    features = rng.normal(size=(K, d))
    features[:, -1] = features[:, 0] + gap * features[:, -1]
    return features


@pytest.mark.parametrize("C", [1.0, 1.3, 2.0])
@pytest.mark.parametrize(("K", "d"), [(2, 1), (5, 5), (12, 3), (60, 20)])
def test_every_arm_is_a_small_combination(rng, K, d, C):
    features = rng.normal(size=(K, d))
    basis, X = spanner_coordinates(features, C)
    assert np.max(np.abs(X)) <= C * (1 + SLACK)
    assert_allclose(X @ features[basis], features, rtol=0, atol=1e-13)


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 1e-10])
def test_coordinates_of_nearly_collinear_features_are_exact_to_rounding(rng, gap):
    features = collinear(rng, 9, 4, gap)
    basis, X = spanner_coordinates(features)
    assert_allclose(X, exact_coordinates(features, basis), rtol=0, atol=4e-16)


def test_duplicated_arms_and_signs():
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [0.0, 0.0]])
    assert_array_equal(spanner(features), [0, 2])


def test_the_initial_pulls_stop_in_the_first_round_that_is_enough(rng):
    features = rng.normal(size=(20, 4))
    model = Model(features, 0.1)
    rounds, rest = divmod(initial_pulls(model), 4)
    assert rest == 0
    arms, longest = features[spanner(model)], np.max(np.sum(features**2, axis=1))
    smallest = np.linalg.eigvalsh(arms.T @ arms)[0]
    assert rounds * smallest >= 2 * longest * (1 - 1e-12)
    assert (rounds - 1) * smallest < 2 * longest


@pytest.mark.parametrize(
    ("name", "length"), [("A_eps0", 60), ("B", 80), ("D", 7_730), ("E", 252_208)]
)
def test_initial_pulls_of_the_published_instances(shared_data, name, length):
    with np.load(shared_data / "instances" / f"{name}.npz") as arrays:
        assert initial_pulls(Model(arrays["features"], 0.1)) == length


def test_too_many_initial_pulls_are_refused():
    with pytest.raises(ProblemError, match=r"model must be a mislid\.Model; got list"):
        initial_pulls([[1.0], [2.0]])
    with pytest.raises(ProblemError, match="the paper's initialization can explore"):
        initial_pulls(Model([[1.0, 0.0], [0.0, 1e-9]], 0.1))
