"""Evidence of pairs by their own two arms: the same as the compiled rule settles them by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mislid import Model, Question
from mislid.engine import Engine
from mislid.geometry.duality import all_pairs
from mislid.stopping.noise import by_own_values, scatter_after, scatter_over_time

MODELS = ("unknown", "bounded", "bernoulli")


def question_of(noise_model: str, rng: np.random.Generator) -> Question:
    K = int(rng.integers(2, 7))
    # Features have a weight, and prove nothing.
    model = Model(rng.normal(size=(K, 2)) if K > 2 else np.eye(2), math.inf)
    low = float(rng.choice([0.0, -3.0, 1e3]))
    told: dict[str, Any] = {"noise": noise_model}
    if noise_model == "bounded":
        told["noise"] = (low, low + float(rng.choice([1.0, 0.01, 40.0])))
    return Question(
        model,
        int(rng.integers(1, K)),
        delta=float(rng.choice([0.05, 0.3, 1e-4])),
        tolerance=float(rng.choice([0.0, 0.0, 0.005])),
        structured=noise_model != "unknown" and bool(rng.random() < 0.5),
        **told,
    )


def drawn(question: Question, rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    arms = np.concatenate([np.arange(question.K), rng.integers(0, question.K, n)])
    places = rng.random(question.K)
    if question.noise_model == "bernoulli":
        return arms, (rng.random(arms.size) < places[arms]).astype(float)
    if question.noise_model == "bounded":
        low, high = question.reward_range or (0.0, 1.0)
        values = np.clip(places[arms] + 0.1 * rng.normal(size=arms.size), 0, 1)
        return arms, low + (high - low) * values
    deviations = rng.uniform(0.1, 1.0, question.K) * rng.choice([1e-3, 1.0, 1.0])
    return arms, 1e3 + places[arms] + deviations[arms] * rng.normal(size=arms.size)


@pytest.mark.parametrize("noise_model", MODELS)
def test_pairs_are_settled_where_the_evidence_is_enough(noise_model: str) -> None:
    rng = np.random.default_rng(7)
    settled = open_ = 0
    for _ in range(80):
        question = question_of(noise_model, rng)
        arms, values = drawn(question, rng, int(rng.choice([20, 100, 400])))
        engine = Engine(question, "uniform", every_arm=True)
        for arm, value in zip(arms.tolist(), values.tolist(), strict=True):
            engine.observe(arm, value)
        engine.judge(test=True)
        K, m = question.K, question.m
        pairs = all_pairs(K, np.sort(np.array(engine.incumbents)))
        data = engine.counts.astype(float), engine.means, engine.scatter
        noise = noise_model, question.reward_range
        share = 0.78 if question.structured else 1.0
        evidence = by_own_values(*noise, *data, pairs, question.tolerance)
        spare = evidence + math.log(share / (m * (K - m))) + math.log(question.delta)
        known = engine.settled()
        for (i, j), more in zip(pairs.tolist(), spare.tolist(), strict=True):
            if abs(more) > 1e-8:
                assert ((i, j) in known) is (more >= 0.0), (question, i, j, more)
        settled += int(np.sum(spare >= 0.0))
        open_ += int(np.sum(spare < 0.0))
    assert min(settled, open_) > 40


@pytest.mark.parametrize("noise_model", MODELS)
def test_scatter_is_that_of_the_engine_at_all_times(noise_model: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        question = question_of(noise_model, rng)
        arms, values = drawn(question, rng, 60)
        running = scatter_over_time(noise_model, question.reward_range, arms, values)
        if noise_model == "bernoulli":
            assert running is None
            assert scatter_after(running, arms, 5, question.K) is None
            continue
        engine = Engine(question, "uniform")
        for n, (arm, value) in enumerate(zip(arms.tolist(), values.tolist(), strict=True)):
            engine.observe(arm, value)
            found = scatter_after(running, arms, n + 1, question.K)
            np.testing.assert_allclose(found, engine.scatter, rtol=1e-14)
