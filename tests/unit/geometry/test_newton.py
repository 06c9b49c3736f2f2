"""The compiled solve uses the spanner's unit rows; its answers must not depend on them."""

from __future__ import annotations

import numpy as np
import pytest

from mislid import Model
from mislid.geometry.coordinates import coordinates, newton_space
from mislid.geometry.newton import SOLVED, solve
from mislid.geometry.problem import set_metric


def _solved(X, basis, eps, mu, w, i, j):
    space = newton_space(X, basis)
    set_metric(w, space)
    space.mu[:] = mu
    space.eps, space.i, space.j, space.level = eps, i, j, float(np.max(np.abs(mu)))
    theta = np.zeros(X.shape[1])
    status, cost, bound, _, _ = solve(theta, 1e-10, space)
    assert status == SOLVED
    assert cost - bound <= 1e-9 * cost
    return cost


@pytest.mark.parametrize(("K", "d"), [(5, 4), (10, 8), (30, 20), (40, 5)])
@pytest.mark.parametrize("eps", [0.0, 0.02, 0.3])
def test_costs_agree_without_unit_rows(K, d, eps):
    for seed in range(20):
        rng = np.random.default_rng([K, d, seed])
        basis, X = coordinates(Model(rng.normal(size=(K, d)), eps))
        mu = X @ rng.normal(size=d) + 2.0 * eps * rng.uniform(-1.0, 1.0, size=K)
        w = rng.dirichlet(np.ones(K))
        turned = np.ascontiguousarray(X @ np.linalg.qr(rng.normal(size=(d, d)))[0])
        pair = int(np.argmin(mu)), int(np.argmax(mu))
        assert _solved(X, basis, eps, mu, w, *pair) == pytest.approx(
            _solved(turned, basis[:0], eps, mu, w, *pair), rel=1e-8
        )
