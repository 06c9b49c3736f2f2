"""The compiled loop decides as a person does who calls the rules one by one."""

import numpy as np
import pytest
from numpy.random import SeedSequence

from mislid import Instance, Model
from mislid.algorithms import as_algorithm
from mislid.rules._propose import next_arm
from mislid.rules._random import uniform
from mislid.rules._state import SAMPLES, measure
from mislid.rules._stopping import estimate_and_test
from mislid.simulation.identify import _Run, identify

FEATURES = np.random.default_rng(3).normal(size=(7, 3))
MEANS = np.array([1.5, 1.1, 0.6, 0.5, 0.2, 0.0, -0.6])
INSTANCE = Instance(Model(FEATURES, 2.0), MEANS, noise=0.7)


def step_by_step(algorithm: str, stopping: str, seed: int) -> _Run:
    run = _Run(
        INSTANCE, 2, 0.05, 0.0, as_algorithm(algorithm), stopping, 1.0, None, SeedSequence(seed)
    )
    state = run.state
    while True:
        samples = int(state.clock[SAMPLES])
        if samples >= len(run.design):
            if estimate_and_test(run.setting, run.stopping, state):
                return run
            arm = next_arm(run.setting, run.sampler, state, uniform(run.key, samples), run.rivals)
        else:
            arm = int(run.design[samples])
        reward = MEANS[arm] + 0.7 * run.generator.standard_normal()
        measure(run.setting, state, arm, reward)


@pytest.mark.parametrize("stopping", ["guaranteed", "heuristic"])
@pytest.mark.parametrize("algorithm", ["mislid", "mislid-paper", "uniform"])
def test_the_loop_and_the_steps_agree(algorithm: str, stopping: str) -> None:
    for seed in range(3):
        whole = identify(INSTANCE, 2, algorithm=algorithm, stopping=stopping, seed=seed)
        steps = step_by_step(algorithm, stopping, seed)
        assert whole.samples == steps.state.clock[SAMPLES]
        np.testing.assert_array_equal(whole.counts, steps.state.counts)
        np.testing.assert_array_equal(whole.means, steps.state.means)
        assert sorted(whole.answer) == steps.state.incumbents.tolist()
