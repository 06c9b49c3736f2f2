import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mislid.errors import ProblemError
from mislid.geometry.spanner import initial_design, spanner, spanner_coordinates
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


def test_the_default_design_is_the_spanner_once(rng):
    model = Model(rng.normal(size=(20, 4)), 0.1)
    design = initial_design(model)
    assert list(design) == spanner(model).tolist()
    assert design.length == 4
    assert_array_equal(np.flatnonzero(design.counts), spanner(model))
    assert "4 pulls" in str(design)
    assert design.check()


def test_a_design_may_have_a_larger_coefficient():
    model = Model(np.random.default_rng(6).normal(size=(60, 5)), 0.1)
    design = initial_design(model, C=3.0)
    assert list(design) == spanner(model, 3.0).tolist() != spanner(model).tolist()


def test_the_eigenvalue_design_stops_in_the_first_round_that_is_enough(rng):
    features = rng.normal(size=(20, 4))
    design = initial_design(Model(features, 0.1), rule="eigenvalue")
    longest = np.max(np.sum(features**2, axis=1))

    def smallest(counts):
        return np.linalg.eigvalsh(features.T @ (counts[:, None] * features))[0]

    last = (design.counts > 0).astype(int)
    assert smallest(design.counts) >= 2 * longest * (1 - 1e-12)
    assert smallest(design.counts - last) < 2 * longest
    assert design.length == design.counts.sum() == len(list(design))
    assert [design.arm(t) for t in range(design.length)] == list(design)
    assert design.check()


def test_an_integer_ratio_is_not_rounded_up():
    design = initial_design(Model(np.eye(3), 0.0), rule="eigenvalue")
    assert design.rounds == 2


@pytest.mark.parametrize(
    ("name", "length"), [("A_eps0", 60), ("B", 80), ("D", 7_730), ("E", 252_208)]
)
def test_length_of_the_eigenvalue_design_on_the_published_instances(shared_data, name, length):
    with np.load(shared_data / "instances" / f"{name}.npz") as arrays:
        model = Model(arrays["features"], 0.1)
    design = initial_design(model, rule="eigenvalue")
    assert design.length == length
    assert f"{length:,} pulls" in str(design)


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


def test_check_says_what_is_wrong_with_a_design():
    model = Model([[1.0, 0.0], [0.0, 0.5], [1.0, 0.0]], 0.1)
    design = initial_design(model, rule="eigenvalue")
    assert design.rounds == 8
    assert "below 2" in str(replace(design, rounds=7).check())
    assert "8 rounds would do" in str(replace(design, rounds=9).check())
    assert "do not span" in str(replace(design, spanner=np.array([0, 2])).check())
    assert "not 1" in str(replace(initial_design(model), rounds=2).check())


def test_design_refuses_what_it_cannot_do():
    model = Model([[1.0, 0.0], [0.0, 1.0]], 0.1)
    with pytest.raises(ProblemError, match='rule must be "spanner" or "eigenvalue"'):
        initial_design(model, rule="doubling")
    with pytest.raises(ProblemError, match=r"model must be a mislid\.Model; got list"):
        initial_design([[1.0], [2.0]])
    with pytest.raises(ProblemError, match="t must be a pull from 0 to 1; got 2"):
        initial_design(model).arm(2)
    with pytest.raises(ProblemError, match='use rule="spanner"'):
        initial_design(Model([[1.0, 0.0], [0.0, 1e-9]], 0.1), rule="eigenvalue")


def test_labels_of_the_arms_are_shown():
    frame = pytest.importorskip("pandas").DataFrame({"x": [1.0, 0.1]}, index=["red", "blue"])
    assert str(initial_design(Model(frame, 0.1))) == (
        "initial design of 1 pulls: arms ['red'], once each"
    )
