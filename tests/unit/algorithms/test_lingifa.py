"""LinGIFA against its plain version."""

from functools import partial

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.rival_runs import Floats, assert_decides_like, new_run, steps
from mislid.algorithms import LinGIFA
from mislid.stopping.ridge import PERIOD
from oracles.rivals import Data, lingifa, regression


def assert_same_distances(distances: Floats, data: Data, rtol: float) -> None:
    squares = regression(data)[2]
    assert_allclose(distances, squares, rtol=rtol, atol=rtol * 1e-3 * np.max(squares))


@pytest.mark.parametrize("stray", [0.0, 0.3])
@pytest.mark.parametrize(("K", "d", "m"), [(8, 3, 1), (8, 3, 3), (12, 5, 11), (30, 6, 9)])
def test_decides_like_the_plain_rule(rng: Generator, K: int, d: int, m: int, stray: float) -> None:
    plain = partial(lingifa, shorten=True)
    assert_decides_like(plain, LinGIFA(), (K, d), m, rng, stray=stray)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_distances_do_not_drift(rng: Generator, scale: float) -> None:
    features, means = scale * rng.normal(size=(12, 6)), rng.normal(size=12)
    run = new_run(features, 4, LinGIFA())
    rule = run.sampler.struct
    for t, (_, data, _) in enumerate(steps(run, features, means, rng, 5 * PERIOD)):
        if t % 50 == 0 or rule.ridge.updates == PERIOD - 1:
            assert_same_distances(rule.distances, data, 1e-9)
