"""Closed forms of the evidence against integrals and general solvers."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import dblquad

from helpers.measured import samples
from mislid.geometry.coordinates import coordinates
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
    return Family(scales=np.array([scale]), logs=np.zeros(1))


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


def test_all_arms_are_displaced_at_shrunk_weights() -> None:
    w, missed, s = np.array([2.0, 5.0, 0.5]), np.array([-0.3, 0.4, 1.0]), 0.5
    q, price = diagonal_weights(w, s)
    dense = log_ratio(w, missed, np.zeros(3), s * s * np.eye(3))
    assert_allclose(0.5 * float(q @ missed**2) - price, dense, rtol=1e-12)
