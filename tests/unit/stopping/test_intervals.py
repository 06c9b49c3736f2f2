"""Intervals for all means against numerical minimisation, and at their limits."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

from helpers.measured import random_data
from mislid import Model
from mislid.geometry.coordinates import coordinates
from mislid.stopping.evidence import Family, families_of
from mislid.stopping.intervals import (
    ALONE,
    by_single_arms,
    by_the_features,
    half_widths,
    mean_intervals,
)

Floats = NDArray[np.float64]
LEVEL = 3.0


def least_cost(
    X: Floats, w: Floats, y: Floats, eps: float, s: float, arm: int, value: float
) -> float:
    """min over models with mean `value` at the arm of 1/2 r'(W - (W^-1 + s^2 X X')^-1) r."""
    K, d = X.shape
    inside = np.linalg.inv(np.eye(d) + s**2 * (X * w[:, None]).T @ X)
    A = s**2 * (X * w[:, None]) @ inside @ (X * w[:, None]).T
    # lambda = X b + eps u; scaled so that all variables are of one size.
    D = np.hstack([X, eps * np.eye(K)])

    def cost(z: Floats) -> tuple[float, Floats]:
        r = y - D @ z
        return 0.5 * float(r @ A @ r), -D.T @ A @ r

    found = minimize(
        cost,
        np.zeros(d + K),
        jac=True,
        method="SLSQP",
        bounds=[(None, None)] * d + [(-1.0, 1.0)] * K,
        constraints={"type": "eq", "fun": lambda z: D[arm] @ z - value, "jac": lambda z: D[arm]},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(12))
def test_the_linear_form_is_a_minimum_over_all_models(seed: int) -> None:
    rng = np.random.default_rng([31, seed])
    eps = float(rng.choice([0.0, 0.05, 0.5]))
    data = random_data(rng, eps=eps, size=20.0)
    counts = data.counts * (rng.random(data.model.K) < 0.8)
    counts[coordinates(data.model).basis] += 2.0
    w, s = counts / data.noise**2, float(rng.choice([0.05, 0.5, 5.0]))
    X = coordinates(data.model).matrix
    family = Family(np.array([s]), np.array([0.0]))
    centres, halves = by_the_features(family, X, w, data.means, eps, LEVEL)
    volume = 0.5 * np.linalg.slogdet(np.eye(X.shape[1]) + s**2 * (X * w[:, None]).T @ X)[1]
    for arm in range(data.model.K):
        for end in (centres[arm] - halves[arm], centres[arm] + halves[arm]):
            found = least_cost(X, w, data.means, eps, s, arm, float(end)) - volume
            assert found == pytest.approx(LEVEL, rel=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_form_of_single_arms_is_an_average_over_displacements(seed: int) -> None:
    rng = np.random.default_rng([32, seed])
    w, y = 10.0 ** rng.uniform(-1, 4, size=4), rng.normal(size=4)
    family = families_of(4, 1, True, 0.05, np.ones(4)).diagonal
    centres, halves = by_single_arms(family, w, y, LEVEL)
    assert_allclose(centres, y)
    grid = np.linspace(-12, 12, 4001)
    for k in range(4):
        logs = []
        for s, log in zip(family.scales, family.logs, strict=True):
            width = 1 / math.sqrt(w[k] + s**-2)
            z = w[k] * halves[k] * width**2 + width * grid
            terms = w[k] * (z * halves[k] - 0.5 * z**2) - 0.5 * (z / s) ** 2
            step = width * (grid[1] - grid[0]) / (s * math.sqrt(2 * math.pi))
            logs.append(np.logaddexp.reduce(terms) + math.log(step) + log)
        assert np.logaddexp.reduce(logs) == pytest.approx(LEVEL, abs=1e-6)


def test_half_widths_are_roots() -> None:
    rng = np.random.default_rng(33)
    logs, curvatures = rng.uniform(-30, -1, size=(200, 5)), 10.0 ** rng.uniform(-6, 6, (200, 5))
    found = half_widths(logs, curvatures, LEVEL)
    for a, c, h in zip(logs, curvatures, found, strict=True):
        top = np.min((LEVEL - a) / c)

        def excess(z: float, a: Floats = a, c: Floats = c) -> float:
            return float(np.logaddexp.reduce(a + c * z)) - LEVEL

        root = brentq(excess, 0.0, top * 1.01, xtol=1e-14 * top)
        assert h == pytest.approx(math.sqrt(root), rel=1e-9)


def test_shares_of_the_families_are_those_of_one_supermartingale() -> None:
    """With one arm measured, single arms decide; its evidence has the share ALONE / K."""
    model, noise = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.3), np.ones(3)
    counts, means = np.array([50.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    for eps, share in ((0.3, ALONE / 3), (math.inf, 1 / 3)):
        found = mean_intervals(model.with_misspecification(eps), counts, means, noise, 0.05)
        family = families_of(3, 1, True, 0.05, noise).diagonal
        weights = np.exp(family.logs) / np.exp(family.logs).sum()
        own = Family(family.scales, np.log(share * weights))
        half = by_single_arms(own, counts, means, -math.log(0.05)).halves[0]
        assert_allclose(found[0], [1.0 - half, 1.0 + half], rtol=1e-12)
        assert_allclose(found[1:], [[-math.inf, math.inf]] * 2)


@pytest.mark.parametrize("seed", range(6))
def test_intervals_grow_with_the_misspecification(seed: int) -> None:
    data = random_data(np.random.default_rng([34, seed]), eps=0.05, size=200.0)
    before = None
    for eps in (0.05, 0.06, 0.1, 0.5, 5.0):
        model = data.model.with_misspecification(eps)
        found = mean_intervals(model, data.counts, data.means, data.noise, 0.05)
        assert np.all(found[:, 0] < found[:, 1])
        if before is not None:
            assert np.all(found[:, 0] <= before[:, 0] + 1e-12)
            assert np.all(found[:, 1] >= before[:, 1] - 1e-12)
        before = found
    # Far from linear, single arms have the last word; without features, all of the weight.
    infinite = data.model.with_misspecification(math.inf)
    alone = mean_intervals(infinite, data.counts, data.means, data.noise, 0.05)
    assert np.all(np.diff(alone, axis=1) < np.diff(before, axis=1))
    assert_allclose(alone.mean(axis=1), data.means)


def test_smaller_error_rates_widen() -> None:
    data = random_data(np.random.default_rng(35), eps=0.1, size=100.0)
    widths = [
        np.diff(mean_intervals(data.model, data.counts, data.means, data.noise, delta))[:, 0]
        for delta in (0.3, 0.05, 1e-6, 1e-200)
    ]
    assert np.all(np.diff(widths, axis=0) > 0.0)


@pytest.mark.parametrize("eps", [0.0, 0.1, math.inf])
def test_one_arm_a_million_times_the_others_never(eps: float) -> None:
    model = Model([[1.0], [2.0], [0.0]], eps)
    counts, means = np.array([1e6, 0.0, 0.0]), np.array([0.5, 0.0, 0.0])
    found = mean_intervals(model, counts, means, np.ones(3), 0.05)
    assert np.all(np.abs(found[0] - 0.5) < 0.007)
    if math.isinf(eps):
        assert_allclose(found[1:], [[-math.inf, math.inf]] * 2)
        return
    # Twice the mean of the first, which may be eps off the line, as the second may.
    assert_allclose(found[1].mean(), 1.0)
    assert 3 * eps < 0.5 * np.diff(found[1])[0] < 3 * eps + 0.014
    # Without features the linear value is 0.
    assert_allclose(found[2], [-eps, eps])


def test_uneven_noise_is_a_matter_of_weights() -> None:
    model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]], 0.1)
    means, noise = np.array([0.3, 0.1, 0.5, 0.2]), np.array([0.5, 1.0, 2.0, 1.0])
    found = mean_intervals(model, np.full(4, 400.0), means, noise, 0.05)
    same = mean_intervals(model, 400.0 / noise**2, means, np.ones(4), 0.05)
    assert_allclose(found, same, rtol=1e-12)
    widths = np.diff(found, axis=1)[:, 0]
    assert widths[0] < widths[1] < widths[2]


def test_levels_units_and_bases_do_not_matter() -> None:
    data = random_data(np.random.default_rng(36), eps=0.1, size=100.0)
    features = np.column_stack([np.ones(data.model.K), data.model.features])
    expected = mean_intervals(Model(features, 0.1), data.counts, data.means, data.noise, 0.05)
    shifted = mean_intervals(Model(features, 0.1), data.counts, data.means + 1e5, data.noise, 0.05)
    assert_allclose(shifted - 1e5, expected, atol=1e-7)
    scaled = mean_intervals(
        Model(7.0 * features, 50.0), data.counts, 500.0 * data.means, 500.0 * data.noise, 0.05
    )
    assert_allclose(scaled, 500.0 * expected, rtol=1e-9, atol=1e-9)


def test_features_that_contradict_the_measurements_are_left_out() -> None:
    model, counts = Model([[1.0], [1.0], [1.0]], 0.0), np.full(3, 1e4)
    means = np.array([0.0, 0.0, 5.0])
    found = mean_intervals(model, counts, means, np.ones(3), 0.05)
    assert_allclose(found.mean(axis=1), means, atol=1e-12)
    assert np.all(found[:, 0] < found[:, 1])
