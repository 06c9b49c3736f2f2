"""What a study can be about, and what is refused before anything is stored."""

import math
import re
from typing import Any

import pandas as pd
import pytest

import mislid
from helpers.questions import QUESTION
from mislid.algorithms import MisLid
from mislid.engine import View
from mislid.errors import ProblemError
from mislid.question import Question
from mislid.study.candidates import as_candidates
from mislid.study.events import Created, Entry, Event, entry_of, event_of
from mislid.study.settings import as_settings
from mislid.study.storage import MemoryStorage

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


class Picky:
    """A rule for m = 2."""

    def propose(self, view: View) -> int:
        return 0

    def check(self, question: Question) -> None:
        if question.m != 2:
            raise ProblemError(f"m must be 2 for a picky rule; got {question.m}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 3}, "m must be an integer from 1 to 2 with K=3 arms; got m=3"),
        ({"delta": 1}, "delta must be a number at least 1e-300 and below 1; got 1"),
        ({"misspecification": "some"}, "misspecification must be how far .* or 'unknown'"),
        ({"noise": None}, "noise must be given"),
        ({"misspecification": -1}, "misspecification must be"),
        ({"noise": 0}, "noise must be"),
        ({"noise": [1, 2]}, "noise must have 3 entries"),
        ({"tolerance": math.inf}, "tolerance must be"),
        ({"direction": "up"}, "direction must be one of maximize, minimize; got 'up'"),
        ({"algorithm": "oracle"}, "algorithm must be one of mislid, .*; got 'oracle'"),
        ({"algorithm": mislid.Model}, "algorithm must be one of"),
        ({"algorithm": Picky}, r"an object with propose\(view\); got <class"),
        ({"algorithm": Picky()}, "m must be 2 for a picky rule; got 1"),
        ({"algorithm": MisLid()}, r"a name or an object with propose\(view\) for a study.*MisLid"),
        ({"stopping": Picky()}, r"or an object with judge\(view\); got <.*Picky"),
        ({"stopping": "soon"}, "stopping must be one of guaranteed, .*; got 'soon'"),
        ({"seed": -1}, "seed must be an integer at least 0; got -1"),
        ({"seed": None}, "seed must be an integer at least 0; got None"),
        ({"mean_bound": 0}, "mean_bound must be"),
        ({"m": 2, "algorithm": "lingame"}, "m must be 1 for an algorithm with a learner per"),
        ({"study_name": " "}, "study_name must be a text that is not empty; got ' '"),
        ({"study_name": 3}, "study_name must be a text that is not empty; got 3"),
    ],
)
def test_bad_questions_leave_nothing_behind(change: dict[str, Any], message: str) -> None:
    storage = MemoryStorage()
    with pytest.raises(ProblemError, match=message):
        mislid.create_study(**{**QUESTION, "candidates": FEATURES, "storage": storage, **change})
    assert storage.names() == {}


def test_rules_that_need_features() -> None:
    with pytest.raises(ProblemError, match=r"algorithm must be one of .*; got 'lingape'"):
        mislid.create_study(candidates=["a", "b"], m=1, algorithm="lingape", noise=1.0)
    with pytest.raises(ProblemError, match=r"misspecification must be left out, or inf.*got 0\.1"):
        mislid.create_study(candidates=["a", "b"], m=1, misspecification=0.1, noise=1.0)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"delta": 0.1}, "delta was 0.05 and now is 0.1"),
        ({"m": 2}, "m was 1 and now is 2"),
        ({"noise": [0.1, 0.2, 0.3]}, "noise was 0.1 and now is (0.1, 0.2, 0.3)"),
        ({"direction": "minimize"}, "direction was 'maximize' and now is 'minimize'"),
        ({"misspecification": math.inf}, "misspecification was 0.1 and now is inf"),
        ({"candidates": [*FEATURES, [2, 2]]}, "the number of candidates was 3 and now is 4"),
        ({"names": ["a", "b", "c"]}, "the label of candidate 0 was 0 and now is 'a'"),
        (
            {"candidates": [[1], [2], [3]]},
            "the shape of the features was (3, 2) and now is (3, 1)",
        ),
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


@pytest.mark.parametrize(
    ("kind", "body"),
    [("told", "{"), ("told", "[]"), ("told", '{"trial":1}'), ("sold", "{}"), ("created", "{}")],
)
def test_an_entry_that_cannot_be_read(kind: str, body: str) -> None:
    with pytest.raises(mislid.errors.CorruptStorageError, match=r"event 4 .* cannot be read"):
        event_of(Entry(4, 0.0, kind, body))


LABELLED = {"D": 0.4, "C": 0.3, "B": 0.2, "A": 0.1}


@pytest.mark.parametrize("given", [LABELLED, pd.Series(LABELLED)], ids=["dict", "Series"])
def test_numbers_with_labels_go_to_their_candidates(given) -> None:
    table = pd.DataFrame({"x": [1.0, 0.0, 1.0, 0.5]}, index=list("ABCD"))
    study = mislid.create_study(
        candidates=table, m=1, misspecification=0.1, noise=given, cost=given
    )
    assert study.settings.noise == (0.1, 0.2, 0.3, 0.4)
    assert study.settings.cost == (0.1, 0.2, 0.3, 0.4)
    study.add_candidates({"F": [0.1], "E": [0.2]}, noise={"E": 0.5, "F": 0.6},
                         cost=pd.Series({"E": 5.0, "F": 6.0}), informed=False)  # fmt: skip
    assert study.settings.noise[4:] == (0.6, 0.5)
    assert study.settings.cost[4:] == (6.0, 5.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"A": 0.1, "B": 0.2, "C": 0.3}, "it lacks 'D'"),
        ({**LABELLED, "E": 1.0}, "it has 'E', which is none"),
        (pd.Series([0.1] * 5, index=list("ABCDA")), "labels repeat"),
        (pd.Series([0.1] * 4, index=list("ABCE")), "it lacks 'D'"),
    ],
)
def test_other_labels_are_refused(given, words) -> None:
    expected = f"noise must have one number for every candidate; {words}"
    with pytest.raises(ProblemError, match=re.escape(expected)):
        mislid.create_study(candidates=list("ABCD"), m=1, noise=given)


def test_a_series_without_labels_is_taken_as_it_comes() -> None:
    study = mislid.create_study(candidates=list("AB"), m=1, noise=pd.Series([0.1, 0.2]))
    assert study.settings.noise == (0.1, 0.2)
