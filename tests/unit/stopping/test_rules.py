"""Stopping rules against slow versions made of the public geometry and dense matrices."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.measured import Data, engine_of, random_data, samples
from mislid.engine import Engine, Verdict
from mislid.errors import ProblemError
from mislid.geometry.coordinates import coordinates
from mislid.model import Model
from mislid.stopping.rules import STOPPING_RULES
from oracles.paper_thresholds import (
    heuristic_threshold,
    paper_threshold,
    paper_unstructured_threshold,
)
from oracles.stopping import (
    closest_cost,
    estimated,
    explored,
)

NAMES = list(STOPPING_RULES)


def verdict(data: Data, name: str) -> Verdict:
    return engine_of(data, name).judge(True)


def evidence(found: Verdict) -> list[float]:
    assert found.pair is not None
    return [found.statistic, found.threshold, *found.pair]


def test_rules_have_names_and_honest_labels() -> None:
    assert {name for name, rule in STOPPING_RULES.items() if not rule.guaranteed} == {
        "heuristic",
        "paper-printed",
    }
    assert "no guarantee" in str(STOPPING_RULES["heuristic"])


def test_unknown_rules_and_grids_are_refused() -> None:
    question = random_data(np.random.default_rng(0)).question
    with pytest.raises(ProblemError, match="stopping must be one of guaranteed, paper"):
        Engine(question, stopping="magic")
    with pytest.raises(ProblemError, match="gamma"):
        Engine(question, stopping="paper", gamma=0.9)


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


def test_linear_threshold_waits_until_features_are_explored() -> None:
    features = np.random.default_rng(0).normal(size=(30, 2))
    found = set()
    for n in range(1, 6):
        data = Data(Model(features, 0.0), np.ones(30), np.zeros(30), features[:, 0], 1)
        data.counts[coordinates(data.model).basis] = n
        threshold = verdict(data, "paper").threshold
        linear = paper_threshold(2 * n, 30, 2, 0.05, 0.0)
        assert linear < paper_unstructured_threshold(2 * n, 30, 0.05)
        assert math.isclose(threshold, linear, rel_tol=1e-12) == explored(data)
        found.add(explored(data))
    assert found == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_units_do_not_matter(name: str) -> None:
    for data in samples(6, 15):
        unit = 2.0**20  # exact, so that the search takes the same path
        scaled = data._replace(
            model=Model(data.model.features, data.model.misspecification * unit),
            noise=data.noise * unit,
            means=data.means * unit,
            tol=data.tol * unit,
        )
        found, other = verdict(data, name), verdict(scaled, name)
        assert found.decided == other.decided
        assert_allclose(evidence(other), evidence(found), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_basis_of_the_features_does_not_matter(name: str) -> None:
    for n, data in enumerate(samples(7, 15)):
        turn = np.random.default_rng(n).normal(size=(data.model.d, data.model.d))
        turned = data._replace(model=Model(data.model.features @ turn, data.model.misspecification))
        found, other = verdict(data, name), verdict(turned, name)
        assert found.decided == other.decided
        size = float(data.weights @ data.means**2)
        assert_allclose(evidence(other), evidence(found), rtol=1e-6, atol=1e-9 * size)


@pytest.mark.parametrize("name", NAMES)
def test_more_confidence_or_less_tolerance_never_stops_earlier(name: str) -> None:
    changes = 0
    for data in samples(8, 25):
        by_delta = [verdict(data._replace(delta=c), name).decided for c in (1e-12, 1e-4, 0.05, 0.4)]
        by_tolerance = [verdict(data._replace(tol=x), name).decided for x in (0.0, 0.1, 0.5, 2.0)]
        assert by_delta == sorted(by_delta)
        assert by_tolerance == sorted(by_tolerance)
        changes += len(set(by_delta)) + len(set(by_tolerance)) - 2
    assert changes > 3


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
    assert engine.last_test == 88
