"""The compiled loop decides as a person does who calls the rules one by one."""

import numpy as np
import pytest
from numpy.random import SeedSequence

from helpers.small import PAIRINGS, SMALL, Small
from mislid.engine import Engine
from mislid.engine.loop import RUNNING, STOPPED
from mislid.question import Question
from mislid.simulation.environments import as_environment
from mislid.simulation.identify import STATUS, Run, identify

BUDGET = 300


def new_run(small: Small, algorithm: str, stopping: str, seed: int) -> Run:
    """A run as `identify` makes it."""
    instance, m = small
    root = SeedSequence(seed)
    bound = float(np.max(np.abs(instance.means)))
    question = Question(instance.model, m, noise=instance.noise, mean_bound=bound)
    engine = Engine(question, algorithm, stopping, seed=root, truth=instance)
    return Run(engine, as_environment(None, instance), root)


def step_by_step(run: Run, pause: int) -> int:
    code = RUNNING
    while code == RUNNING:
        code = run.step(BUDGET, pause)
    return code


@pytest.mark.parametrize(("algorithm", "stopping"), PAIRINGS)
def test_the_loop_and_the_steps_agree(algorithm: str, stopping: str) -> None:
    """Every algorithm with every stopping rule; LUCB and the like also by their own test."""
    for seed, small in enumerate(SMALL.values()):
        if not small.allows(algorithm):
            continue
        whole = identify(
            *small, algorithm=algorithm, stopping=stopping, seed=seed, max_samples=BUDGET
        )
        run = new_run(small, algorithm, stopping, seed)
        code = step_by_step(run, pause=7 + seed)
        assert whole.status == STATUS[code]
        assert whole.samples == run.engine.samples
        np.testing.assert_array_equal(whole.counts, run.engine.counts)
        np.testing.assert_array_equal(whole.means, run.engine.means)
        if code == STOPPED:
            assert whole.answer is not None
            assert sorted(whole.answer) == sorted(run.engine.incumbents)
