"""Best responses fed with the true means: where their measurements go."""

import numpy as np
import pytest

from mislid import Instance, Model, characteristic_time, closest_alternative
from mislid.algorithms import BestResponse
from mislid.engine import Engine
from mislid.question import Question

FEATURES = np.random.default_rng(3).normal(size=(7, 3))
MEANS = np.array([1.5, 1.1, 0.6, 0.5, 0.2, 0.0, -0.6])
SAMPLES = 4_000


def counts_without_noise(instance: Instance, m: int, rule: BestResponse) -> np.ndarray:
    """Counts (K,) after SAMPLES exact measurements."""
    engine = Engine(Question(instance.model, m, noise=instance.noise), rule, "heuristic")
    for arm in engine.design:
        engine.observe(arm, instance.means[arm])
    while engine.samples < SAMPLES:
        engine.judge()
        arm = engine.propose()
        engine.observe(arm, instance.means[arm])
    return engine.counts


def information(instance: Instance, m: int, counts: np.ndarray) -> float:
    """Evidence a measurement, over the most that any allocation yields."""
    allocation = counts / counts.sum() / instance.noise**2
    cost = closest_alternative(instance.model, instance.means, allocation, m).cost
    return cost * characteristic_time(instance.model, instance.means, m, noise=instance.noise).value


@pytest.mark.parametrize(("misspecification", "m"), [(np.inf, 3), (2.0, 2), (np.inf, 1), (0.7, 2)])
def test_measurements_go_where_they_tell_most(misspecification, m):
    noise = np.array([0.5, 1.0, 1.0, 0.7, 1.0, 0.3, 1.0])
    instance = Instance(Model(FEATURES, misspecification), MEANS, noise=noise)
    told = information(instance, m, counts_without_noise(instance, m, BestResponse()))
    assert told > 0.9
    assert told > 1.2 * information(instance, m, np.ones(7))
