"""What a study can be about, and what is refused before anything is stored."""

import math
from typing import Any

import pytest

import mislid
from helpers.questions import QUESTION
from mislid.errors import ProblemError
from mislid.study.candidates import as_candidates
from mislid.study.events import Created, Event, entry_of, event_of
from mislid.study.settings import as_settings
from mislid.study.storage import MemoryStorage

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 3}, "m must be an integer from 1 to 2 with K=3 arms; got m=3"),
        ({"delta": 1}, "delta must be a number at least 1e-300 and below 1; got 1"),
        ({"direction": "up"}, "direction must be one of maximize, minimize; got 'up'"),
        ({"algorithm": "oracle"}, "algorithm must be one of mislid, .*; got 'oracle'"),
        ({"m": 2, "algorithm": "lingame"}, "m must be 1 for an algorithm with a learner per"),
    ],
)
def test_bad_questions_leave_nothing_behind(change: dict[str, Any], message: str) -> None:
    storage = MemoryStorage()
    with pytest.raises(ProblemError, match=message):
        mislid.create_study(**{**QUESTION, "candidates": FEATURES, "storage": storage, **change})
    assert storage.names() == {}


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"delta": 0.1}, "delta was 0.05 and now is 0.1"),
        ({"noise": [0.1, 0.2, 0.3]}, "noise was 0.1 and now is (0.1, 0.2, 0.3)"),
        ({"candidates": [*FEATURES, [2, 2]]}, "the number of candidates was 3 and now is 4"),
        (
            {"candidates": [[1, 0], [0, 1], [1, 7]]},
            "feature 1 of candidate 2 was 1.0 and now is 7.0",
        ),
    ],
)
def test_going_on_with_other_settings_names_the_difference(
    change: dict[str, Any], difference: str
) -> None:
    given = {
        **QUESTION,
        "study_name": "s",
        "candidates": FEATURES,
        "storage": MemoryStorage(),
        "load_if_exists": True,
        "intercept": False,
    }
    study = mislid.create_study(**given)
    study.ask()
    assert len(mislid.create_study(**given).pending) == 1
    with pytest.raises(ProblemError) as caught:
        mislid.create_study(**{**given, **change})
    assert str(caught.value) == (
        "study_name must be new or of a study with the same settings; got 's', where " + difference
    )
    with pytest.raises(ProblemError, match="study_name must be new; got 's'"):
        mislid.create_study(**{**given, "load_if_exists": False})


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"misspecification": math.inf, "noise": [0.1, 0.2, 1 / 3]},
        {"mean_bound": 2.5, "direction": "minimize", "algorithm": "mislid-paper", "seed": 2**70},
    ],
)
def test_settings_are_read_as_they_were_written(change: dict[str, Any]) -> None:
    candidates = as_candidates({"ä": [1 / 3, 1e-300], "b": [5e-324, 1e300], "c": [0.0, -0.1]})
    fact = Created(as_settings(candidates, **{**QUESTION, **change}), candidates)
    entry = entry_of(Event(1, 0.1, fact))
    read = event_of(entry)
    assert read.fact == fact
    assert entry_of(read) == entry
