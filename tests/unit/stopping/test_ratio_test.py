"""The likelihood ratio test against its definition, along whole runs."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mislid import Model, pair_alternative
from mislid.engine import Engine
from mislid.question import Question
from oracles.elimination import PlainPairs, PlainRatioTest
from oracles.rivals import Data

RULES = {False: "glr", True: "glr-selective"}


def compare_along(rng: np.random.Generator, selective: bool, m: int, algorithm: str) -> int:
    """Judge after every measurement, by both; the number of samples until both stop."""
    K, d = 6, 3
    features, noise = rng.normal(size=(K, d)), rng.uniform(0.5, 2.0, K)
    means, tolerance = features @ rng.normal(size=d), float(rng.choice([0.0, 0.1]))
    question = Question(Model(features, 0.0), m, noise=noise, delta=0.1, tolerance=tolerance)
    engine = Engine(question, algorithm, RULES[selective], every_arm=True)
    plain = PlainRatioTest(PlainPairs(K, m, tolerance), selective, 0.1, tolerance)
    for t in range(2000):
        arm = t if t < K else engine.propose()
        engine.observe(arm, float(means[arm] + noise[arm] * rng.normal()))
        if t + 1 < K:
            continue
        found = engine.judge()
        data = Data(features, noise, engine.counts.astype(float), engine.sums, m)
        decided, least, threshold = plain.judge(data)
        assert found.decided == decided
        if not math.isnan(least):
            assert_allclose([found.statistic, found.threshold], [least, threshold], rtol=1e-8)
        assert set(engine.settled()) <= plain.pairs.settled
        if decided:
            break
    return engine.samples


@pytest.mark.parametrize("selective", [False, True])
@pytest.mark.parametrize("algorithm", ["uniform", "lingape"])
def test_judges_like_the_definition(selective: bool, algorithm: str) -> None:
    stopped = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 5])
        stopped += compare_along(rng, selective, 1 + seed % 5, algorithm) < 2000
    assert stopped >= 8


def cost_in_the_tube(engine: Engine, i: int, j: int) -> float:
    model, tolerance = engine.question.model, engine.question.tolerance
    found = pair_alternative(model, engine.estimate, engine.weights, i, j, tolerance=tolerance)
    return found.cost


@pytest.mark.parametrize("rule", ["glr", "glr-selective"])
@pytest.mark.parametrize("eps", [0.05, 0.4, math.inf])
def test_in_a_tube_the_least_cost_of_a_pair_is_compared(rule: str, eps: float) -> None:
    K, m, stops = 6, 2, 0
    for seed in range(4):
        rng = np.random.default_rng([seed, 9])
        features = rng.normal(size=(K, 3))
        means = features @ rng.normal(size=3) + min(eps, 0.4) * rng.uniform(-1, 1, K)
        engine = Engine(Question(Model(features, eps), m, noise=0.7, delta=0.1), "uniform", rule)
        for t in range(900):
            engine.observe(t % K, float(means[t % K] + 0.7 * rng.normal()))
            if t < K or t % 7:
                continue
            verdict, threshold = engine.judge(), math.log((t + 2) / 0.1)
            pairs = PlainPairs(K, m).left(sorted(engine.incumbents))
            cost = min(cost_in_the_tube(engine, *pair) for pair in pairs)
            assert verdict.decided == (cost > threshold)
            assert_allclose(verdict.threshold, threshold)
            # An alternative that was found a moment ago may be too near already.
            assert verdict.statistic >= cost * (1.0 - 1e-7)
            if verdict.decided:
                stops += 1
                break
    assert stops > 0
