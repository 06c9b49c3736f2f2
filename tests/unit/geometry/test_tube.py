import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mislid.errors import CertificateError, ProblemError
from mislid.geometry import tube
from mislid.geometry.tube import chebyshev_deviation, smallest_misspecification
from mislid.model import Model


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


def test_the_tube_of_that_width_contains_the_means(rng):
    features, means = rng.normal(size=(50, 6)), rng.normal(size=50)
    deviation, theta = chebyshev_deviation(features, means)
    assert np.max(np.abs(means - features @ theta)) == pytest.approx(deviation, rel=1e-15)


def test_linear_means_need_none_and_two_values_need_half_their_difference(rng):
    features = rng.normal(size=(20, 4))
    assert smallest_misspecification(features, features @ [1.0, 2.0, -1.0, 0.0]) < 1e-14
    assert smallest_misspecification(features, np.zeros(20)) == 0.0
    assert smallest_misspecification([[1.0], [1.0]], [0.0, 1.0]) == pytest.approx(0.5, rel=1e-15)


def test_as_many_features_as_arms_contain_everything(rng):
    assert smallest_misspecification(rng.normal(size=(6, 6)), rng.normal(size=6)) < 1e-13


def test_model_and_features_give_the_same_and_its_own_width_plays_no_role(rng):
    features, means = rng.normal(size=(10, 3)), rng.normal(size=10)
    wide = np.column_stack([features, features[:, 0] - features[:, 1]])
    expected = smallest_misspecification(features, means)
    for given in (Model(features, 0.0), Model(features, np.inf), wide, wide.tolist()):
        assert smallest_misspecification(given, means) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e-6, 1.0, 1e6, 1e150])
def test_scales_with_the_means_and_not_with_the_features(rng, unit):
    features, means = rng.normal(size=(12, 3)), rng.normal(size=12)
    expected = unit * smallest_misspecification(features, means)
    assert smallest_misspecification(features, unit * means) == pytest.approx(expected, rel=1e-12)
    columns = features * [unit, 1.0, 1.0 / unit]
    assert smallest_misspecification(columns, unit * means) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-8])
def test_nearly_collinear_features(rng, gap):
    features, means = rng.normal(size=(30, 4)), rng.normal(size=30)
    near = features.copy()
    near[:, 3] = features[:, 0] + gap * features[:, 3]
    # A theta with theta of size 1/gap is only defined to gap digits fewer.
    assert smallest_misspecification(near, means) == pytest.approx(
        smallest_misspecification(features, means), rel=1e-14 / gap
    )


@pytest.mark.parametrize("seed", range(10))
def test_arms_whose_features_differ_by_ten_orders(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(9, 2)) * 10.0 ** rng.uniform(-9, 1, size=(9, 1))
    means = rng.normal(size=9)
    found = smallest_misspecification(features, means)
    assert_allclose(found, brute_force(features, means), rtol=1e-9)


def test_integer_data_with_many_ties(rng):
    for _ in range(50):
        features = rng.integers(-1, 2, size=(12, 3)).astype(float)
        means = rng.integers(-2, 3, size=12).astype(float)
        if np.linalg.matrix_rank(features) == 3:
            found = smallest_misspecification(features, means)
            assert_allclose(found, _lp_reference(features, means), atol=1e-7)


def _lp_reference(features, means):
    """The primal program as anyone would write it; only HiGHS's own 1e-7 is promised."""
    from scipy.optimize import linprog

    K, d = features.shape
    above = np.hstack([features, -np.ones((K, 1))])
    below = np.hstack([-features, -np.ones((K, 1))])
    answer = linprog(
        np.r_[np.zeros(d), 1.0],
        A_ub=np.vstack([above, below]),
        b_ub=np.r_[means, -means],
        bounds=[(None, None)] * (d + 1),
    )
    return answer.fun


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
