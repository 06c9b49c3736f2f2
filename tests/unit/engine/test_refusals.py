"""What someone tries who wants to crash an engine, or to have it decide on nonsense."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mislid
from mislid.engine import Engine, EventBatch
from mislid.errors import ProblemError

MODEL = mislid.Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
QUESTION = mislid.Question(MODEL, 1, noise=0.2)


@pytest.mark.parametrize(("arms", "values"), [([10**7], [1.0]), ([-1], [1.0]), ([0], [np.nan])])
def test_scripts_of_impossible_measurements_are_refused(arms, values):
    script = EventBatch()
    script.tell(arms, values)
    with pytest.raises(ProblemError, match="must be"):
        Engine(QUESTION).follow(script)


def test_scripts_with_more_arms_than_values_are_refused():
    script = EventBatch()
    script.tell([2], [0.5])
    for arms, values in [([0] * 1000, [1.0]), ([0], [1.0, 2.0]), (0, [1.0]), ([0], None)]:
        with pytest.raises(ProblemError, match="one value for each arm; got"):
            script.tell(arms, values)
    assert [step.arms for step in script] == [(2,)]
    script.values.append(0.5)
    with pytest.raises(ProblemError, match="one for each arm"):
        Engine(QUESTION).follow(script)


def test_open_trials_of_impossible_arms_are_refused():
    script = EventBatch()
    script.tell([0, 1, 2], [1.0, 1.0, 1.0])
    script.ask(0, 2, [10**7])
    with pytest.raises(ProblemError, match="arms must be from 0 to 2"):
        Engine(QUESTION).follow(script)


def test_the_compiled_loop_refuses_what_it_would_misread():
    rng, engine = np.random.default_rng(0), Engine(QUESTION)
    good = ("gaussian", np.ones((3, 4)), np.zeros((0, 3)))
    with pytest.raises(ProblemError, match="no test of its own"):
        engine.advance(good, rng, 100, 100, True)
    with pytest.raises(ProblemError, match="parameters of shape"):
        engine.advance(("gaussian", np.ones((1, 1)), np.zeros((0, 3))), rng, 100, 100, False)
    for source in (None, "abc", ("cauchy", *good[1:]), ("gaussian", np.ones((3, 4), int), good[2])):
        with pytest.raises(ProblemError, match="source must be a kind, one of gaussian, "):
            engine.advance(source, rng, 100, 100, False)
    engine.design[0] = 10**7  # a copy
    assert engine.advance(good, rng, 10, 100, False) in (1, 2)


@pytest.mark.parametrize(
    ("counts", "sums"), [([-5, -5, -5], [1, 2, 3]), ([0.5] * 3, [1, 1, 1]), ([0, 0, 0], [5, 5, 5])]
)
def test_resets_to_impossible_data_change_nothing(counts, sums):
    engine = Engine(QUESTION)
    engine.observe(0, 0.1)
    with pytest.raises(ProblemError, match=r"counts must be|sums must be"):
        engine.reset(counts, sums)
    assert engine.samples == 1


def test_memory_of_another_engine_changes_nothing():
    engine = Engine(QUESTION)
    engine.observe(0, 0.1)
    wider = mislid.Question(mislid.Model(np.eye(5), 0.1), 1)
    for memory in (Engine(QUESTION, "lucb").memory(), Engine(wider).memory(), "x"):
        with pytest.raises(ProblemError, match="memory must come from"):
            engine.reset([9, 9, 9], [1, 1, 1], memory)
    assert engine.samples == 1


def test_more_measurements_than_can_be_counted_are_refused():
    engine = Engine(QUESTION)
    engine.observe(0, 1.0, 2**53)
    with pytest.raises(ProblemError, match="times must leave at most"):
        engine.observe(0, 1.0)


@pytest.mark.parametrize(
    ("kind", "parameters", "rows"),
    [("gaussian", np.full((3, 4), np.nan), 0), ("table", np.zeros((3, 4)), 0)],
)
def test_sources_without_rewards_are_refused(kind: str, parameters: Any, rows: int) -> None:
    source = kind, parameters, np.zeros((rows, 3))
    with pytest.raises(ProblemError, match="source must have finite parameters"):
        Engine(QUESTION).advance(source, np.random.default_rng(0), 50, 50, False)


def test_a_step_that_is_refused_leaves_nothing_behind() -> None:
    script = EventBatch()
    with pytest.raises(ValueError, match="could not convert"):
        script.tell([0, 1], (float(text) for text in ("0.5", "n/a")))
    script.tell([0, 1], [Fraction(1, 2), Decimal("0.7")])
    assert len(script.arms) == len(script.values) == 2
    engine = Engine(QUESTION)
    engine.follow(script)
    assert engine.sums.tolist() == [0.5, 0.7, 0.0]
