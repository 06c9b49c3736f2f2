"""Sampling that ignores the rewards keeps to its shares; the m largest are found."""

import numpy as np
import pytest
from mislid._kernels.plan import C_TRACKING, D_TRACKING, FIXED, UNIFORM
from mislid._kernels.select import list_top, nth_largest
from numpy.random import Generator
from numpy.testing import assert_array_equal

from helpers.rival_runs import Floats, Run, choose, new_run
from mislid._kernels.compile import kernel
from mislid._kernels.order import Indices
from mislid._kernels.state import measure
from oracles.rivals import best, tracking


def pull(run: Run) -> int:
    arm = choose(run, 1.0)
    measure(run.setting, run.state, arm, 0.0)
    return arm


def test_uniform_takes_arms_in_turn() -> None:
    run = new_run(np.eye(4), 2, UNIFORM)
    measure(run.setting, run.state, 2, 0.0)
    assert [pull(run) for _ in range(7)] == [0, 1, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("rule", [C_TRACKING, D_TRACKING])
def test_counts_keep_to_the_allocation(rng: Generator, rule: int) -> None:
    allocation = rng.dirichlet(np.ones(6))
    allocation[2] = 0.0
    allocation /= allocation.sum()
    run = new_run(np.eye(6), 2, FIXED, tracking=rule, allocation=allocation)
    for t in range(1, 501):
        before = run.state.counts.copy()
        assert pull(run) == tracking(before, allocation, t * allocation)
        # No arm is ever ahead by a whole measurement, nor behind by more than the others' surplus.
        surplus = run.state.counts - t * allocation
        assert np.max(surplus) < 1.0
        assert np.min(surplus) > -5.0
    assert run.state.counts[2] == 0


@pytest.mark.parametrize("rule", [C_TRACKING, D_TRACKING])
def test_an_initial_design_counts_for_d_tracking_only(rule: int) -> None:
    allocation = np.array([0.5, 0.25, 0.25, 0.0])
    run = new_run(np.eye(4), 1, FIXED, tracking=rule, allocation=allocation)
    for _ in range(100):
        measure(run.setting, run.state, 0, 0.0)
    for _ in range(300):
        pull(run)
    # C-tracking leaves the surplus of a hundred in place, spread over the arms with a share.
    expected = [200, 100, 100, 0] if rule == D_TRACKING else [183, 108, 109, 0]
    assert np.max(np.abs(run.state.counts - expected)) <= 1


@kernel
def select(values: Floats, heap: Indices, flags: Floats, out: Indices) -> float:
    list_top(values, heap, flags, out)
    return nth_largest(values, out.shape[0], heap)


def test_the_largest_are_the_first_of_equal_ones(rng: Generator) -> None:
    for _ in range(300):
        K = int(rng.integers(1, 30))
        m = int(rng.integers(1, K + 1))
        values = rng.integers(0, 5, K).astype(np.float64)
        values[rng.random(K) < 0.1] = -np.inf
        out = np.full(m, -1)
        last = select(values, np.zeros(K, np.int64), np.zeros(K), out)
        assert_array_equal(out, best(values, m))
        assert last == np.sort(values)[-m]
