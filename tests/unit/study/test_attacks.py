"""What someone tries who wants a study to claim more than its data prove, kept as tests."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import mislid
from helpers.tampering import sealed
from mislid.errors import ConflictingTellError, ContradictedWarning, ProblemError
from mislid.study import Study

NAMES = ["a", "b"]


def contradicted() -> Study:
    """The noise was refuted early; by all data it would not be."""
    study = mislid.create_study(candidates=NAMES, m=1, noise=0.1)
    with pytest.warns(ContradictedWarning):
        study.add_observations([("a", value) for value in (0.0, 1.0, -1.0, 0.5)])
    study.add_observations([("a", 0.1), ("b", 0.4)] * 400)
    assert study.status == "contradicted"
    return study


@pytest.mark.parametrize(
    "mend",
    [
        lambda study: study.correct(row=5, value=0.4000000001),
        lambda study: study.void(row=9),
        lambda study: study.redeclare(noise=0.1000000001),
    ],
)
def test_an_innocent_mend_does_not_wash_a_contradiction_away(
    mend: Callable[[Study], object],
) -> None:
    study = contradicted()
    with pytest.warns(ContradictedWarning):
        mend(study)
    assert study.status == "contradicted"
    assert study.result is None or not study.result.proven


def test_the_mend_that_is_due_does() -> None:
    study = contradicted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is contradicted until the last of them
        for row in range(4):
            study.void(row=row)
    assert study.status == "decided"


def test_a_value_of_any_size_is_tested_at_once() -> None:
    for value in (1e4, 1e8, 1e74):
        study = mislid.create_study(candidates=NAMES, m=1, noise=1.0)
        study.add_observations([("a", 1.0), ("b", 0.0)] * 3)
        with pytest.warns(ContradictedWarning):
            study.add_observations([("a", value)])


def test_parts_of_an_aggregate_stay_together() -> None:
    study = mislid.create_study(candidates=NAMES, m=1, noise=1.0)
    trial = study.ask()
    study.tell(trial, 0.0, n=4, sd=1.0)
    for mend in (lambda: study.void(row=0), lambda: study.correct(row=0, value=7.0)):
        with pytest.raises(ProblemError, match="one of several"):
            mend()
    study.void(trial)
    assert study.samples == 0


def test_another_number_of_values_is_no_repetition() -> None:
    study = mislid.create_study(candidates=NAMES, m=1, noise=1.0)
    first, second = study.ask(2)
    study.tell(first, 0.7)
    study.tell(second, 0.7, n=4)
    for trial, n in ((first, 401), (second, 9)):
        with pytest.raises(ConflictingTellError):
            study.tell(trial, 0.7, n=n)
    assert study.samples == 5


@pytest.mark.parametrize(
    "call",
    [
        lambda study: study.add_counts("a", 10, 1e200, 1e300),
        lambda study: study.add_counts("a", 2, 1e160, 1e308),
        lambda study: study.tell(study.ask(), 1.0, n=10, sd=1e200),
        lambda study: study.tell(study.ask(), 1.0, sd=0.1),
        lambda study: study.correct(np.array([1.0]), 0.0),
    ],
)
def test_numbers_that_are_none_are_refused_in_a_sentence(call: Callable[[Study], object]) -> None:
    study = mislid.create_study(candidates=NAMES, m=1, noise=1.0)
    with pytest.raises(ProblemError):
        call(study)
    assert study.samples == 0


def test_nothing_is_ranked_by_what_is_refuted() -> None:
    study = contradicted()
    for ask in (study.ranking, lambda: study.threshold(0.2)):
        with pytest.raises(ProblemError, match="proves nothing"):
            ask()
    assert study.result_now().p_value == 1.0


def test_means_that_move_scatter() -> None:
    study = mislid.create_study(candidates=NAMES, m=1, noise=0.01)
    study.add_observations([("a", 0.0), ("b", 1.0)] * 3)
    found = study.result.certificate.to_dict()
    found["now"]["counts"][0] += 2
    found["now"]["samples"] += 2
    found["now"]["sums"][0] += 1000.0
    assert "the mean has moved" in mislid.verify(sealed(found)).failure
    rng = np.random.default_rng(0)
    study = mislid.create_study(candidates=NAMES, m=1, noise="unknown")
    values = {"a": 0.1 * rng.normal(size=40), "b": 1.0 + 0.1 * rng.normal(size=40)}
    for arm, told in values.items():
        study.add_observations([(arm, value) for value in told])
    found = study.result.certificate.to_dict()
    found["now"]["counts"][1] += 1
    found["now"]["samples"] += 1
    found["now"]["sums"][1] -= 1e6
    assert "the mean has moved" in mislid.verify(sealed(found)).failure


def test_another_misspecification_does_not_mend_a_noise_that_is_refuted() -> None:
    line = {"a": [0.0], "b": [1.0], "c": [2.0]}
    study = mislid.create_study(candidates=line, m=1, noise=0.01, delta=1e-6)
    with pytest.warns(ContradictedWarning):
        study.add_observations([("a", 0.0), ("b", 1.0), ("c", 2.0), ("a", 0.3), ("c", 2.3)])
    study.redeclare(misspecification=10.0)
    assert study.status == "contradicted"
