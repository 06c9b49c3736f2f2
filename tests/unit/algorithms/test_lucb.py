"""LUCB against its plain version, and against the published numbers of samples."""

from functools import partial
from pathlib import Path

import pytest
from numpy.random import Generator

from helpers.rival_runs import assert_decides_like, assert_mean, published, sample_sizes
from mislid.algorithms import LUCB
from oracles.rivals import lucb


@pytest.mark.parametrize("authors", [False, True])
@pytest.mark.parametrize("m", [1, 3, 6])
def test_decides_like_the_plain_rule(rng: Generator, m: int, authors: bool) -> None:
    plain = partial(lucb, authors=authors)
    assert_decides_like(plain, LUCB(authors), (7, 2), m, rng, accuracy=1e-12)


# Means and their standard errors: the published runs' (500 of them) and those of prototypes.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "authors", "runs", "mean", "error"),
    [
        ("A_eps0", True, 10, 28_000, 0),
        ("A_eps5", True, 10, 67_124, 6_571 / 500**0.5),
        ("A_eps0", False, 60, 1_208, 60),
        ("A_eps5", False, 60, 3_104, 160),
    ],
)
def test_published_numbers_of_samples(
    shared_data: Path, name: str, authors: bool, runs: int, mean: float, error: float
) -> None:
    features, means = published(shared_data, name)
    sizes, wrong = sample_sizes(features, means, 3, LUCB(authors), runs=runs, limit=150_000)
    assert_mean(sizes, mean, error)
    assert wrong <= 0.05
