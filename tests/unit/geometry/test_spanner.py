import itertools

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


def test_the_basis_has_exactly_unit_coordinates(rng):
    basis, X = spanner_coordinates(rng.normal(size=(30, 6)))
    assert_array_equal(X[basis], np.eye(6))
    assert_array_equal(basis, np.sort(basis))


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 1e-10])
def test_coordinates_of_nearly_collinear_features_are_exact_to_rounding(rng, gap):
    features = collinear(rng, 9, 4, gap)
    basis, X = spanner_coordinates(features)
    assert_allclose(X, exact_coordinates(features, basis), rtol=0, atol=4e-16)


def test_coordinates_of_a_polynomial_basis_are_exact_to_rounding():
    features = np.vander(np.linspace(0.0, 1.0, 25), 13)
    assert np.linalg.cond(features) > 1e8
    basis, X = spanner_coordinates(features)
    assert_allclose(X, exact_coordinates(features, basis), rtol=0, atol=4e-16)


def test_coordinates_are_exact_when_columns_have_different_units(rng):
    features = collinear(rng, 9, 3, 1e-6) * np.array([1e-6, 1.0, 1e6])
    basis, X = spanner_coordinates(features)
    assert_allclose(X, exact_coordinates(features, basis), rtol=0, atol=4e-16)


def test_an_exact_spanner_is_one_that_no_exchange_enlarges(rng):
    features = rng.normal(size=(9, 3))
    basis = list(spanner(features))
    volume = abs(np.linalg.det(features[basis]))
    for position, k in itertools.product(range(3), range(9)):
        other = basis.copy()
        other[position] = k
        assert abs(np.linalg.det(features[other])) <= volume * (1 + 1e-9)


def test_exchanges_improve_on_the_greedy_start():
    improved = 0
    for seed in range(40):
        features = np.random.default_rng(seed).normal(size=(20, 6))
        start = np.max(np.abs(spanner_coordinates(features, 1e9)[1]))
        improved += start > 1.01
        assert np.max(np.abs(spanner_coordinates(features, 1.0)[1])) <= 1 + SLACK
    assert improved > 0


def test_the_spanner_does_not_depend_on_the_coordinates(rng):
    features = rng.normal(size=(40, 5))
    change = rng.normal(size=(5, 5))
    assert_array_equal(spanner(features @ change), spanner(features))


def test_a_permutation_of_the_arms_permutes_the_spanner(rng):
    features = rng.normal(size=(25, 4))
    order = rng.permutation(25)
    assert set(order[spanner(features[order])]) == set(spanner(features))


def test_redundant_columns_are_dropped_first(rng):
    features = rng.normal(size=(12, 3))
    wide = np.column_stack([features, features @ [1.0, -1.0, 2.0]])
    assert_array_equal(spanner(wide), spanner(features))
    assert_array_equal(spanner(Model(wide, 0.3)), spanner(features))


def test_duplicated_arms_and_signs():
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [0.0, 0.0]])
    assert_array_equal(spanner(features), [0, 2])


@pytest.mark.parametrize("C", [0.99, 0, -1, float("nan"), float("inf"), "2"])
def test_C_below_one_is_refused(C):
    with pytest.raises(ProblemError, match="C must be"):
        spanner([[1.0], [2.0]], C)


def test_the_initial_pulls_stop_in_the_first_round_that_is_enough(rng):
    features = rng.normal(size=(20, 4))
    model = Model(features, 0.1)
    rounds, rest = divmod(initial_pulls(model), 4)
    assert rest == 0
    arms, longest = features[spanner(model)], np.max(np.sum(features**2, axis=1))
    smallest = np.linalg.eigvalsh(arms.T @ arms)[0]
    assert rounds * smallest >= 2 * longest * (1 - 1e-12)
    assert (rounds - 1) * smallest < 2 * longest


def test_an_integer_ratio_is_not_rounded_up():
    assert initial_pulls(Model(np.eye(3), 0.0)) == 6


@pytest.mark.parametrize(
    ("name", "length"), [("A_eps0", 60), ("B", 80), ("D", 7_730), ("E", 252_208)]
)
def test_initial_pulls_of_the_published_instances(shared_data, name, length):
    with np.load(shared_data / "instances" / f"{name}.npz") as arrays:
        assert initial_pulls(Model(arrays["features"], 0.1)) == length


def test_instance_a_has_four_exact_spanners_of_different_length(shared_data):
    with np.load(shared_data / "instances" / "A_eps0.npz") as arrays:
        model = Model(arrays["features"], 0.1)
    A = model.features
    lengths = {}
    for arms in itertools.combinations(range(model.K), model.d):
        X = np.linalg.solve(A[list(arms)].T, A.T).T
        if np.max(np.abs(X)) <= 1 + 1e-9:
            smallest = np.linalg.svd(A[list(arms)], compute_uv=False)[-1] ** 2
            ratio = 2 * np.max(np.sum(A**2, axis=1)) / smallest
            lengths[arms] = 5 * int(np.ceil(ratio))
    assert sorted(lengths.values()) == [60, 65, 70, 75]
    assert lengths[tuple(spanner(model).tolist())] == 60


def test_too_many_initial_pulls_are_refused():
    with pytest.raises(ProblemError, match=r"model must be a mislid\.Model; got list"):
        initial_pulls([[1.0], [2.0]])
    with pytest.raises(ProblemError, match="the paper's initialization can explore"):
        initial_pulls(Model([[1.0, 0.0], [0.0, 1e-9]], 0.1))
