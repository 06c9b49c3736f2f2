import math

import numpy as np
import pytest

from helpers.time_cases import random_case
from mislid.geometry import duality
from mislid.geometry.alternatives import PairSolver
from mislid.geometry.duality import (
    PairProblem,
    all_pairs,
    closed_form_bounds,
    top_arms,
    unstructured_bounds,
)
from mislid.model import Model


def questions(seed):
    """A random case with its pairs and weights, some of which are many orders below others."""
    case = random_case(seed)
    rng = np.random.default_rng(1000 + seed)
    weights = rng.dirichlet(np.ones(case.model.K)) * 10.0 ** rng.uniform(-6, 0, case.model.K)
    pairs = all_pairs(case.model.K, top_arms(case.means, case.m))
    return case, weights, pairs, case.options["tolerance"]


@pytest.mark.parametrize("heavy", [128, 3])
@pytest.mark.parametrize("seed", range(8))
def test_no_pair_costs_less_than_its_bound(monkeypatch, seed, heavy):
    monkeypatch.setattr(duality, "HEAVY", heavy)
    monkeypatch.setattr(duality, "MOST_NUMBERS", 64)  # several pieces
    case, weights, pairs, tolerance = questions(seed)
    problem = PairProblem(case.model, case.means, weights, tolerance)
    solver = PairSolver(case.model, case.means, weights)
    bounds = closed_form_bounds(problem, pairs, solver.floor())
    costs = np.array([solver.solve(tuple(pair), tolerance).cost for pair in pairs.tolist()])
    assert np.all(bounds <= costs * (1.0 + 1e-7))
    free = unstructured_bounds(problem, pairs)
    assert np.all(bounds >= free)


def test_equal_features_prove_nothing_by_rounding_and_everything_by_tolerance():
    features = np.array([[0.1, 0.7], [0.1, 0.7], [1.0, 0.0], [0.3, 0.9]])
    means = features @ [0.3, 0.1]
    pairs, floor = np.array([[1, 0]]), np.zeros(4)
    weights = np.array([0.3, 0.2, 0.4, 0.1])
    for level in (0.0, 1.0, 1e6):
        problem = PairProblem(Model(features, 0.0), means + level * features[:, 0], weights)
        bound = closed_form_bounds(problem, pairs, floor)
        assert bound.tolist() == [0.0]
    apart = closed_form_bounds(PairProblem(Model(features, 0.1), means, weights, 0.3), pairs, floor)
    assert apart.tolist() == [math.inf]
