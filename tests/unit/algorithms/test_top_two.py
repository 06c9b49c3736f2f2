"""EB-TCI against its plain version."""

import pytest
from numpy.random import Generator

from helpers.plan_runs import Shape, every_shape
from mislid.algorithms import TopTwo
from oracles.plans import top_two_pair


@pytest.mark.parametrize("share", [0.5, 0.2])
@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape, share: float) -> None:
    run = shape.run(rng, TopTwo(share), tolerance=0.1)
    for arm in run.proposals(100):
        challenger, incumbent = top_two_pair(run.known(), run.engine.counts)
        assert arm == (incumbent if run.number() < share else challenger)
