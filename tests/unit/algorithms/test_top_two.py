"""EB-TCI against its plain version."""

import math

import numpy as np
import pytest
from numpy.random import Generator

from helpers.plan_runs import Shape, every_shape, new_engine
from mislid import Instance, Model
from mislid.algorithms import TopTwo
from oracles.plans import top_two_pair


@pytest.mark.parametrize("share", [0.5, 0.2])
@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape, share: float) -> None:
    run = shape.run(rng, TopTwo(share), tolerance=0.1)
    for arm in run.proposals(100):
        challenger, incumbent = top_two_pair(run.known(), run.engine.counts)
        assert arm == (incumbent if run.number() < share else challenger)


def test_an_arm_that_misleads_does_not_wait_for_ever() -> None:
    """Two arms are tied, and the third, the best of all, has been unlucky."""
    instance = Instance(Model(np.eye(3), math.inf), [0.0, 0.0, 1.0])
    engine = new_engine(instance, 1, TopTwo())
    engine.reset([1000, 1000, 1], [1.0, 0.0, -3.0])
    engine.judge(test=False)
    asked = {engine.propose(position) for position in range(40)}
    assert asked == {0, 2}
