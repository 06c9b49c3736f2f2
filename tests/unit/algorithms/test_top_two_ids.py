"""Top-two Thompson sampling with information-directed selection against its plain version."""

import math

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.plan_runs import Shape, every_shape, new_engine
from mislid import Instance, Model
from mislid.algorithms import TopTwoIDS
from oracles.draws import directed_shares, drawn_arm


@pytest.mark.parametrize("draws", [0, 3, 100])
@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape, draws: int) -> None:
    run = shape.run(rng, TopTwoIDS(draws))
    for arm in run.proposals(30):
        number, data = run.number(), run.measured()
        shares = directed_shares(data, int(number * 2.0**53), draws)
        assert_allclose(run.engine.memory().sampler.shares, shares, atol=1e-7)
        assert arm == drawn_arm(shares, number)


def test_two_arms_without_features_have_each_others_share() -> None:
    """Of arms i and j with counts n_i and n_j, i is measured with probability n_j / (n_i + n_j)."""
    instance = Instance(Model(np.eye(2), math.inf), [1.0, 0.0])
    engine = new_engine(instance, 1, TopTwoIDS())
    engine.reset([30, 10], [30.0, 0.0])
    engine.judge(test=False)
    engine.propose()
    assert_allclose(engine.memory().sampler.shares, [0.25, 0.75])


def test_arms_that_are_level_are_told_apart_by_the_less_measured() -> None:
    instance = Instance(Model(np.eye(2), math.inf), [1.0, 1.0])
    engine = new_engine(instance, 1, TopTwoIDS())
    engine.reset([30, 10], [30.0, 10.0])
    engine.judge(test=False)
    assert {engine.propose(position) for position in range(20)} == {1}
