"""Compiled evidence of pairs of unknown noise against its definition in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mislid._jit import Vector, kernel
from mislid.stopping.bounded_noise import (
    Tilted,
    Tilts,
    at_tie_of_tilted,
    by_tilts,
    tilted_ceiling,
    tilted_evidence,
    tilts_of,
)
from mislid.stopping.unknown_noise import (
    Sample,
    Shifts,
    at_tie_of_shifted,
    by_shifts,
    shifted_ceiling,
    shifted_evidence,
    shifts,
)

NOWHERE = -1e300


@kernel
def by_compiled_tilts(tilts: Tilts, arms: Vector, tol: float, level: float, found: Vector) -> bool:
    i, j = (arms[0], arms[1], arms[2]), (arms[3], arms[4], arms[5])
    found[0] = tilted_evidence(tilts, i, j, tol, level)
    found[1] = at_tie_of_tilted(tilts, i, j, tol)
    found[2] = tilted_ceiling(tilts, i, j, tol)
    return True


@kernel
def by_compiled_shifts(
    shifts: Shifts, arms: Vector, tol: float, level: float, found: Vector
) -> bool:
    i, j = (0, arms[0], arms[1], arms[2]), (1, arms[3], arms[4], arms[5])
    found[0] = shifted_evidence(shifts, i, j, tol, level)
    found[1] = at_tie_of_shifted(shifts, i, j, tol)
    found[2] = shifted_ceiling(i, j, tol)
    return True


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
    rng, compiled, given = np.random.default_rng(1), tilts_of(model), tilts_of(model)
    found = np.zeros(3)
    for _ in range(300):
        i, j = tilted_arm(rng, model), tilted_arm(rng, model)
        expected = by_tilts(given, i, j, tolerance)
        by_compiled_tilts(compiled, np.array([*i, *j]), tolerance, NOWHERE, found)
        assert found[0] == pytest.approx(expected, abs=1e-9, rel=1e-11)
        assert found[1] >= found[0] - 1e-9 * (1 + abs(found[0]))
        assert found[2] >= found[0] - 1e-9 * (1 + abs(found[0]))
        for level in (expected - 0.01, expected + 0.01):
            by_compiled_tilts(compiled, np.array([*i, *j]), tolerance, level, found)
            assert (found[0] >= level) == (expected >= level)


def sample(rng: np.random.Generator) -> Sample:
    n = int(rng.choice([1, 2, 5, 30, 400, 20_000]))
    spread = float(rng.choice([0.0, 0.02, 1.0, 3.0])) if n > 1 else 0.0
    return Sample(n, float(rng.choice([-1.0, 0.0, 0.03, 0.5, 4.0])), n * spread**2)


@pytest.mark.parametrize("tolerance", [0.0, 0.2])
def test_shifted(tolerance: float) -> None:
    rng, found = np.random.default_rng(2), np.zeros(3)
    given, finite = shifts(), 0
    for _ in range(60):
        i, j = sample(rng), sample(rng)
        compiled = shifts(2)
        expected = by_shifts(given, i, j, tolerance)
        by_compiled_shifts(compiled, np.array([*i, *j]), tolerance, NOWHERE, found)
        if math.isinf(expected):
            assert found[0] == -math.inf
            continue
        finite += 1
        assert found[0] == pytest.approx(expected, abs=1e-9, rel=1e-11)
        assert found[1] >= found[0] - 0.02
        assert found[2] >= found[0] - 1e-9 * (1 + abs(found[0]))
        for level in (expected - 0.1, expected + 0.1):
            by_compiled_shifts(compiled, np.array([*i, *j]), tolerance, level, found)
            assert (found[0] >= level) == (expected >= level)
    assert finite > 20
