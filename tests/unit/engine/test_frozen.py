"""An engine that was thawed is the one that was frozen."""

from typing import Any

import numpy as np
import pytest

from mislid import Model
from mislid.engine import Engine, View
from mislid.errors import ProblemError
from mislid.question import Question

MODEL = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -0.5]], misspecification=0.1)


def new_engine(**rules: object) -> Engine:
    return Engine(Question(MODEL, m=1, noise=0.5), **rules)


def drive(engine: Engine, steps: int) -> list[int]:
    arms = []
    for _ in range(steps):
        arm = engine.propose() if engine.is_estimated else engine.samples % 4
        arms.append(arm)
        engine.observe(arm, float(np.sin(engine.samples)))
        engine.judge()
    return arms


@pytest.mark.parametrize("stopping", ["guaranteed", "paper", "heuristic"])
@pytest.mark.parametrize(
    "algorithm", ["mislid", "lucb", "lingape", "lingifa", "uniform", "rage", "ugape", "xy-static"]
)
def test_it_goes_on_from_there(algorithm: str, stopping: str) -> None:
    first = new_engine(algorithm=algorithm, stopping=stopping)
    drive(first, 30)
    kept = first.freeze()
    assert all(isinstance(value, np.ndarray) for value in kept.values())
    second = new_engine(algorithm=algorithm, stopping=stopping)
    second.thaw(kept)
    assert second.freeze().keys() == kept.keys()
    assert drive(second, 30) == drive(first, 30)
    np.testing.assert_array_equal(first.estimate, second.estimate)
    assert first.verdict == second.verdict


def test_a_noise_that_was_estimated_is_kept() -> None:
    question = Question(MODEL, m=1, noise="unknown-equal")
    first, second = Engine(question), Engine(question)
    drive(first, 60)
    second.thaw(first.freeze())
    np.testing.assert_array_equal(first.weights, second.weights)
    assert drive(second, 60) == drive(first, 60)
    assert first.settled() == second.settled()


def test_what_is_of_another_engine_is_refused() -> None:
    engine = new_engine()
    drive(engine, 10)
    kept = engine.freeze()
    other = Engine(Question(Model(np.eye(3), misspecification=0.1), m=1, noise=0.5))
    with pytest.raises(ProblemError, match="must be of an engine like this one"):
        other.thaw(kept)
    with pytest.raises(ProblemError, match="must be of an engine like this one"):
        new_engine().thaw({"rules.state.nothing": np.zeros(2), "decided": np.array(False)})


@pytest.mark.parametrize(
    "wrong",
    [
        {"decided": np.zeros(2)},
        {"decided": True},
        {"rules.state.counts": [1.0, 2.0, 3.0, 4.0]},
        {b"rules.state.counts": np.zeros(4)},
        {"rules.gamma.nothing": np.zeros(2)},
    ],
)
def test_what_nobody_has_frozen_is_refused(wrong: dict[Any, Any]) -> None:
    with pytest.raises(ProblemError, match=r"must (come from freeze|be) of an engine"):
        new_engine().thaw({"decided": np.array(False), **wrong})


def test_rules_in_python_are_refused() -> None:
    class Turns:
        def propose(self, view: View) -> int:
            return view.samples % 4

    with pytest.raises(ProblemError, match="written in Python"):
        new_engine(algorithm=Turns()).freeze()
