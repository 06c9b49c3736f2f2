"""LinGapE against its plain version."""

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.rival_runs import (
    Run,
    assert_decides_like,
    new_run,
    steps,
)
from mislid.algorithms import LinGapE
from mislid.stopping.ridge import PERIOD
from oracles.rivals import Data, lingape, regression


def assert_same_regression(run: Run, data: Data, rtol: float) -> None:
    V, means, _ = regression(data)
    images = np.linalg.solve(V, data.features.T).T
    squares = np.einsum("ka,ka->k", data.features, images)
    assert_allclose(run.sampler.struct.ridge.squares, squares, rtol=rtol)
    found = run.sampler.struct.ridge.means
    assert_allclose(found, means, rtol=rtol, atol=rtol * np.max(np.abs(means)))


@pytest.mark.parametrize("stray", [0.0, 0.3])
@pytest.mark.parametrize(("K", "d", "m"), [(8, 3, 1), (8, 3, 3), (12, 5, 11), (40, 6, 9)])
def test_decides_like_the_plain_rule(rng: Generator, K: int, d: int, m: int, stray: float) -> None:
    assert_decides_like(lingape, LinGapE(), (K, d), m, rng, stray=stray)


def test_updates_do_not_drift(rng: Generator) -> None:
    features, means = rng.normal(size=(12, 6)), rng.normal(size=12)
    run = new_run(features, 4, LinGapE())
    most, last = 0, None
    for _, data, _ in steps(run, features, means, rng, 20 * PERIOD):
        most = max(most, run.sampler.struct.ridge.updates)
        last = data
    assert most == PERIOD - 1
    assert last is not None
    assert_same_regression(run, last, 1e-11)
