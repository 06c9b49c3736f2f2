"""One noise for all arms that is not known: its evidence against brute force over all noises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mislid import Model
from mislid._validation import Vector
from mislid.stopping.equal import SHARES, TILTS, Spread, cell_ends, volume
from mislid.stopping.evidence import Family, by_two_arms, families_of
from mislid.stopping.intervals import by_single_arms, by_the_features, mean_intervals

COUNTS = [1, 2, 5, 40, 700, 30_000]


def drawn(rng: np.random.Generator, K: int = 5, unit: float = 1.0) -> Spread:
    counts = rng.choice(COUNTS, size=K).astype(float)
    counts[0] = 40.0  # something is known
    freedom = np.maximum(counts - 1.0, 0.0)
    return Spread(counts, unit**2 * rng.chisquare(np.maximum(freedom, 1e-9)) * (freedom > 0.0))


@pytest.mark.parametrize("h", [1e-6, 0.03, 1.0, 50.0])
def test_volume_is_the_sum_over_values(h: float) -> None:
    counts = np.array([0.0, 1.0, 2.0, 17.0, 400.0])
    every = [math.log1p(h * (n - 1) / n) for count in counts for n in range(1, int(count) + 1)]
    assert volume(counts, h) == pytest.approx(math.fsum(every), rel=1e-10, abs=1e-12)


def test_cells_cover_everything() -> None:
    ends = cell_ends()
    assert ends[0] == 0.0
    assert np.all(np.diff(ends) > 0.0)
    assert sum(SHARES) == pytest.approx(1.0)
    assert TILTS[0] == 0.0


def log_process(spread: Spread, size: float, dimension: int, precisions: Vector) -> Vector:
    """ln of the average of the tilts of one scale, at noises (n,)."""
    logs = [
        math.log(share)
        + 0.5 * volume(spread.counts, tilt / dimension * size**2)
        - 0.5 * tilt / dimension * size**2 * spread.total * precisions
        for tilt, share in zip(TILTS, SHARES, strict=True)
    ]
    found: Vector = np.logaddexp.reduce(logs)
    return found


def test_evidence_of_two_arms_is_that_of_the_least_favourable_noise() -> None:
    rng, K = np.random.default_rng(0), 5
    family = families_of(K, 2, False, 0.05, np.ones(K)).two_arms
    near = []
    for _ in range(30):
        unit = float(rng.choice([1e-3, 1.0, 50.0]))
        spread = drawn(rng, K, unit)
        ni, nj = spread.counts[rng.integers(0, K, 2)]
        gap = unit * float(rng.choice([0.03, 0.3, 2.0]))
        found = by_two_arms(family, *(np.array([one]) for one in (gap, ni, nj)), spread)[0]
        precisions = np.geomspace(1e-4, 20.0, 400) / spread.variance
        total, root = np.full(400, -math.inf), np.sqrt(precisions)
        for size, log in zip(family.scales, family.logs, strict=True):
            one = Family(scales=np.array([size]), logs=np.array([log]))
            known = by_two_arms(one, root * gap, np.full(400, ni), np.full(400, nj))
            total = np.logaddexp(total, known + log_process(spread, size, K, precisions))
        least = float(total.min())
        assert found <= least + 1e-9 * (1.0 + abs(least))
        if abs(least) < 30.0:
            near.append(least - found)
    assert len(near) > 10
    assert np.median(near) < 0.1


def test_nothing_is_proved_without_scatter() -> None:
    """Equal values are rounded ones rather than without noise."""
    counts, gap, one = np.full(3, 100.0), np.array([5.0]), np.array([100.0])
    families = families_of(3, 1, True, 0.05, np.ones(3))
    rounding = Spread(counts, np.full(3, 1e-29), level=7.0)
    for spread in (Spread(counts, np.zeros(3)), Spread(np.ones(3), np.zeros(3)), rounding):
        assert by_two_arms(families.two_arms, gap, one, one, spread)[0] < 0.0
        logs, costs = families.diagonal.logs, np.full(6, 1e9)
        assert spread.by_costs(families.diagonal.scales, logs, costs) < 0.0
        model = Model(np.ones((3, 1)), 0.0)
        ends = mean_intervals(model, counts, np.zeros(3), np.ones(3), 0.05, spread)
        assert np.isinf(ends).all()


@pytest.mark.parametrize("single", [True, False])
def test_intervals_end_where_the_evidence_is_enough(single: bool) -> None:
    rng, X, level = np.random.default_rng(4), np.random.default_rng(5).normal(size=(5, 2)), 4.0
    families = families_of(5, 1, True, 0.05, np.ones(5))
    counts, means = np.array([60.0, 80.0, 40.0, 9.0, 100.0]), rng.normal(size=5)
    spread = Spread(counts, 0.25 * (counts - 1.0))
    if single:
        family = families.diagonal
        interval = by_single_arms(family, counts, means, level, spread)
    else:
        interval = by_the_features(families.linear, X, counts, means, 0.0, level, spread)
    assert np.isfinite(interval.halves).all()
    for k in range(5):
        for part, enough in ((1.0 + 1e-6, True), (1.0 - 1e-6, False)):
            half = part * interval.halves[k]
            if single:
                expected = counts[k] * family.scales**2
                heights = family.logs - 0.5 * np.log1p(expected)
                rates = 0.5 * counts[k] * expected / (1.0 + expected)
                found = spread.by_costs(family.scales, heights, rates * half**2)
            else:
                found = _evidence_along(X, counts, means, families.linear, k, half, spread)
            assert bool(found >= level) is enough


def _evidence_along(X, counts, means, family, k, half, spread):  # type: ignore[no-untyped-def]
    """Against a mean of arm k that is so far from what least squares says."""
    V = (X * counts[:, None]).T @ X
    along = np.linalg.solve(V, X[k])
    variances = X[k] @ along + along @ along / family.scales**2
    volumes = [
        0.5 * np.linalg.slogdet(np.eye(2) + scale**2 * V)[1] for scale in family.scales.tolist()
    ]
    given = (family.logs - volumes)[None, :], 0.5 / variances[None, :], np.array([half])
    return spread.least(family.scales, 2, *given)[0]
