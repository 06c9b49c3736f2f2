"""Searches that remember give the answers of searches that do not."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from helpers.instances import Problem
from mislid.errors import CertificateError
from mislid.geometry.alternatives import Alternative, AlternativeSearch, closest_alternative
from mislid.model import Model
from oracles.agreement import ABSOLUTE, HARD, WELL_CONDITIONED, drawn
from oracles.pair_qp import closest_brute

Floats = NDArray[np.float64]


class Round(NamedTuple):
    """One call of a search."""

    means: Floats
    weights: Floats
    tolerance: float
    incumbents: list[int] | None


def rounds(problem: Problem, rng: Generator, count: int) -> Iterator[Round]:
    """Means that drift and jump, an arm pulled or forgotten, incumbents of any choice."""
    means, weights, tolerance = problem.means, problem.weights, problem.tolerance
    size = float(np.ptp(means)) or 1.0
    incumbents = None
    for _ in range(count):
        yield Round(means, weights, tolerance, incumbents)
        means = means + 10.0 ** rng.uniform(-6, -1) * size * rng.normal(size=means.size)
        weights = weights.copy()
        arm = int(rng.integers(means.size))
        weights[arm] += rng.choice([0.01 * weights.max(), 1.0, weights[arm]])
        if rng.random() < 0.1:
            weights[rng.integers(means.size)] = 0.0
        if not weights.any():
            weights[arm] = 1.0
        if rng.random() < 0.2:
            incumbents = sorted(rng.choice(means.size, problem.m, replace=False).tolist())
        elif rng.random() < 0.2:
            incumbents = None
        if rng.random() < 0.1:
            tolerance *= rng.uniform(0, 2)


def answer(search: AlternativeSearch, at: Round) -> Alternative | None:
    """The search's answer, None where it refuses."""
    try:
        return search.closest(
            at.means, at.weights, tolerance=at.tolerance, incumbents=at.incumbents
        )
    except CertificateError:
        return None


def allowed(at: Round, cost: float, hard: bool) -> float:
    size = np.max(at.weights) * (np.max(np.abs(at.means)) + at.tolerance) ** 2
    return (HARD if hard else WELL_CONDITIONED) * cost + ABSOLUTE * float(size)


def difference(at: Round, warm: Alternative | None, hard: bool, model: Model, m: int) -> str:
    """What is wrong with a warm answer next to a cold one; nothing where both are right."""
    cold = answer(AlternativeSearch(model, m), at)
    if cold is None or warm is None:
        return "" if hard else f"refused: cold {cold is None}, warm {warm is None}"
    if math.isinf(cold.cost) or math.isinf(warm.cost):
        return "" if cold.cost == warm.cost else f"cold {cold.cost}, warm {warm.cost}"
    slack = allowed(at, cold.cost, hard)
    if abs(warm.cost - cold.cost) > slack or warm.cost - warm.bound > slack:
        return f"cold {cold.cost!r} {cold.pair}, warm {warm.cost!r} {warm.pair} {warm.bound!r}"
    return ""


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_warm_is_cold(seed: int, hard: bool) -> None:
    wrong = []
    for index in range(75):
        problem, rng = drawn(seed, index, largest=30, hard=hard)
        model = Model(problem.features, problem.misspecification)
        search = AlternativeSearch(model, problem.m)
        for n, at in enumerate(rounds(problem, rng, 10)):
            text = difference(at, answer(search, at), hard, model, problem.m)
            if text:
                wrong.append((index, n, problem.kind, text))
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True])
def test_warm_certificates_hold(hard: bool) -> None:
    wrong = []
    for index in range(60):
        problem, rng = drawn(10, index, largest=20, hard=hard)
        search = AlternativeSearch(Model(problem.features, problem.misspecification), problem.m)
        for n, at in enumerate(rounds(problem, rng, 8)):
            found = answer(search, at)
            if found is not None and not found.check():
                wrong.append((index, n, problem.kind, found.check().failures[0]))
    assert wrong == []


class TestRegressions:
    def test_a_start_within_rounding_of_the_edge(self) -> None:
        """Two arms, linear: the last solution clears the half-space by a unit in its last place."""
        search = AlternativeSearch(Model(np.eye(2), 0.0), 1)
        tolerance = 0.0006968013140922213
        search.closest(
            [-0.004198604988522, 0.0008777190146278578],
            [0.4552538438373072, 0.5447461561626927],
            tolerance=tolerance,
        )
        means = [-0.004198573207144104, 0.0008777103957576681]
        weights = [0.46070130539893417, 0.5447461561626927]
        found = search.closest(means, weights, tolerance=tolerance)
        gap = means[1] - means[0] + tolerance
        assert_allclose(found.cost, gap**2 / (2 * (1 / weights[0] + 1 / weights[1])), rtol=1e-9)

    def test_a_pair_that_is_no_longer_in_order(self) -> None:
        """A linear pair starts on the half-space though the new means lie beyond: alpha is 0."""
        rng = np.random.default_rng(4)
        wrong = []
        for index in range(300):
            features = rng.normal(size=(6, 2))
            model, weights = Model(features, 0.0), rng.uniform(0.5, 1, 6)
            before, after = 10 * rng.normal(size=(2, 6))
            top = [int(np.argmax(before))]
            search = AlternativeSearch(model, 1)
            search.closest(before, weights)
            warm = search.closest(after, weights, incumbents=top)
            cold = closest_alternative(model, after, weights, 1, incumbents=top)
            if abs(warm.cost - cold.cost) > 1e-9 * cold.cost or warm.alpha < 0:
                wrong.append((index, warm.cost, cold.cost, warm.alpha))
        assert wrong == []

    def test_a_bound_between_weights_of_fourteen_orders(self) -> None:
        """Twins of very different weights: the linear bound must not lose its digits."""
        features = [[1.0, -0.5], [1.0, -0.5], [0.8, -1.0], [0.8, -1.0]]
        means = np.array([0.049, 0.0685, -0.0175, -0.0233])
        weights = np.array([467.0, 9.6e-6, 1.483, 1.61e-12])
        for eps in (0.0, 1e-9, 2.3e-7, 1e-5):
            found = closest_alternative(Model(features, eps), means, weights, 3, tolerance=0.008)
            truth = closest_brute(np.array(features), eps, means, weights, 3, 0.008)
            assert_allclose(found.cost, truth.upper, rtol=1e-6)
            assert str(found.check()) == "holds"


class TestMemory:
    def test_answers_do_not_change_with_later_calls(self) -> None:
        rng = np.random.default_rng(3)
        search = AlternativeSearch(Model(rng.normal(size=(12, 3)), 0.1), 3)
        found = search.closest(rng.normal(size=12), np.ones(12))
        kept = {
            name: np.array(getattr(found, name))
            for name in ("means", "theta", "multipliers", "floor")
        }
        proofs = [np.array(part) for part in found.proofs]
        for _ in range(5):
            search.closest(rng.normal(size=12), rng.uniform(0.5, 1, 12))
        for name, value in kept.items():
            assert_array_equal(getattr(found, name), value)
        for part, value in zip(found.proofs, proofs, strict=True):
            assert_array_equal(part, value)
        assert found.check()
