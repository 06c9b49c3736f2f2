"""Draws from the posterior, and PEPS, against plain versions."""

import math

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.plan_runs import Shape, every_shape, new_engine, random_instance
from mislid import Instance, Model
from mislid._jit import kernel
from mislid.algorithms import PEPS
from mislid.algorithms._posterior import Posterior, draw
from mislid.stopping.state import Setting, State
from oracles.draws import AdaHedge, alternative, drawn_arm


@pytest.mark.parametrize("draws", [0, 3, 100])
@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape, draws: int) -> None:
    run, learner = shape.run(rng, PEPS(draws)), AdaHedge(shape.K)
    for arm in run.proposals(30):
        number, data = run.number(), run.measured()
        assert arm == drawn_arm(learner.play(), number)
        shift = alternative(data, int(number * 2.0**53), 0, draws) - data.known.estimate
        learner.learn(0.5 * (shift / run.instance.noise) ** 2)
        assert_allclose(run.engine.memory().sampler.cumulative[0], learner.total, rtol=1e-6)


@kernel
def draw_shift(setting: Setting, state: State, key: int, at: int, drawn: Posterior) -> bool:
    return draw(setting, state, np.uint64(key), at, drawn)


@pytest.mark.parametrize("eps", [0.0, 1e-9, 1e3, math.inf])
def test_draws_have_the_spread_of_the_posterior(rng: Generator, eps: float) -> None:
    """Tubes of hardly any width and very wide ones come to what is known in closed form."""
    K, d, count = 5, 2, 4000
    instance = random_instance(rng, K, d, eps if eps > 1.0 else 0.0)
    instance = Instance(Model(instance.model.features, eps), instance.means, noise=instance.noise)
    engine = new_engine(instance, 1, PEPS())
    counts = np.array([4, 9, 7, 3, 12])
    engine.reset(counts, counts * instance.means)
    engine.judge(test=False)
    rules, drawn = engine._rules, Posterior.zeros({"K": K, "d": d})
    shifts = np.zeros((count, K))
    for at in range(count):
        assert draw_shift(rules.setting, rules.state, 7, at, drawn)
        shifts[at] = drawn.shift
    X, weights = instance.model.features, counts / instance.noise**2
    expected = np.diag(1.0 / weights)
    if eps < 1.0:
        expected = X @ np.linalg.inv(X.T @ (weights[:, None] * X)) @ X.T
    scale = np.sqrt(np.diag(expected))
    found = shifts.T @ shifts / count
    assert_allclose(shifts.mean(axis=0) / scale, 0.0, atol=4.5 / math.sqrt(count))
    assert_allclose(found / np.outer(scale, scale), expected / np.outer(scale, scale), atol=0.12)
