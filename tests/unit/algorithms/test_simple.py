"""Sampling that ignores the rewards keeps to its shares."""

import numpy as np
from numpy.random import Generator

from helpers.rival_runs import Floats, Run, new_run
from mislid.algorithms import Uniform
from mislid.algorithms.fixed import Fixed, fixed_arm
from mislid.algorithms.registry import CompiledSampling
from oracles.rivals import tracking


def follow(allocation: Floats) -> Run:
    """A run along a given allocation."""
    rule, K = Fixed(allocation=allocation), len(allocation)
    return new_run(np.eye(K), 1, Uniform())._replace(sampler=CompiledSampling(rule, fixed_arm))


def pull(run: Run) -> int:
    arm = run.choose()
    run.measure(arm, 0.0)
    return arm


def test_uniform_takes_arms_in_turn() -> None:
    run = new_run(np.eye(4), 2, Uniform())
    run.measure(2, 0.0)
    assert [pull(run) for _ in range(7)] == [0, 1, 3, 0, 1, 2, 3]


def test_counts_keep_to_the_allocation(rng: Generator) -> None:
    allocation = rng.dirichlet(np.ones(6))
    allocation[2] = 0.0
    allocation /= allocation.sum()
    run = follow(allocation)
    for t in range(1, 501):
        before = run.state.counts.copy()
        assert pull(run) == tracking(before, allocation, t * allocation)
        # No arm is ever ahead by a whole measurement, nor behind by more than the others' surplus.
        surplus = run.state.counts - t * allocation
        assert np.max(surplus) < 1.0
        assert np.min(surplus) > -5.0
    assert run.state.counts[2] == 0
