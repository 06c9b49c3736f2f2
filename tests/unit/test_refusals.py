"""Arguments of public functions that once ended in tracebacks, or never ended."""

import time
from typing import Any

import numpy as np
import pytest

import mislid
from mislid.errors import CertificateError, ProblemError

MODEL = mislid.Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1)
MEANS = [0.4, 0.5, 0.8]
INSTANCE = mislid.Instance(MODEL, MEANS, 0.3)
# pytest has no name for it otherwise.
ENDLESS = pytest.param(10**5000, id="endless")
OTHERS: list[Any] = [None, "model", 3, [[1.0]], np.eye(2), INSTANCE]


@pytest.mark.parametrize("model", OTHERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "call",
    [
        lambda model: mislid.project(model, MEANS, [1, 1, 1]),
        lambda model: mislid.pair_alternative(model, MEANS, [1, 1, 1], 0, 1),
        lambda model: mislid.closest_alternative(model, MEANS, [1, 1, 1], 1),
        lambda model: mislid.geometry.AlternativeSearch(model, 1),
        lambda model: mislid.characteristic_time(model, MEANS, 1),
        lambda model: mislid.Question(model, 1),
        lambda model: mislid.Instance(model, MEANS),
    ],
)
def test_what_is_no_model(call: Any, model: Any) -> None:
    with pytest.raises(
        ProblemError, match=rf"model must be a mislid.Model; got {type(model).__name__}"
    ):
        call(model)


@pytest.mark.parametrize("seed", ["x", -1, 1.5, True, b"1", [-1], object(), ENDLESS])
def test_what_is_no_seed(seed: Any) -> None:
    with pytest.raises(ProblemError, match="seed must be an integer at least 0; got"):
        mislid.identify(INSTANCE, 1, seed=seed)
    with pytest.raises(ProblemError, match="seed must be an integer at least 0"):
        mislid.Engine(mislid.Question(MODEL, 1), seed=seed)
    with pytest.raises(ProblemError, match="seed must be an integer at least 0"):
        mislid.create_study(candidates=["a", "b"], m=1, noise=1.0, seed=seed)


@pytest.mark.parametrize("stopping", [None, 3, [], "soon", ENDLESS, np.ones(3), object()])
def test_what_is_no_stopping_rule(stopping: Any) -> None:
    with pytest.raises(ProblemError, match="stopping must be one of guaranteed"):
        mislid.identify(INSTANCE, 1, stopping=stopping)


def test_weights_too_far_apart_for_least_squares() -> None:
    model = mislid.Model([[2.0, 1.0], [0.0, -1.0], [-1.0, -2.0]], 0.2)
    with pytest.raises(CertificateError, match="weights are too far apart for double precision"):
        mislid.project(model, [-1.4, -2.6, 1.9], [1e300, 1e-300, 1e-300])


@pytest.mark.parametrize("noise", [5e-324, 1e-160, 1e-155, 1e155, [1.0, 1e-200, 1.0]])
def test_noise_whose_square_is_no_number(noise: Any) -> None:
    match = r"noise must be between 1e-70 and 1e.70 \(use another unit\); got"
    with pytest.raises(ProblemError, match=match):
        mislid.Question(MODEL, 1, noise=noise)
    with pytest.raises(ProblemError, match=match):
        mislid.Instance(MODEL, MEANS, noise)
    with pytest.raises(ProblemError, match=match):
        mislid.characteristic_time(MODEL, MEANS, 1, noise=noise)
    study = mislid.create_study(candidates=["a", "b", "c"], m=1, noise=1.0)
    with pytest.raises(ProblemError, match=match):
        study.redeclare(noise=noise)


@pytest.mark.parametrize("means", [[1e300, 0.0, 1.0], [0.0, -1e151, 1.0]])
def test_means_whose_squares_are_no_numbers(means: list[float]) -> None:
    match = r"means must be from -1e.150 to 1e.150 \(use another unit\); got .*1e"
    for call in (
        lambda: mislid.project(MODEL, means, [1, 1, 1]),
        lambda: mislid.closest_alternative(MODEL, means, [1, 1, 1], 1),
        lambda: mislid.characteristic_time(MODEL, means, 1),
    ):
        with pytest.raises(ProblemError, match=match):
            call()


def test_more_pairs_than_there_is_memory_for() -> None:
    match = "at most 100,000,000 pairs .* got m=50000 and K=100000, which have 2,500,000,000: look"
    labels = [str(k) for k in range(100_000)]
    started = time.monotonic()
    with pytest.raises(ProblemError, match=match):
        mislid.create_study(candidates=labels, m=50_000, noise=1.0)
    with pytest.raises(ProblemError, match=match):
        mislid.Question(mislid.Model(np.ones((100_000, 1)), 1.0), 50_000)
    mislid.create_study(candidates=labels, m=1000, noise=1.0)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("text", ["\ud800", "a\udcff"])
def test_halves_of_surrogates(text: str) -> None:
    match = "must be text of Unicode characters; got"
    with pytest.raises(ProblemError, match=f"study_name {match}"):
        mislid.create_study(study_name=text, candidates=["a", "b"], m=1, noise=1.0)
    with pytest.raises(ProblemError, match=f"the labels of candidates {match}"):
        mislid.create_study(candidates=[text, "b"], m=1, noise=1.0)
    with pytest.raises(ProblemError, match=f"columns {match}"):
        mislid.create_study(candidates=[[1.0], [2.0]], columns=[text], m=1, noise=1.0)
    with pytest.raises(ProblemError, match=f"names {match}"):
        mislid.Instance(MODEL, MEANS, names=[text, "b", "c"])
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=1.0)
    with pytest.raises(ProblemError, match=f"worker {match}"):
        study.ask(worker=text)
    with pytest.raises(ProblemError, match=f"reason {match}"):
        study.redeclare(noise=2.0, reason=text)


def test_integers_without_end() -> None:
    for call in (
        lambda: mislid.create_study(candidates=["a", "b"], m=10**5000, noise=1.0),
        lambda: mislid.load_instance(10**5000),
        lambda: mislid.Question(MODEL, 10**5000),
    ):
        with pytest.raises(ProblemError, match=r"got (m=)?an integer of 16610 bits"):
            call()
