"""LUCB against its plain version, and against the published numbers of samples."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator

from helpers.rival_runs import (
    assert_decides_like,
    assert_mean,
    assert_unmeasured_first,
    new_run,
    published,
    sample_sizes,
)
from mislid.algorithms import LUCB
from oracles.paper_thresholds import heuristic_threshold
from oracles.rivals import lucb


@pytest.mark.parametrize("authors", [False, True])
@pytest.mark.parametrize("m", [1, 3, 6])
def test_decides_like_the_plain_rule(rng: Generator, m: int, authors: bool) -> None:
    plain = partial(lucb, authors=authors)
    assert_decides_like(plain, LUCB(authors), (7, 2), m, rng, accuracy=1e-12)


def test_equal_means_and_counts_go_to_the_first_arms() -> None:
    run = new_run(np.eye(5), 2, LUCB())
    for arm in range(5):
        run.measure(arm, 1.0)
    assert run.choose() == 0
    width = np.sqrt(2 * heuristic_threshold(5, 0.05))
    assert run.sampler.struct.index == pytest.approx(2 * width)
    run.measure(0, 1.0)
    assert run.choose() == 1
    run.measure(1, 1.0)
    assert run.choose() == 2


@pytest.mark.parametrize("threshold", [0.1, 50.0])
def test_widths_are_those_of_a_stricter_stopping_rule(threshold: float) -> None:
    run = new_run(np.eye(3), 1, LUCB())
    for arm in range(3):
        run.measure(arm, 1.0)
    run.state.threshold = threshold
    run.choose()
    beta = max(threshold, heuristic_threshold(3, 0.05))
    assert run.sampler.struct.index == pytest.approx(2 * np.sqrt(2 * beta))


def test_arms_never_measured_come_first() -> None:
    assert_unmeasured_first(LUCB())


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
