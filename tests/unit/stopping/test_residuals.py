"""The evidence that means lie farther from linear than declared."""

import math

import numpy as np
import pytest

from helpers.measured import random_data
from mislid import Model, project
from mislid.stopping.assumptions import Residuals

LEVEL = 0.02


def residuals_of(seed: int) -> Residuals:
    data = random_data(np.random.default_rng([6, seed]), eps=0.5, size=100.0)
    return Residuals.of(data.model, data.counts, data.means, data.noise)


def log_ratio(rest: np.ndarray, weights: np.ndarray, size: float) -> float:
    """ln of the average over deviations N(0, size^2) of the likelihood ratio, arm by arm."""
    grid = np.linspace(-12, 12, 2_001)
    total = 0.0
    for r, w in zip(rest, weights, strict=True):
        # Around its maximum, in units of its width.
        width = 1 / math.sqrt(w + size**-2)
        eta = w * r * width**2 + width * grid
        logs = w * eta * r - 0.5 * w * eta**2 - 0.5 * (eta / size) ** 2
        total += np.logaddexp.reduce(logs) + math.log(width * (grid[1] - grid[0]) / size)
        total -= 0.5 * math.log(2 * math.pi)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_evidence_is_an_average_over_deviations(seed: int) -> None:
    found = residuals_of(seed)
    eps = 0.05
    logs = []
    model = found.model.with_misspecification(eps)
    for size in found.family.scales:
        shares = found.weights * size**2 / (1 + found.weights * size**2)
        nearest = project(model, found.means, shares * found.weights).means
        rest = found.means - nearest
        logs.append(log_ratio(rest, found.weights, size))
        # No model of this misspecification has less evidence against it.
        rng = np.random.default_rng(seed)
        for _ in range(20):
            theta, eta = rng.normal(size=model.d), rng.uniform(-eps, eps, size=model.K)
            other = found.means - model.features @ theta - eta
            assert log_ratio(other, found.weights, size) >= logs[-1] - 1e-6
    expected = np.logaddexp.reduce(found.family.logs + logs)
    assert found.log_evidence(eps) == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_evidence_falls_and_the_shortcut_agrees(seed: int) -> None:
    found = residuals_of(seed)
    grid = np.linspace(0, 2, 15)
    logs = [found.log_evidence(eps) for eps in grid]
    assert np.all(np.diff(logs) <= 1e-9 * (1 + abs(logs[0])))
    for level in (0.5, 0.01):
        said = [found.contradict(eps, level) for eps in grid]
        assert said == [log > -math.log(level) for log in logs]


def test_the_smallest_misspecification_that_is_not_contradicted() -> None:
    features = np.column_stack([np.ones(6), np.arange(6.0)])
    means, counts, noise = features @ [1.0, 2.0], np.full(6, 1e4), np.ones(6)
    model = Model(features, 0.0)
    assert Residuals.of(model, counts, means, noise).least(LEVEL) == 0.0
    bent = means + np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    residuals = Residuals.of(model, counts, bent, noise)
    least = residuals.least(LEVEL)
    assert 0.4 < least < 0.5  # a bend of 1 lies within 0.5 of a line
    assert residuals.contradict(least, LEVEL)
    assert not residuals.contradict(least * 1.001, LEVEL)
    assert residuals.farthest(0.0) == 3
