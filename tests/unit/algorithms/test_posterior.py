"""Draws from the posterior, and PEPS, against plain versions."""

import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.plan_runs import Shape, every_shape
from mislid.algorithms import PEPS
from oracles.draws import AdaHedge, alternative, drawn_arm


@pytest.mark.parametrize("draws", [0, 12])
@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape, draws: int) -> None:
    run, learner = shape.run(rng, PEPS(draws)), AdaHedge(shape.K)
    for arm in run.proposals(30):
        number, data = run.number(), run.measured()
        assert arm == drawn_arm(learner.play(), number)
        shift = alternative(data, int(number * 2.0**53), 0, draws) - data.known.estimate
        learner.learn(0.5 * (shift / run.instance.noise) ** 2)
        assert_allclose(run.engine.copy()._rules.sampler.cumulative[0], learner.total, rtol=1e-6)
