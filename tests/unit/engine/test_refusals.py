"""What someone tries who wants to crash an engine, or to have it decide on nonsense."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import mislid
from mislid.engine import Engine, EventBatch
from mislid.errors import ProblemError
from mislid.simulation import Gaussian

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


def test_open_trials_of_impossible_arms_are_refused():
    script = EventBatch()
    script.tell([0, 1, 2], [1.0, 1.0, 1.0])
    script.ask(0, 2, [10**7])
    with pytest.raises(ProblemError, match="arms must be from 0 to 2"):
        Engine(QUESTION).follow(script)


def test_the_compiled_loop_refuses_what_it_would_misread():
    rng, engine = np.random.default_rng(0), Engine(QUESTION)
    good, other = Gaussian([0.4, 0.5, 0.8]).source(), Gaussian([0.4, 0.5]).source()
    with pytest.raises(ProblemError, match="no test of its own"):
        engine.advance(good, rng, 100, 100, True)
    with pytest.raises(ProblemError, match="source must be of 3 arms; got 2"):
        engine.advance(other, rng, 100, 100, False)
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
    for memory in (Engine(QUESTION, "lucb"), Engine(wider)):
        with pytest.raises(ProblemError, match="memory must be an engine"):
            engine.reset([9, 9, 9], [1, 1, 1], memory)
    assert engine.samples == 1


def test_more_measurements_than_can_be_counted_are_refused():
    engine = Engine(QUESTION)
    engine.observe(0, 1.0, 2**53)
    with pytest.raises(ProblemError, match="times must leave at most"):
        engine.observe(0, 1.0)


def test_a_step_that_is_refused_leaves_nothing_behind() -> None:
    script = EventBatch()
    with pytest.raises(ValueError, match="could not convert"):
        script.tell([0, 1], (float(text) for text in ("0.5", "n/a")))
    script.tell([0, 1], [Fraction(1, 2), Decimal("0.7")])
    assert len(list(script)) == 1
    engine = Engine(QUESTION)
    engine.follow(script)
    assert engine.sums.tolist() == [0.5, 0.7, 0.0]
