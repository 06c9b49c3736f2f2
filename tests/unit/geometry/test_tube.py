import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mislid.errors import CertificateError, ProblemError
from mislid.geometry import tube
from mislid.geometry.tube import chebyshev_deviation, smallest_misspecification


def brute_force(features, means):
    """Largest  |z'means| / |z|_1  over z with A'z = 0 and at most d + 1 nonzero entries."""
    K, d = features.shape
    best = 0.0
    for rows in itertools.combinations(range(K), d + 1):
        z = np.linalg.svd(features[list(rows)].T)[2][-1]
        best = max(best, abs(z @ means[list(rows)]) / np.sum(np.abs(z)))
    return best


@pytest.mark.parametrize(("K", "d"), [(2, 1), (4, 3), (7, 2), (9, 4)])
def test_agrees_with_all_vertices_of_the_dual(rng, K, d):
    for _ in range(20):
        features, means = rng.normal(size=(K, d)), rng.normal(size=K)
        found = smallest_misspecification(features, means)
        assert_allclose(found, brute_force(features, means), rtol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_arms_whose_features_differ_by_ten_orders(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(9, 2)) * 10.0 ** rng.uniform(-9, 1, size=(9, 1))
    means = rng.normal(size=9)
    found = smallest_misspecification(features, means)
    assert_allclose(found, brute_force(features, means), rtol=1e-9)


def test_an_answer_that_is_not_optimal_is_not_returned(monkeypatch, rng):
    features, means = rng.normal(size=(10, 2)), rng.normal(size=10)
    solve = tube._solve

    def spoiled(basis, residual):
        centre, z = solve(basis, residual)
        return centre + 1e-6, z

    monkeypatch.setattr(tube, "_solve", spoiled)
    with pytest.raises(CertificateError, match="not certified"):
        chebyshev_deviation(features, means)


def test_bad_means_are_named():
    with pytest.raises(ProblemError, match="means must have 2 entries"):
        smallest_misspecification([[1.0], [2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(ProblemError, match="means must be finite; got nan at index 1"):
        smallest_misspecification([[1.0], [2.0]], [1.0, float("nan")])


def test_published_instances(shared_data):
    expected = {
        "A_eps0": 0.0,
        "A_eps5": 0.980738617,
        "B": 0.373322986,
        "D": 0.006889412,
        "E": 0.113360168,
    }
    for name, value in expected.items():
        with np.load(shared_data / "instances" / f"{name}.npz") as arrays:
            found = smallest_misspecification(arrays["features"], arrays["means"])
        assert found == pytest.approx(value, abs=1e-9)
