"""Arms that share an unknown noise: bounds of the checker against the evidence of the rules."""

import math

import numpy as np
import pytest

from mislid.stopping.equal import Spread
from mislid.stopping.evidence import by_two_arms, families_of
from mislid.verification import families, variances
from mislid.verification.intervals import exactly

COUNTS = [1, 2, 5, 40, 3000, 10**6]


@pytest.mark.parametrize("h", [1e-9, 1e-3, 0.4, 30.0, 256.0])
def test_volumes_are_enclosed_and_tight(h: float) -> None:
    counts = np.array([0.0, 1.0, 2.0, 3.0, 17.0, 900.0])
    every = (math.log1p(h * (n - 1) / n) for count in counts for n in range(1, int(count) + 1))
    exact = math.fsum(every)
    found = variances.volume(counts, exactly([h]))
    assert found.low[0] <= exact * (1 + 1e-15)
    assert exact * (1 - 1e-15) <= found.high[0]
    assert found.high[0] - found.low[0] <= 1e-11 * (1.0 + exact)


def test_two_arms_are_bounded_from_below_and_tightly() -> None:
    rng, K = np.random.default_rng(0), 6
    ours = families_of(K, 2, False, 0.05, np.ones(K)).two_arms
    theirs = families.families_of(K, 2, False, exactly(np.ones(K)))["two arms"]
    for _ in range(40):
        counts = rng.choice(COUNTS, size=K).astype(float)
        counts[0] = 9.0
        unit = float(rng.choice([1e-6, 1.0, 1e5]))
        scatter = unit**2 * np.maximum(counts - 1.0, 0.0) * rng.uniform(0.3, 3.0, size=K)
        i, j = rng.integers(0, K, 2)
        gap = unit * float(rng.choice([-0.1, 0.0, 0.01, 0.2, 3.0]))
        n = (np.array([counts[k]]) for k in (i, j))
        expected = by_two_arms(ours, np.array([gap]), *n, Spread(counts, scatter))[0]
        cells = variances.cells_of(counts, np.zeros(K), scatter, theirs.scales, K)
        weights = (exactly([counts[k]]) for k in (i, j))
        found = families.by_two_arms(theirs, exactly([gap]), *weights, cells)
        if gap <= 0.0:
            assert found.low[0] == expected == -math.inf
            continue
        near = 1e-9 * (1.0 + abs(expected)) + 1e-14 * counts.max()
        assert found.low[0] <= expected + near
        assert expected - near <= found.high[0]
        assert found.high[0] - found.low[0] <= 1e-9 * (1.0 + abs(expected))
