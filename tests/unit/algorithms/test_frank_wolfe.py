"""Frank-Wolfe sampling against its plain version."""

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.plan_runs import Run, Shape, every_shape, random_instance
from mislid import Instance
from mislid.algorithms import FrankWolfe, Selective
from mislid.engine import Engine
from mislid.question import Question
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


@pytest.mark.parametrize("m", [1, 2])
def test_settled_pairs_are_left_out(rng: Generator, m: int) -> None:
    different = 0
    for _ in range(6):
        easy = random_instance(rng, 6, 2, 0.0)
        instance = Instance(easy.model, easy.means, noise=4.0 * easy.noise)
        question = Question(instance.model, m, noise=instance.noise, delta=0.3)
        engine = Engine(question, Selective(FrankWolfe()), "glr-selective")
        run, target = Run(engine, instance, rng), np.full(6, 1.0 / 6)
        for _ in run.proposals(100, test=True):
            t = engine.samples + 1
            everything = frank_wolfe_target(run.known(), target, t)
            target = frank_wolfe_target(run.known_to_selective(), target, t)
            assert_allclose(engine.copy()._rules.sampler.plan, target, atol=1e-7)
            different += not np.allclose(target, everything, atol=1e-5)
    assert different > 0
