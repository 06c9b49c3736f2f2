"""The compiled loop decides as a person does who calls the rules one by one."""

import numpy as np
import pytest
from mislid._kernels.propose import next_arm
from numpy.random import SeedSequence

from mislid._kernels.compile import kernel
from mislid._kernels.random import uniform
from mislid._kernels.rivals import own_test
from mislid._kernels.state import QUEUED, SAMPLES, measure
from mislid._kernels.stopping import estimate_and_test
from mislid.algorithms import as_algorithm
from mislid.simulation.identify import EXHAUSTED, STOPPED, _Run, identify
from oracles.small import PAIRINGS, SMALL, Question

BUDGET = 300


@kernel
def settled(setting, sampler, rivals, state):
    """`own_test` for Python callers."""
    return own_test(setting, sampler.plan, sampler.memory, rivals, state)


def step_by_step(question: Question, algorithm: str, stopping: str, seed: int) -> tuple[str, _Run]:
    instance, m = question
    rule = as_algorithm(algorithm)
    run = _Run(instance, m, 0.05, 0.0, rule, stopping, 1.0, None, SeedSequence(seed))
    for samples in range(BUDGET + 1):
        arm, planned = -1, samples < len(run.design)
        if planned:
            arm = int(run.design[samples])
        testing = not planned and not run.own and run.state.clock[QUEUED] == 0
        if testing and estimate_and_test(run.setting, run.stopping, run.state):
            return STOPPED, run
        if samples == BUDGET:
            break
        if not planned:
            number = uniform(run.key, samples)
            arm = int(next_arm(run.setting, run.sampler, run.state, number, run.rivals))
        reward = instance.means[arm] + instance.noise[arm] * run.generator.standard_normal()
        measure(run.setting, run.state, arm, reward)
        if run.own and not planned and settled(run.setting, run.sampler, run.rivals, run.state):
            return STOPPED, run
    return EXHAUSTED, run


@pytest.mark.parametrize(("algorithm", "stopping"), PAIRINGS)
def test_the_loop_and_the_steps_agree(algorithm: str, stopping: str) -> None:
    """Every algorithm with every stopping rule; LUCB and the like also by their own test."""
    for seed, question in enumerate(SMALL.values()):
        if not question.allows(algorithm):
            continue
        whole = identify(
            *question, algorithm=algorithm, stopping=stopping, seed=seed, max_samples=BUDGET
        )
        status, run = step_by_step(question, algorithm, stopping, seed)
        assert whole.status == status
        assert whole.samples == run.state.clock[SAMPLES]
        np.testing.assert_array_equal(whole.counts, run.state.counts)
        np.testing.assert_array_equal(whole.means, run.state.means)
        if status == STOPPED:
            assert sorted(whole.answer) == run.state.incumbents.tolist()
