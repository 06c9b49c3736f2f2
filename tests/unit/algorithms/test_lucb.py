"""LUCB against its plain version."""

from functools import partial

import pytest
from numpy.random import Generator

from helpers.rival_runs import assert_decides_like
from mislid.algorithms import LUCB
from oracles.rivals import lucb


@pytest.mark.parametrize("authors", [False, True])
@pytest.mark.parametrize("m", [1, 3, 6])
def test_decides_like_the_plain_rule(rng: Generator, m: int, authors: bool) -> None:
    plain = partial(lucb, authors=authors)
    assert_decides_like(plain, LUCB(authors), (7, 2), m, rng, accuracy=1e-12)
