import math

import numpy as np
import pytest
from scipy.linalg import null_space

from mislid.geometry.duality import (
    PairProblem,
    Proofs,
    feasible,
    membership_failures,
    order_failures,
    proved_bounds,
)
from mislid.model import Model
from oracles.pair_qp import pair_cost_exact

NAN, INF = math.nan, math.inf


@pytest.fixture
def problem(rng):
    """Model, means, weights: eight arms, three features, means out of the tube."""
    features = rng.normal(size=(8, 3))
    means = features @ rng.normal(size=3) + rng.uniform(-0.5, 0.5, size=8)
    return Model(features, 0.1), means, rng.dirichlet(np.ones(8))


def random_proofs(model, rng, count):
    pairs = np.array([rng.permutation(model.K)[:2] for _ in range(count)])
    basis = null_space(model.features.T)
    sizes = 10.0 ** rng.uniform(-3, 1, size=(count, 1))
    z = (rng.normal(size=(count, basis.shape[1])) * sizes) @ basis.T
    return Proofs(pairs, z, rng.uniform(0.0, 1.0, size=count))


def test_any_feasible_multipliers_bound_the_exact_cost(problem, rng):
    model, means, weights = problem
    proofs = random_proofs(model, rng, 40)
    assert feasible(model, proofs).all()
    bounds = proved_bounds(PairProblem(model, means, weights, 0.05), proofs)
    assert np.count_nonzero(bounds) >= 10
    for (i, j), bound in zip(proofs.pairs.tolist(), bounds, strict=True):
        exact = pair_cost_exact(model.features, 0.1, means, weights, i, j, 0.05)
        assert bound <= exact.upper * (1 + 1e-9)


def test_membership_allows_rounding_and_nothing_else():
    model = Model([[0.0], [1.0], [3.0]], 0.0)
    given, theta = np.ones(3), np.array([0.7])
    assert membership_failures(model, given, np.array([1e-17, 0.7, 2.1]), theta) == []
    assert membership_failures(model, given, np.array([1e-6, 0.7, 2.1]), theta)
    assert membership_failures(model, given, np.array([0.0, NAN, 2.1]), theta)
    assert membership_failures(model, given, np.array([0.0, 0.7, 2.1]), np.array([NAN]))
    assert membership_failures(model, given, np.full(3, 1e-17), np.zeros(1)) == []


def test_order_allows_rounding_and_nothing_else():
    given = np.array([1.0, -1.0])
    assert order_failures(given, np.array([1e-17, 0.0]), (1, 0), 0.0) == []
    assert order_failures(given, np.array([1e-6, 0.0]), (1, 0), 0.0)
    assert order_failures(given, np.array([0.0, 0.0]), (1, 0), 1e-6)
    assert order_failures(given, np.array([0.0, NAN]), (1, 0), 0.0)
