"""Closed forms of the evidence against integrals and general solvers."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import dblquad

from helpers.measured import random_data, samples
from mislid.geometry.coordinates import coordinates
from mislid.model import Model
from mislid.stopping.evidence import (
    SPREAD,
    Family,
    by_features,
    by_two_arms,
    diagonal_weights,
    families_of,
)
from oracles.evidence import linear_log, log_ratio, two_arm_log


def one(scale: float) -> Family:
    """A family of one scale with all of the weight."""
    return Family(np.array([scale]), np.zeros(1))


@pytest.mark.parametrize("eps", [0.0, 0.3, math.inf])
def test_weights_add_up_to_one(eps: float) -> None:
    for K, m in ((2, 1), (10, 3), (40, 39)):
        found = families_of(K, m, math.isfinite(eps), 0.05, np.array([0.5, 2.0] * (K // 2)))
        pairs = m * (K - m)
        weights = [np.exp(part.logs).sum() for part in (found.linear, found.diagonal)]
        total = pairs * np.exp(found.two_arms.logs).sum() + sum(weights)
        assert_allclose(total, 1.0, rtol=1e-12)
        assert (sum(weights) == 0.0) == math.isinf(eps)


def test_two_arms_integrate_displaced_likelihoods() -> None:
    w, missed, s = np.array([2.0, 5.0]), np.array([-0.3, 0.4]), 0.5
    t = SPREAD * s

    def ratio(up: float, down: float) -> float:
        z = np.array([down, up])
        prior = math.exp(-((up - s) ** 2 + (down + s) ** 2) / (2 * t * t)) / (2 * math.pi * t * t)
        return prior * math.exp(float(np.sum(w * (z * missed - z * z / 2))))

    integral = dblquad(ratio, -s - 12 * t, s + 12 * t, -s - 12 * t, s + 12 * t)[0]
    found = log_ratio(w, missed, np.array([-s, s]), t * t * np.eye(2))
    assert_allclose(found, math.log(integral), rtol=1e-7)


def test_two_arms_minimise_over_the_null() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        w = 10.0 ** rng.uniform(-1, 3, size=2)
        scale, gap = 10.0 ** rng.uniform(-2, 0.5), rng.normal()
        found = by_two_arms(one(scale), np.array([gap]), w[:1], w[1:])[0]
        searched = two_arm_log((w[0], w[1]), gap, scale)
        assert found <= searched + 1e-6 * (1 + abs(searched))
        assert_allclose(found, searched, rtol=1e-4, atol=1e-4)


def test_two_arms_need_measurements_of_both() -> None:
    family, gap = one(0.3), np.array([5.0, 5.0, 5.0])
    found = by_two_arms(family, gap, np.array([0.0, 10.0, 10.0]), np.array([10.0, 0.0, 10.0]))
    assert found.tolist()[:2] == [-math.inf, -math.inf]
    assert found[2] > 0


@pytest.mark.parametrize("eps", [0.0, 0.05, 0.5])
def test_features_minimise_over_the_tube(eps: float) -> None:
    compared = 0
    for n, data in enumerate(samples(3, 70, eps)):
        rng = np.random.default_rng(n)
        i, j = rng.choice(data.model.K, 2, replace=False).tolist()
        scale = 10.0 ** rng.uniform(-2, 0.5)
        small = data._replace(counts=np.ceil(rng.uniform(0, 30, size=data.model.K)))
        X = coordinates(data.model).matrix
        pair = np.array([[i, j]])
        found = by_features(one(scale), X, small.weights, small.means, eps, small.tol, pair)[0]
        searched = linear_log(small, scale, i, j)
        assert found <= searched + 1e-5 * (1 + abs(searched))
        assert_allclose(found, searched, rtol=2e-4, atol=2e-4)
        compared += found > -1
    assert compared > 20


def test_arms_never_measured_cost_their_own_deviation_only() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.1], [0.1, 0.8]])
    counts, means = np.array([50.0, 50.0, 0.0, 0.0]), np.array([1.0, 0.0, 9.0, 9.0])
    pair = np.array([[3, 2]])
    wide, narrow = (
        by_features(one(0.3), features, counts, means, eps, 0.0, pair)[0] for eps in (0.1, 0.0)
    )
    # 0.7 of each of the first two arms, and the pair's own two.
    V = np.diag([50.0, 50.0])
    g = features[2] - features[3]
    spread = g @ np.linalg.solve(V, g) + g @ np.linalg.solve(V @ V, g) / 0.3**2
    volume = math.log(1 + 0.3**2 * 50)
    assert_allclose(narrow, 0.7**2 / (2 * spread) - volume, rtol=1e-10)
    assert_allclose(wide, (0.7 - 0.1 * 3.4) ** 2 / (2 * spread) - volume, rtol=1e-10)


def test_features_say_nothing_before_they_span_or_where_nothing_is_linear() -> None:
    data = random_data(np.random.default_rng(5), 0.1)
    X, pair = coordinates(data.model).matrix, np.array([[0, 1]])
    none = np.zeros(data.model.K)
    assert by_features(one(0.3), X, none, none, 0.1, 0.0, pair)[0] == -math.inf
    assert by_features(one(0.3), X, data.weights, data.means, math.inf, 0.0, pair)[0] == -math.inf


def test_all_arms_are_displaced_at_shrunk_weights() -> None:
    w, missed, s = np.array([2.0, 5.0, 0.5]), np.array([-0.3, 0.4, 1.0]), 0.5
    q, price = diagonal_weights(w, s)
    dense = log_ratio(w, missed, np.zeros(3), s * s * np.eye(3))
    assert_allclose(0.5 * float(q @ missed**2) - price, dense, rtol=1e-12)


def test_evidence_does_not_depend_on_the_level_of_the_means() -> None:
    rng, pair = np.random.default_rng(8), np.array([[0, 1]])
    for _ in range(20):
        features = np.column_stack([np.ones(6), rng.normal(size=(6, 2))])
        X = coordinates(Model(features, 0.1)).matrix
        weights, means = rng.uniform(10, 50, size=6), rng.normal(size=6)
        found = [
            by_features(one(0.3), X, weights, means + level, 0.1, 0.0, pair)[0]
            for level in (0.0, 1e4)
        ]
        assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6)
