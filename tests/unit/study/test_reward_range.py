"""Values in a declared range: the noise follows, and others are refused."""

from typing import Any

import pytest

import mislid
from mislid.errors import ProblemError

ARMS = ["a", "b", "c"]


def study_of(**changes: Any) -> mislid.study.Study:
    return mislid.create_study(**{"candidates": ARMS, "m": 1, "noise": (-1.0, 3.0), **changes})


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_values_outside_are_refused_and_nothing_is_lost(direction: str) -> None:
    study = study_of(direction=direction)
    trial = study.ask()
    for value in (-1.01, 3.01):
        with pytest.raises(ProblemError, match=r"value must be within .* -1\.0 to 3\.0; got"):
            study.tell(trial, value)
    with pytest.raises(ProblemError, match=r"value of observation 1 must be within .*; got 9\.0"):
        study.add_observations([("a", 1.0), ("b", 9.0)])
    assert [one.id for one in study.pending] == [trial.id]
    assert study.samples == 0
    study.tell(trial, 3.0)
    study.add_observations([("a", -1.0)])
    study.tell(trial, 3.0)
    assert study.samples == 2


def test_a_measurement_outside_ends_the_loop_and_stays_open() -> None:
    study = study_of()
    with pytest.raises(ProblemError, match="value must be within"):
        study.optimize(lambda trial: 7.0, catch=(ProblemError,))
    assert len(study.pending) == 1
    study.tell(study.pending[0], state="fail")
    assert study.samples == 0
