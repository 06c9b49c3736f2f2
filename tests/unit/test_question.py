"""A question is checked once, and never changes."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

from mislid import Model
from mislid.errors import ProblemError
from mislid.question import Question

MODEL = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)


def test_defaults() -> None:
    question = Question(MODEL, 2)
    assert (question.K, question.m, question.delta) == (3, 2, 0.05)
    assert (question.tolerance, question.mean_bound) == (0.0, math.inf)
    assert question.noise.tolist() == [1.0, 1.0, 1.0]


def test_nothing_can_be_changed() -> None:
    given = np.array([0.1, 0.2, 0.3])
    question = Question(MODEL, 1, noise=given)
    given[0] = 7.0
    assert question.noise.tolist() == [0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match="read-only"):
        question.noise[0] = 7.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        question.m = 2


def test_what_a_question_does_not_have_cannot_be_replaced() -> None:
    question = Question(MODEL, 1)
    with pytest.raises(ProblemError, match=r"changes must be among model, m, .*; got eps, rate$"):
        question.replace(rate=0.1, eps=0.2, delta=0.1)


def test_replaced_values_are_checked_anew() -> None:
    question = Question(MODEL, 1, noise=0.2, delta=0.1, tolerance=0.5, mean_bound=3.0)
    other = question.replace(delta=0.01)
    assert (other.delta, other.tolerance, other.mean_bound) == (0.01, 0.5, 3.0)
    assert other.noise.tolist() == question.noise.tolist()
    with pytest.raises(ProblemError, match="m must be an integer from 1 to 2 with K=3 arms"):
        question.replace(m=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": [[1.0], [2.0]]}, r"model must be a mislid\.Model; got list"),
        ({"m": 0}, "m must be an integer from 1 to 2 with K=3 arms; got m=0"),
        ({"noise": 0.0}, "noise must be"),
        ({"noise": [1.0, 2.0]}, "noise must have 3 entries"),
        ({"delta": 0.0}, "delta must be a number at least 1e-300 and below 1; got 0"),
        ({"delta": 1.0}, "delta must be a number at least 1e-300 and below 1; got 1"),
        ({"tolerance": -1.0}, "tolerance must be .*got -1"),
        ({"mean_bound": -1.0}, "mean_bound must be .*got -1"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], message: str) -> None:
    given = {"model": MODEL, "m": 1, **changes}
    with pytest.raises(ProblemError, match=message):
        Question(given.pop("model"), given.pop("m"), **given)


@pytest.mark.parametrize(
    ("given", "noise", "kind", "ends"),
    [
        ({"noise": "unknown"}, 1.0, "unknown", None),
        ({"noise": "unknown-equal"}, 1.0, "unknown-equal", None),
        ({"noise_model": "unknown-equal"}, 1.0, "unknown-equal", None),
        ({"noise_model": "unknown"}, 1.0, "unknown", None),
        ({"noise_model": "bernoulli"}, 0.5, "bernoulli", (0.0, 1.0)),
        ({"noise_model": "bounded"}, 0.5, "bounded", (0.0, 1.0)),
        ({"noise_model": "bounded", "reward_range": [-1, 5]}, 3.0, "bounded", (-1.0, 5.0)),
    ],
)
def test_noise_models(given, noise, kind, ends):
    question = Question(Model([[1, 0], [0, 1]], 0.1), 1, **given)
    for one in (question, question.replace(delta=0.1), pickle.loads(pickle.dumps(question))):
        assert one.noise.tolist() == [noise, noise]
        assert (one.noise_model, one.reward_range) == (kind, ends)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise": "loud"}, "noise must be a number, one number per arm, 'unknown' or 'unknown-eq"),
        ({"noise": "unknown", "noise_model": "unknown-equal"}, "noise must be a number"),
        ({"noise_model": "normal"}, "noise_model must be one of 'known'"),
        ({"noise_model": "bounded", "noise": 0.3}, "noise must be left out"),
        ({"reward_range": (0, 1)}, "reward_range is for noise_model='bounded'"),
        ({"noise_model": "bounded", "reward_range": (1, 1)}, "low < high"),
        ({"noise_model": "bounded", "reward_range": (1, 2, 3)}, "reward_range must"),
        ({"noise_model": "bernoulli", "reward_range": (0, 2)}, "values 0 and 1"),
        ({"noise_model": "bernoulli", "tolerance": 1.0}, "tolerance must be less than the range"),
    ],
)
def test_noise_models_that_are_none(given, message):
    with pytest.raises(ProblemError, match=message):
        Question(Model([[1, 0], [0, 1]], 0.1), 1, **given)
