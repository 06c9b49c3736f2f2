"""A question is checked once, and never changes."""

import dataclasses
import pickle

import numpy as np
import pytest

from mislid import Model
from mislid.errors import ProblemError
from mislid.question import Question

MODEL = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)


def test_nothing_can_be_changed() -> None:
    given = np.array([0.1, 0.2, 0.3])
    question = Question(MODEL, 1, noise=given)
    given[0] = 7.0
    assert question.noise.tolist() == [0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match="read-only"):
        question.noise[0] = 7.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        question.m = 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": [[1.0], [2.0]]}, r"model must be a mislid\.Model; got list"),
        ({"noise": 0.0}, "noise must be"),
        ({"noise": [1.0, 2.0]}, "noise must have 3 entries"),
        ({"delta": 0.0}, "delta must be a number at least 1e-300 and below 1; got 0"),
        ({"tolerance": -1.0}, "tolerance must be .*got -1"),
        ({"mean_bound": -1.0}, "mean_bound must be .*got -1"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], message: str) -> None:
    given = {"model": MODEL, "m": 1, **changes}
    with pytest.raises(ProblemError, match=message):
        Question(given.pop("model"), given.pop("m"), **given)


@pytest.mark.parametrize(
    ("noise", "deviation", "kind", "ends"),
    [
        ("unknown", 1.0, "unknown", None),
        ("unknown-equal", 1.0, "unknown-equal", None),
        ("bernoulli", 0.5, "bernoulli", (0.0, 1.0)),
        ((-1, 5), 3.0, "bounded", (-1.0, 5.0)),
        ([0.3, 0.3], 0.3, "known", None),
    ],
)
def test_noise_models(noise, deviation, kind, ends):
    question = Question(Model([[1, 0], [0, 1]], 0.1), 1, noise=noise)
    for one in (question, question.replace(delta=0.1), pickle.loads(pickle.dumps(question))):
        assert one.noise.tolist() == [deviation, deviation]
        assert (one.noise_model, one.reward_range) == (kind, ends)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise": "loud"}, "noise must be a standard deviation, one for each arm, 'unknown'"),
        ({"noise": (1, 1)}, "low below high"),
        ({"noise": (-1e308, 1e308)}, "low below high"),
        ({"noise": "bernoulli", "tolerance": 1.0}, "tolerance must be less than the range"),
    ],
)
def test_noise_models_that_are_none(given, message):
    with pytest.raises(ProblemError, match=message):
        Question(Model([[1, 0], [0, 1]], 0.1), 1, **given)
