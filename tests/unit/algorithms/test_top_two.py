"""EB-TCI against its plain version."""

from numpy.random import Generator

from helpers.plan_runs import Shape, every_shape
from mislid.algorithms import TopTwo
from oracles.plans import top_two_pair


@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape) -> None:
    run = shape.run(rng, TopTwo(), tolerance=0.1)
    for arm in run.proposals(100):
        challenger, incumbent = top_two_pair(run.known(), run.engine.counts)
        assert arm == (incumbent if run.number() < 0.5 else challenger)
