"""An engine whose noise nobody knows: what it takes in, refuses, and settles."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mislid
from mislid.engine import Engine, EventBatch
from mislid.errors import ProblemError
from mislid.question import Question
from oracles.noise import scatter_about_guesses

FREE = mislid.Model(np.eye(4), math.inf)
UNKNOWN = Question(FREE, 2, noise="unknown")
EQUAL = Question(FREE, 2, noise="unknown-equal")
BERNOULLI = Question(FREE, 2, noise="bernoulli")
BOUNDED = Question(FREE, 2, noise=(-1, 3))


def test_scatter_is_that_of_all_values() -> None:
    rng, engine = np.random.default_rng(0), Engine(UNKNOWN)
    values = 1e6 + rng.normal(size=(20, 4))
    for row in values:
        for arm, value in enumerate(row):
            engine.observe(arm, float(value))
    expected = np.sum((values - values.mean(axis=0)) ** 2, axis=0)
    assert engine.scatter == pytest.approx(expected, rel=1e-9)


def test_values_that_come_together_are_added_to_the_others() -> None:
    rng, engine = np.random.default_rng(1), Engine(UNKNOWN)
    values = rng.normal(size=30)
    for part in np.split(values, [1, 5, 17]):
        engine.observe(2, float(part.sum()), len(part), float(np.sum((part - part.mean()) ** 2)))
    assert engine.counts[2] == 30
    assert engine.scatter[2] == pytest.approx(np.sum((values - values.mean()) ** 2))


def test_bounded_scatter_is_that_from_guesses_made_before() -> None:
    rng, engine = np.random.default_rng(2), Engine(BOUNDED)
    values = rng.uniform(size=25)
    for value in values:
        engine.observe(1, float(4 * value - 1))
    assert engine.scatter[1] == pytest.approx(scatter_about_guesses(values))
    together = Engine(BOUNDED)
    stretched = 4 * values - 1
    apart = float(np.sum((stretched - stretched.mean()) ** 2))
    together.observe(1, float(stretched.sum()), 25, apart)
    assert together.scatter[1] == pytest.approx(np.sum((values - 0.5) ** 2))


@pytest.mark.parametrize(
    ("question", "call", "message"),
    [
        (UNKNOWN, lambda e: e.observe(0, 3.0, 4), "scatter must be given"),
        (UNKNOWN, lambda e: e.observe(0, 3.0, 1, 0.5), "0 for less than 2 values"),
        (UNKNOWN, lambda e: e.observe(0, 3.0, 4, -0.5), "scatter must be"),
        (UNKNOWN, lambda e: e.reset([1] * 4, [1.0] * 4), "scatter must be given"),
        (UNKNOWN, lambda e: e.reset([1] * 4, [1.0] * 4, scatter=[-1, 0, 0, 0]), "at least 0"),
        (BERNOULLI, lambda e: e.observe(0, 0.5), "0 or 1"),
        (BERNOULLI, lambda e: e.observe(0, 5.0, 4), "sums of 4 values"),
        (BERNOULLI, lambda e: e.reset([2] * 4, [3, 0, 0, 0]), "0 or 1"),
        (BOUNDED, lambda e: e.observe(0, 3.5), "from -1 to 3"),
        (BOUNDED, lambda e: e.observe(0, -9.0, 8, 1.0), "from -1 to 3"),
    ],
)
def test_impossible_values_are_refused(question, call, message) -> None:
    with pytest.raises(ProblemError, match=message):
        call(Engine(question))


@pytest.mark.parametrize("rule", ["heuristic", "paper", "paper-printed"])
def test_other_stopping_rules_need_to_know_the_noise(rule: str) -> None:
    with pytest.raises(ProblemError, match=f"stopping must be 'guaranteed'.*{rule}"):
        Engine(UNKNOWN, stopping=rule)
    Engine(BERNOULLI, stopping=rule)


@pytest.mark.parametrize("question", [UNKNOWN, EQUAL, BERNOULLI], ids=lambda q: q.noise_model)
def test_compiled_and_plain_scripts_agree(question: Question, monkeypatch) -> None:
    rng, script = np.random.default_rng(5), EventBatch()
    script.tell([0, 1, 2, 3] * 6, rng.integers(0, 2, size=24).astype(float).tolist())
    for trial in range(0, 60, 3):
        script.ask(trial, 3, [0, 2] if trial % 2 else [])
        arms = rng.integers(0, 4, size=3).tolist()
        script.tell(arms, (rng.random(3) < 0.2 + 0.2 * np.array(arms)).astype(float).tolist())
    chosen = Engine(question).follow(script)[1]
    plain = Engine(question)
    monkeypatch.setattr(Engine, "is_compiled", False)
    assert plain.follow(script)[1].tolist() == chosen.tolist()


@pytest.mark.parametrize("question", [UNKNOWN, EQUAL], ids=lambda q: q.noise_model)
def test_copies_and_memories_keep_what_is_settled(question: Question) -> None:
    engine = Engine(question)
    engine.reset([90] * 4, [0.0, 90.0, 180.0, 270.0], scatter=[90.0] * 4)
    assert engine.judge(test=True).decided
    again = Engine(question)
    again.reset(engine.counts, engine.sums, engine, scatter=engine.scatter)
    again.judge(test=False)
    assert again.settled() == engine.settled() == engine.copy().settled()
