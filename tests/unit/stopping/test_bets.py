"""Bets on values in [0, 1] against all values one by one, and a search over all nulls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.measured import Floats
from mislid._jit import Vector, kernel
from mislid.stopping.bets import (
    Bets,
    Values,
    at_tie_of_bets,
    atoms_above,
    atoms_below,
    bets_ceiling,
    bets_evidence,
    bets_of,
    by_bets,
    log_of_bets,
)
from oracles import bets as oracle

MODELS = ("bounded", "bernoulli")
NOWHERE = -1e300


@kernel
def compiled(bets: Bets, i: Vector, j: Vector, tol: float, level: float, found: Vector) -> bool:
    up = atoms_above(j[0], j[1], j[2], j[3], j[4])
    down = atoms_below(i[0], i[1], i[2], i[3], i[4])
    found[0] = bets_evidence(bets, up, down, tol, level)
    found[1] = at_tie_of_bets(bets, up, down, tol)
    found[2] = bets_ceiling(up, down, tol)
    return True


def drawn(rng: np.random.Generator, model: str) -> Floats:
    """Values of one arm, many of them nasty."""
    n = int(rng.choice([1, 2, 3, 10, 60, 400]))
    rate = float(rng.choice([0.0, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.505, 0.9, 0.99, 1.0]))
    if model == "bernoulli":
        return (rng.random(n) < rate).astype(np.float64)
    kind = rng.integers(6)
    if kind == 0:
        return np.full(n, rate)
    if kind == 1:
        return (rng.random(n) < rate).astype(np.float64)
    if kind == 2:
        return np.clip(rng.normal(rate, rng.choice([1e-12, 1e-6, 0.01, 0.3]), size=n), 0.0, 1.0)
    if kind == 3:
        return rng.choice([0.0, rate, 1.0], size=n)
    if kind == 4:
        return np.full(n, rate) + np.spacing(rate) * (rng.random(n) < 0.5) * (rate < 1.0)
    shape = float(rng.choice([0.1, 2.0, 400.0]))
    return rng.beta(max(shape * rate, 1e-3), max(shape * (1.0 - rate), 1e-3), size=n)


@pytest.mark.parametrize("model", MODELS)
def test_a_side_is_at_most_the_average_of_products_and_equal_for_two_atoms(model: str) -> None:
    rng, bets, near = np.random.default_rng(1), bets_of(model), 0
    for _ in range(500):
        values = drawn(rng, model)
        arm, x = oracle.summed(values), float(rng.choice([1e-6, 0.02, 0.5, rng.random(), 0.999]))
        for sign, own, at in ((1.0, values, x), (-1.0, 1.0 - values, 1.0 - x)):
            exact = oracle.log_wealth(model, own.tolist(), at)
            found, _ = log_of_bets(bets, sign, arm, x)
            assert found <= exact + 1e-7 * (1.0 + abs(exact))
            if np.isin(values, (0.0, 1.0)).all() or len(values) == 1:
                assert found == pytest.approx(exact, rel=1e-6, abs=1e-6)
            places, numbers = oracle.like_atoms(arm, sign < 0.0)
            weights = bets.logs
            if model == "bounded":
                logs = np.log1p(bets.sizes[:, None] * (places / at - 1.0)) @ numbers + weights
                assert found == pytest.approx(float(np.logaddexp.reduce(logs)), rel=1e-8, abs=1e-8)
            near += found >= exact - 0.1 * (1.0 + abs(exact))
    assert near > 700


@pytest.mark.parametrize("model", MODELS)
def test_sides_are_monotone_and_convex_and_have_their_slopes(model: str) -> None:
    rng, bets = np.random.default_rng(2), bets_of(model)
    for _ in range(100):
        arm = oracle.summed(drawn(rng, model))
        at = np.sort(rng.uniform(0.01, 0.99, size=30))
        for sign in (1.0, -1.0):
            logs, slopes = np.array([log_of_bets(bets, sign, arm, x) for x in at]).T
            assert np.all(sign * slopes <= 1e-12)
            # A convex function is above its tangents.
            tangents = logs[:, None] + slopes[:, None] * (at[None, :] - at[:, None])
            assert np.all(tangents <= logs[None, :] + 1e-9 * (1.0 + np.abs(logs).max()))


@pytest.mark.parametrize("tolerance", [0.0, 1e-3, 0.1, 0.5, 0.999, 1.0, 2.0])
@pytest.mark.parametrize("model", MODELS)
def test_evidence_is_at_most_the_least_over_all_nulls(model: str, tolerance: float) -> None:
    rng, bets, found = np.random.default_rng(3), bets_of(model), np.zeros(3)
    for _ in range(60):
        i, j = drawn(rng, model), drawn(rng, model)
        one, other = oracle.summed(i), oracle.summed(j)
        evidence = by_bets(bets, one, other, tolerance)
        if tolerance > 1.0:
            assert evidence == math.inf
            continue
        exact = oracle.least_over_nulls(model, i, j, tolerance)
        assert evidence <= exact + 1e-6 * (1.0 + abs(exact))
        given = bets, np.array(one), np.array(other), tolerance
        compiled(*given, NOWHERE, found)
        assert found[0] == evidence
        slack = 1e-9 * (1.0 + abs(evidence))
        assert min(found[1], found[2]) >= evidence - slack
        for level in (evidence - 0.01, evidence + 0.01):
            compiled(*given, level, found)
            assert (found[0] >= level) == (evidence >= level)


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.4])
@pytest.mark.parametrize("model", MODELS)
def test_evidence_is_the_least_at_a_tie(model: str, tolerance: float) -> None:
    """Where the atoms are the values, to all digits; elsewhere the least over a grid of ties."""
    rng, bets = np.random.default_rng(4), bets_of(model)
    at = np.concatenate([np.geomspace(1e-11, 1e-3, 60), np.linspace(1e-3, 1.0, 500)])
    at = np.unique(np.concatenate([at, 1.0 - tolerance - at]))
    at = at[(at > 1e-12) & (at < 1.0 - tolerance - 1e-12)]
    for _ in range(60):
        i, j = drawn(rng, model), drawn(rng, model)
        one, other = oracle.summed(i), oracle.summed(j)
        evidence = by_bets(bets, one, other, tolerance)
        ties = [
            log_of_bets(bets, 1.0, other, x)[0] + log_of_bets(bets, -1.0, one, x + tolerance)[0]
            for x in at.tolist()
        ]
        assert evidence <= min(ties) + 1e-9 * (1.0 + abs(evidence))
        assert evidence >= min(ties) - 0.1 * (1.0 + abs(min(ties)))
        if np.isin(np.concatenate([i, j]), (0.0, 1.0)).all():
            exact = oracle.least_over_nulls(model, i, j, tolerance)
            assert evidence == pytest.approx(exact, rel=1e-5, abs=1e-5)


def test_twins_with_less_scatter_or_a_larger_least_value_are_no_bounds() -> None:
    rng, bets = np.random.default_rng(5), bets_of("bounded")
    calm, high = 0, 0
    for _ in range(100):
        values = rng.beta(0.4, 0.8, size=50)
        arm, exact = oracle.summed(values), oracle.log_wealth("bounded", values.tolist(), 0.2)
        twin = arm._replace(scatter=0.5 * arm.scatter)
        calm += log_of_bets(bets, 1.0, twin, 0.2)[0] > exact + 0.01
        twin = arm._replace(least=0.5 * arm.total / arm.n)
        high += log_of_bets(bets, 1.0, twin, 0.2)[0] > exact + 0.01
    assert min(calm, high) > 50


def test_a_million_values() -> None:
    bets = bets_of("bounded")
    n, found = 1_000_000, []
    for gap in (0.0, 0.002, 0.01):
        i, j = Values(n, 0.01 * n, 0.0099 * n), Values(n, (0.01 + gap) * n, 0.0099 * n)
        found.append(by_bets(bets, i, j, 0.0))
    assert found[0] < 0.0
    assert 60.0 < found[1] < found[2] < 100_000.0


def test_an_arm_without_values_proves_nothing() -> None:
    bets = bets_of("bounded")
    assert by_bets(bets, Values(0, 0), Values(3, 2), 0.0) == -math.inf
    assert by_bets(bets, Values(3, 0), Values(0, 0), 0.0) == -math.inf
