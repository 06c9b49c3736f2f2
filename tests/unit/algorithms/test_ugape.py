"""UGapE against its plain version, and whole runs of it."""

import numpy as np
import pytest
from numpy.random import Generator

from helpers.rival_runs import assert_decides_like, new_run
from mislid.algorithms import UGapE
from oracles.rivals import ugape


@pytest.mark.parametrize("stray", [0.0, 0.3])
@pytest.mark.parametrize(("K", "m"), [(7, 1), (7, 3), (7, 6), (2, 1), (30, 9)])
def test_decides_like_the_plain_rule(rng: Generator, K: int, m: int, stray: float) -> None:
    assert_decides_like(ugape, UGapE(), (K, 2), m, rng, stray=stray, accuracy=1e-12)


def test_the_answer_is_the_one_that_the_index_was_of() -> None:
    """The measurement after the last choice has no part in it, whatever it says."""
    run = new_run(np.eye(3), 1, UGapE())
    for arm, value in [(0, 1.0), (1, 0.2), (2, 0.0)]:
        for _ in range(400):
            run.measure(arm, value)
    run.choose()
    run.measure(1, 1e6)
    assert run.answer() == [0]
