"""Proven rules are wrong at most as often as promised, under sampling that tries to mislead them.

Each test has a broken twin, a threshold that is too low, which the same test must catch.
"""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from mislid.geometry._compile import kernel
from mislid.model import Model
from mislid.rules._mixture import mixture_price, new_mixture
from mislid.rules._state import (
    CHALLENGER,
    INCUMBENT,
    LAST_TEST,
    SAMPLES,
    STATISTIC,
    THRESHOLD,
    new_state,
    observe,
)
from mislid.rules._stopping import judge, new_stopping
from oracles.measured import Data, setting_of

Floats = NDArray[np.float64]
REJECTED = 1e-4


@kernel
def reaches(setting, prior, state, truth, draws, level, share):
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


@kernel
def stops_wrongly(setting, stopping, state, truth, draws, share):
    """Whether the first answer, at `share` of the threshold, has another arm than the m best.

    The m best arms are the first m. Measures the arms of the limiting pair in turn.
    """
    K, m = setting.X.shape[0], setting.m
    arm = 0
    for t in range(draws.shape[0]):
        noise = math.sqrt(setting.variance[arm]) * draws[t]
        observe(setting, state, arm, truth[arm] + noise)
        arm = (t + 1) % K
        due = state.clock[SAMPLES] >= stopping.gamma * state.clock[LAST_TEST]
        if t >= 5 * K and due:
            judge(setting, stopping, state, True)
            if state.evidence[STATISTIC] >= share * state.evidence[THRESHOLD]:
                return state.incumbents[m - 1] >= m
        if t >= 5 * K:
            arm = int(state.evidence[CHALLENGER if t % 2 == 0 else INCUMBENT])
    return False


def hard(eps: float, delta: float) -> Data:
    """Four arms, the second ahead of the third by 1e-3; with a tube, only at its very walls."""
    features = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
    means = np.array([5.0, 5e-4, -5e-4, -5.0])
    if 0 < eps < math.inf:
        features = np.array([[1.0, 0.0], [eps / 5, 1.0], [-eps / 5, 1.0], [-1.0, 0.0]])
        assert np.max(np.abs(means - features @ [5.0, 0.0])) == pytest.approx(eps - 5e-4)
    return Data(
        Model(features, eps), np.array([1.0, 0.5, 2.0, 1.0]), np.zeros(4), means, 2, 0.0, delta
    )


def too_many(errors: int, runs: int, delta: float) -> bool:
    return bool(binomtest(errors, runs, delta, alternative="greater").pvalue < REJECTED)


@pytest.mark.parametrize("eps", [0.0, 0.5, math.inf])
def test_ratio_of_the_mixture_seldom_reaches_its_level(eps: float) -> None:
    data = hard(eps, 0.2)
    setting = setting_of(data)
    prior, runs = new_mixture(setting), 1000
    rng = np.random.default_rng(20)
    draws = rng.normal(size=(runs, 200))

    def crossings(share: float) -> int:
        level = math.log(1 / data.delta)
        return sum(
            reaches(setting, prior, new_state(setting), data.means, row, level, share)
            for row in draws
        )

    right = crossings(1.0)
    assert right > 0
    assert not too_many(right, runs, data.delta)
    assert too_many(crossings(0.25), runs, data.delta)


@pytest.mark.parametrize(
    ("name", "eps", "share"),
    [
        ("mixture", 0.0, 0.2),
        ("mixture", 0.5, 0.2),
        ("pairwise", 0.5, 0.2),
        ("pairwise", math.inf, 0.2),
        ("guaranteed", 0.0, 0.2),
        ("guaranteed", 0.5, 0.2),
        ("guaranteed", math.inf, 0.2),
        ("paper", 0.0, 0.2),
        ("paper", math.inf, 0.1),
    ],
)
def test_wrong_answers_are_rare(name: str, eps: float, share: float) -> None:
    data = hard(eps, 1e-3)
    setting = setting_of(data)
    stopping, runs = new_stopping(setting, name, gamma=1.05), 2000
    draws = np.random.default_rng(21).normal(size=(runs, 2000))

    def errors(share: float) -> int:
        return sum(
            stops_wrongly(setting, stopping, new_state(setting), data.means, row, share)
            for row in draws
        )

    # One hard pair and a small delta: a threshold that is too low shows at once.
    assert not too_many(errors(1.0), runs, data.delta)
    assert too_many(errors(share), runs, data.delta)
