"""Processes of Gaussian values against integrals and a search over means and variances."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mislid.stopping.unknown_noise import Sample, by_shifts, log_of_shifts, shifts
from oracles import noise as oracle

SHIFTS = shifts()


def sample(values: np.ndarray) -> Sample:
    return Sample(len(values), float(values.mean()), float(np.sum((values - values.mean()) ** 2)))


def test_the_closed_form_is_the_integral() -> None:
    rng = np.random.default_rng(0)
    for n, x, sigma, sign in [(3, 0.2, 1.0, 1.0), (12, -0.5, 0.8, -1.0), (40, 0.3, 1.3, 1.0)]:
        values = rng.normal(size=n)
        arm = sample(values)
        closed = oracle.shifted_log(SHIFTS, arm, sign * (arm.mean - x), np.array([sigma]))[0]
        assert closed == pytest.approx(
            oracle.shifted_by_values(SHIFTS, values, x, sigma, sign), abs=2e-3
        )


def nasty(rng: np.random.Generator) -> tuple[Sample, float]:
    n = int(rng.choice([1, 2, 3, 6, 20, 100, 5000, 200_000]))
    spread = float(rng.choice([0.0, 1e-6, 0.3, 1.0, 1e4])) if n > 1 else 0.0
    r = float(rng.choice([0.0, 1e-9, 0.01, 0.1, 0.5, 2.0, 50.0]) * max(spread, 1e-3))
    return Sample(n, 0.0, spread**2 * n * rng.uniform(0.5, 1.5)), r


def test_the_bound_is_below_and_near_the_least_over_all_variances() -> None:
    rng, near = np.random.default_rng(1), []
    for _ in range(300):
        arm, r = nasty(rng)
        found, true = log_of_shifts(SHIFTS, arm, r), oracle.least_over_sigma(SHIFTS, arm, r)
        assert found <= true + 1e-7 * (1 + abs(true))
        if 3.0 < true < 40.0:
            near.append(oracle.least_of_terms(SHIFTS, arm, r) - found)
    assert len(near) > 20
    assert np.median(near) < 0.01
    assert max(near) < 0.25


def test_it_rises_with_the_distance() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        arm, r = nasty(rng)
        farther = r * float(rng.uniform(1, 3)) + 1e-12
        true = oracle.least_over_sigma(SHIFTS, arm, farther, 2001)
        assert log_of_shifts(SHIFTS, arm, r) <= true + 1e-7 * (1 + abs(true))


@pytest.mark.parametrize("nearer", [0.0, 0.5, 1.0])
def test_means_on_the_wrong_side_are_covered(nearer: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        arm, r = nasty(rng)
        true = oracle.least_over_sigma(SHIFTS, arm, -nearer * r, 2001)
        assert log_of_shifts(SHIFTS, arm, -r) <= true + 1e-7 * (1 + abs(true))
        assert log_of_shifts(SHIFTS, arm, -math.inf) <= true + 1e-7 * (1 + abs(true))


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_evidence_is_below_the_least_over_all_nulls(tolerance: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(6):
        n = rng.integers(2, 120, size=2)
        gap, spread = float(rng.uniform(0.2, 2.0)), rng.uniform(0.3, 2.0, size=2)
        i, j = sample(rng.normal(0, spread[0], n[0])), sample(rng.normal(gap, spread[1], n[1]))
        if j.mean + tolerance <= i.mean:
            assert by_shifts(SHIFTS, i, j, tolerance) == -math.inf
            continue
        true = oracle.least_over_pairs(SHIFTS, i, j, tolerance)
        found = by_shifts(SHIFTS, i, j, tolerance)
        assert found <= true + 1e-6
        if true > 2.0:
            assert found >= true - 2.5


def test_equal_values_prove_little_where_there_are_few() -> None:
    """Without any scatter the variance may be anything: five values are not enough."""
    i, j = Sample(5, 0.0, 0.0), Sample(5, 1.0, 0.0)
    assert by_shifts(SHIFTS, i, j, 0.0) < 3.0
