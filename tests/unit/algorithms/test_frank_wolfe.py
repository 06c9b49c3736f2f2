"""Frank-Wolfe sampling against its plain version."""

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.plan_runs import Shape, every_shape
from mislid.algorithms import FrankWolfe
from oracles.plans import frank_wolfe_target


@pytest.mark.parametrize("tolerance", [0.0, 0.2])
@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape, tolerance: float) -> None:
    run = shape.run(rng, FrankWolfe(), tolerance=tolerance)
    engine, target = run.engine, np.full(shape.K, 1.0 / shape.K)
    for arm in run.proposals(120):
        target = frank_wolfe_target(run.known(), target, engine.samples + 1)
        assert_allclose(engine.copy()._rules.sampler.plan, target, atol=1e-7)
        behind = target / engine.counts
        assert behind[arm] >= behind.max() * (1.0 - 1e-7)
