"""Top-two Thompson sampling with information-directed selection against its plain version."""

import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.plan_runs import Shape, every_shape
from mislid.algorithms import TopTwoIDS
from oracles.draws import directed_shares, drawn_arm


@pytest.mark.parametrize("draws", [0, 12])
@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape, draws: int) -> None:
    run = shape.run(rng, TopTwoIDS(draws))
    for arm in run.proposals(30):
        number, data = run.number(), run.measured()
        shares = directed_shares(data, int(number * 2.0**53), draws)
        assert_allclose(run.engine.copy()._rules.sampler.shares, shares, atol=1e-7)
        assert arm == drawn_arm(shares, number)
