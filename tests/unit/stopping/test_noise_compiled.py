"""Shortcuts of the evidence of pairs: quick bounds, and no search below a level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mislid.stopping.bounded_noise import (
    Tilted,
    at_tie_of_tilted,
    by_tilts,
    tilted_ceiling,
    tilted_evidence,
    tilts_of,
)
from mislid.stopping.unknown_noise import (
    Sample,
    at_tie_of_shifted,
    by_shifts,
    shifted_ceiling,
    shifted_evidence,
    shifts,
)


def tilted_arm(rng: np.random.Generator, model: str) -> Tilted:
    n = int(rng.choice([1, 2, 7, 60, 900, 100_000]))
    rate = float(rng.choice([0.0, 0.01, 0.04, 0.3, 0.6, 1.0]))
    if model == "bernoulli":
        return Tilted(n, float(rng.binomial(n, rate)))
    spread = float(rng.choice([0.0, 1e-4, 0.05, 0.5]))
    return Tilted(n, n * float(np.clip(rate + rng.normal() * 0.01, 0, 1)), n * spread**2)


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("model", ["bernoulli", "bounded"])
def test_tilted(model: str, tolerance: float) -> None:
    rng, given = np.random.default_rng(1), tilts_of(model)
    for _ in range(300):
        i, j = tilted_arm(rng, model), tilted_arm(rng, model)
        expected = by_tilts(given, i, j, tolerance)
        least = expected - 1e-9 * (1 + abs(expected))
        assert at_tie_of_tilted(given, i, j, tolerance) >= least
        assert tilted_ceiling(given, i, j, tolerance) >= least
        for level in (expected - 0.01, expected + 0.01):
            assert (tilted_evidence(given, i, j, tolerance, level) >= level) == (expected >= level)


def sample(rng: np.random.Generator) -> Sample:
    n = int(rng.choice([1, 2, 5, 30, 400, 20_000]))
    spread = float(rng.choice([0.0, 0.02, 1.0, 3.0])) if n > 1 else 0.0
    return Sample(n, float(rng.choice([-1.0, 0.0, 0.03, 0.5, 4.0])), n * spread**2)


@pytest.mark.parametrize("tolerance", [0.0, 0.2])
def test_shifted(tolerance: float) -> None:
    rng, finite = np.random.default_rng(2), 0
    for _ in range(60):
        i, j = sample(rng), sample(rng)
        given = shifts()
        expected = by_shifts(given, i, j, tolerance)
        if math.isinf(expected):
            continue
        finite += 1
        arms = (0, *i), (1, *j)
        assert at_tie_of_shifted(given, *arms, tolerance) >= expected - 0.02
        assert shifted_ceiling(*arms, tolerance) >= expected - 1e-9 * (1 + abs(expected))
        for level in (expected - 0.1, expected + 0.1):
            found = shifted_evidence(given, *arms, tolerance, level)
            assert (found >= level) == (expected >= level)
    assert finite > 20
