import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.time_cases import random_case
from mislid.geometry import equilibrium
from mislid.geometry.alternatives import PairSolver
from mislid.geometry.duality import (
    PairProblem,
    all_pairs,
    closed_form_bounds,
    feasible,
    pair_bounds,
    proved_bounds,
    top_arms,
)
from mislid.geometry.equilibrium import PairSearch


def all_costs(case, weights):
    pairs = all_pairs(case.model.K, top_arms(case.means, case.m))
    solver, tolerance = PairSolver(case.model, case.means, weights), case.options["tolerance"]
    return pairs, np.array([solver.solve(tuple(p), tolerance).cost for p in pairs.tolist()])


@pytest.mark.parametrize("seed", range(24))
def test_search_finds_what_solving_every_pair_finds(seed, monkeypatch):
    case, rng = random_case(seed), np.random.default_rng(seed)
    search = PairSearch(case.model, case.means, case.m, case.options["tolerance"])
    if seed % 2:  # some multipliers are forgotten
        monkeypatch.setattr(equilibrium, "MOST_KEPT", 4 * case.model.K)
    weights = rng.dirichlet(np.ones(case.model.K))
    for _ in range(4):
        pairs, costs = all_costs(case, weights)
        near = search.near(weights, 1.5, len(pairs))
        expected = {tuple(p) for p in pairs[costs <= 1.5 * costs.min() * (1 - 1e-6)].tolist()}
        allowed = {tuple(p) for p in pairs[costs <= 1.5 * costs.min() * (1 + 1e-6)].tolist()}
        assert expected <= {tuple(p) for p in near.pairs.tolist()} <= allowed
        assert_allclose(near.costs[0], costs.min(), rtol=1e-6)
        assert np.all(np.diff(near.costs) >= -1e-9 * near.costs[1:])
        assert np.min(near.bounds) <= costs.min() * (1 + 1e-9)
        weights = 0.8 * weights + 0.2 * rng.dirichlet(np.ones(case.model.K))


@pytest.mark.parametrize("seed", range(12))
def test_proofs_and_closed_forms_prove_every_pair(seed):
    case = random_case(seed)
    model, means, tolerance = case.model, case.means, case.options["tolerance"]
    weights = np.random.default_rng(seed).dirichlet(np.ones(model.K))
    pairs, costs = all_costs(case, weights)
    target = costs.min() * (1 - 1e-8)
    proofs = PairSearch(model, means, case.m, tolerance).prove(weights, target)
    assert np.all(feasible(model, proofs))
    problem = PairProblem(model, means, weights, tolerance)
    assert np.all(proved_bounds(problem, proofs) >= target * (1 - 1e-6))
    floor = PairSolver(model, means, weights).floor()
    bounds = np.maximum(
        pair_bounds(problem, pairs, proofs), closed_form_bounds(problem, pairs, floor)
    )
    assert np.all(bounds >= target * (1 - 1e-6))
