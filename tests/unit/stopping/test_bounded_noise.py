"""Processes of values in [0, 1] against their definition and a search over all nulls."""

from __future__ import annotations

import numpy as np
import pytest

from mislid.stopping.bounded_noise import Tilted, by_tilts, tilted_log, tilts_of
from oracles import noise as oracle

MODELS = ("bernoulli", "bounded")


def drawn(rng: np.random.Generator, model: str) -> Tilted:
    n = int(rng.choice([1, 2, 5, 40, 3000]))
    rate = float(rng.choice([0.0, 0.01, 0.05, 0.3, 0.5, 0.97, 1.0]))
    if model == "bernoulli":
        return Tilted(n, int(rng.binomial(n, rate)))
    values = np.clip(rng.normal(rate, rng.choice([0.0, 0.01, 0.3]), size=n), 0, 1)
    return Tilted(n, float(values.sum()), oracle.scatter_about_guesses(values))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("model", MODELS)
def test_it_is_an_average_of_products(model: str, sign: float) -> None:
    rng, tilts = np.random.default_rng(3), tilts_of(model)
    for _ in range(20):
        values = rng.beta(0.3, 0.8, size=int(rng.integers(1, 30)))
        arm = Tilted(len(values), float(values.sum()), oracle.scatter_about_guesses(values))
        x = float(rng.uniform(0, 1))
        expected = oracle.tilted_by_values(tilts, sign, values, x)
        assert tilted_log(tilts, sign, arm, x)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("tolerance", [0.0, 0.02, 0.4])
@pytest.mark.parametrize("model", MODELS)
def test_evidence_is_the_least_over_all_nulls(model: str, tolerance: float) -> None:
    rng, tilts = np.random.default_rng(5), tilts_of(model)
    for _ in range(150):
        i, j = drawn(rng, model), drawn(rng, model)
        found = by_tilts(tilts, i, j, tolerance)
        expected = oracle.least_over_nulls(tilts, i, j, tolerance)
        assert found <= expected + 1e-8 * (1 + abs(expected))
        assert found == pytest.approx(expected, abs=1e-6, rel=1e-9)


def test_the_twin_with_half_the_price_is_no_supermartingale() -> None:
    """E exp(b (X - x) - psi(b) (X - c)^2) <= 1, and not so for psi(b) / 2."""
    b = np.geomspace(0.01, 0.99, 50)[:, None]
    psi = -np.log1p(-b) - b
    worst, twin = 0.0, 0.0
    for x in np.linspace(0.02, 0.98, 25):
        for c in np.linspace(0, 1, 11):
            ones = np.exp(b * (1 - x) - psi * (1 - c) ** 2), np.exp(-b * x - psi * c**2)
            worst = max(worst, float(np.max(x * ones[0] + (1 - x) * ones[1])))
            half = np.exp(b * (1 - x) - psi * (1 - c) ** 2 / 2), np.exp(-b * x - psi * c**2 / 2)
            twin = max(twin, float(np.max(x * half[0] + (1 - x) * half[1])))
    assert worst <= 1.0 + 1e-12 < 1.01 < twin
