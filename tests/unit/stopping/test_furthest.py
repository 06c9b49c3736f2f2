"""The furthest answer that is good enough, against all answers by themselves."""

import numpy as np
import pytest
from numpy.random import Generator

from mislid import Model
from mislid.engine import Engine
from mislid.question import Question
from oracles.furthest import furthest
from oracles.paper_thresholds import heuristic_threshold


@pytest.mark.parametrize("eps", [0.0, 0.1, np.inf])
@pytest.mark.parametrize(("K", "d", "m"), [(6, 3, 1), (7, 3, 3), (5, 2, 4)])
def test_the_furthest_answer_is_judged(rng: Generator, K: int, d: int, m: int, eps: float) -> None:
    others = 0
    for _ in range(20):
        features, tolerance = rng.normal(size=(K, d)), float(rng.uniform(0.2, 2.0))
        question = Question(Model(features, eps), m, noise=0.7, tolerance=tolerance)
        engine = Engine(question, "uniform", "furthest")
        counts = rng.integers(1, 9, K) ** 3
        means = 0.1 * (features @ rng.normal(size=d) + rng.normal(size=K))
        engine.reset(counts, counts * means)
        verdict = engine.judge(test=True)
        costs = furthest(question, engine.estimate, engine.weights)
        largest = max(costs.values())
        assert verdict.statistic == pytest.approx(largest, rel=1e-8)
        assert costs[tuple(sorted(engine.incumbents))] == pytest.approx(largest, rel=1e-8)
        assert verdict.threshold == heuristic_threshold(counts.sum(), question.delta)
        assert verdict.decided == (largest > verdict.threshold)
        others += largest > (1 + 1e-8) * next(iter(costs.values()))
    assert others > 0  # not always the best of the estimate
