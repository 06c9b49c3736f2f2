"""The mixture's likelihood ratio under the truth seldom gets as high as its proof allows."""

import math

import numpy as np
import pytest

from helpers.measured import Data, setting_of
from mislid._kernels.compile import kernel
from mislid._kernels.mixture import Mixture, mixture_price, new_mixture
from mislid._kernels.state import Setting, State, new_state, observe
from mislid._kernels.structs import Vector
from statistical.hard import HARD
from statistical.trials import too_often

DELTA, RUNS, ROUNDS = 0.2, 600, 200


@kernel
def reaches(
    setting: Setting,
    prior: Mixture,
    state: State,
    truth: Vector,
    draws: Vector,
    level: float,
    share: float,
) -> bool:
    """Whether 1/2 |x - mu|^2 ever reaches `share` of the mixture's threshold.

    The adversary knows the truth. It measures in turn the arm that is farthest from it, to keep it
    there, and the one that was measured least, for another chance.
    """
    K = truth.shape[0]
    for t in range(draws.shape[0]):
        arm, best = 0, -np.inf
        for k in range(K):
            gap = state.means[k] - truth[k]
            score = -state.counts[k] if t % 2 == 0 or t < K else state.weights[k] * gap * gap
            if score > best:
                arm, best = k, score
        noise = math.sqrt(setting.variance[arm]) * draws[t]
        observe(setting, state, arm, truth[arm] + noise)
        distance = 0.0
        for k in range(K):
            distance += 0.5 * state.weights[k] * (state.means[k] - truth[k]) ** 2
        price = mixture_price(setting.X, state.weights, state.means, prior)
        if distance >= share * (level + price):
            return True
    return False


@pytest.mark.parametrize("name", ["tied, linear", "tied, no structure", "walls", "noises"])
def test_ratio_seldom_reaches_its_level(name: str) -> None:
    instance = HARD[name].instance
    nothing, means = np.zeros(instance.K), np.array(instance.means)
    data = Data(instance.model, np.array(instance.noise), nothing, means, HARD[name].m, delta=DELTA)
    setting = setting_of(data)
    prior, level = new_mixture(setting), math.log(1 / DELTA)
    draws = np.random.default_rng(20).normal(size=(RUNS, ROUNDS))

    def crossings(share: float) -> int:
        return sum(
            reaches(setting, prior, new_state(setting), means, row, level, share) for row in draws
        )

    right = crossings(1.0)
    assert right > 0
    assert not too_often(right, RUNS, DELTA)
    assert too_often(crossings(0.25), RUNS, DELTA)
