import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mislid.geometry.spanner import spanner, spanner_coordinates
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


@pytest.mark.parametrize(("K", "d"), [(2, 1), (5, 5), (12, 3), (60, 20)])
def test_every_arm_is_a_small_combination(rng, K, d):
    features = rng.normal(size=(K, d))
    basis, X = spanner_coordinates(features)
    assert np.max(np.abs(X)) <= 1 + SLACK
    assert_allclose(X @ features[basis], features, rtol=0, atol=1e-13)


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 1e-10])
def test_coordinates_of_nearly_collinear_features_are_exact_to_rounding(rng, gap):
    features = collinear(rng, 9, 4, gap)
    basis, X = spanner_coordinates(features)
    assert_allclose(X, exact_coordinates(features, basis), rtol=0, atol=4e-16)


def test_duplicated_arms_and_signs():
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [0.0, 0.0]])
    assert_array_equal(spanner(features), [0, 2])
