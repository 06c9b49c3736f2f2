"""Stopping rules against slow versions made of the public geometry and dense matrices."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.measured import Data, engine_of, random_data, samples
from mislid.engine import Engine, Verdict
from mislid.model import Model
from oracles.paper_thresholds import (
    heuristic_threshold,
    paper_threshold,
    paper_unstructured_threshold,
)
from oracles.stopping import closest_cost, estimated, explored


def verdict(data: Data, name: str) -> Verdict:
    return engine_of(data, name).judge(True)


def evidence(found: Verdict) -> list[float]:
    assert found.pair is not None
    return [found.statistic, found.threshold, *found.pair]


@pytest.mark.parametrize("name", ["heuristic", "paper", "paper-printed"])
def test_paper_rules_measure_from_the_projected_means(name: str) -> None:
    verdicts = []
    for data in samples(2, 40):
        t, K, d = data.counts.sum(), data.model.K, data.model.d
        eps = data.model.misspecification
        means, incumbents = estimated(data)
        cost = closest_cost(data, means)
        if name == "heuristic":
            threshold = heuristic_threshold(t, data.delta)
        else:
            information = float(data.weights.sum())
            printed = name == "paper-printed"
            threshold = paper_threshold(
                t, K, d, data.delta, eps, information=information, printed=printed
            )
            if name == "paper" and not explored(data):
                threshold = paper_unstructured_threshold(t, K, data.delta)
        found = verdict(data, name)
        assert found.answer is not None
        assert sorted(found.answer) == incumbents.tolist()
        assert_allclose(found.threshold, threshold, rtol=1e-12)
        assert_allclose(found.statistic, cost, rtol=1e-6, atol=1e-9 * t)
        assert found.decided == (found.statistic > threshold)
        verdicts.append(found.decided)
    assert set(verdicts) == {True, False}


def test_arms_never_measured_are_settled_by_the_features_alone() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.2]])
    counts = np.array([1e6, 1e6, 0.0])
    means = np.array([1.0, 0.0, 123.0])  # the last must not be looked at
    for eps, known in ((0.0, True), (1.0, False), (math.inf, False)):
        data = Data(Model(features, eps), np.ones(3), counts, means, 1)
        found = verdict(data, "guaranteed")
        assert found.decided == known
        assert np.all(np.isfinite(evidence(found)))


def test_tests_follow_a_geometric_grid() -> None:
    data = random_data(np.random.default_rng(11), 0.1)
    engine = Engine(data.question, "uniform", "guaranteed", gamma=1.5)
    for t in range(1, 100):
        engine.observe(t % data.model.K, data.means[t % data.model.K])
        if t >= 10:
            before = engine.tests
            engine.judge()
            assert (engine.tests > before) == (t in {10, 16, 25, 38, 58, 88})
    assert engine._state.last_test == 88
