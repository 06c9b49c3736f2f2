"""Intervals for all means against numerical minimisation, and at their limits."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import minimize

from helpers.measured import random_data
from mislid import Model
from mislid.geometry.coordinates import coordinates
from mislid.stopping.evidence import Family, families_of
from mislid.stopping.intervals import ALONE, by_single_arms, by_the_features, mean_intervals

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
    family = Family(scales=np.array([s]), logs=np.zeros(1))
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


def test_shares_of_the_families_are_those_of_one_supermartingale() -> None:
    """With one arm measured, single arms decide; its evidence has the share ALONE / K."""
    model, noise = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.3), np.ones(3)
    counts, means = np.array([50.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    for eps, share in ((0.3, ALONE / 3), (math.inf, 1 / 3)):
        found = mean_intervals(model.with_misspecification(eps), counts, means, noise, 0.05)
        family = families_of(3, 1, True, 0.05, noise).diagonal
        weights = np.exp(family.logs) / np.exp(family.logs).sum()
        own = Family(scales=family.scales, logs=np.log(share * weights))
        half = by_single_arms(own, counts, means, -math.log(0.05)).halves[0]
        assert_allclose(found[0], [1.0 - half, 1.0 + half], rtol=1e-12)
        assert_allclose(found[1:], [[-math.inf, math.inf]] * 2)


def test_features_that_contradict_the_measurements_are_left_out() -> None:
    model, counts = Model([[1.0], [1.0], [1.0]], 0.0), np.full(3, 1e4)
    means = np.array([0.0, 0.0, 5.0])
    found = mean_intervals(model, counts, means, np.ones(3), 0.05)
    assert_allclose(found.mean(axis=1), means, atol=1e-12)
    assert np.all(found[:, 0] < found[:, 1])
