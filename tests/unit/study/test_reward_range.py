"""Values in a declared range: the noise follows, and others are refused."""

import json
import math
from typing import Any

import pytest

import mislid
from mislid.errors import ProblemError
from mislid.study.events import Entry, Event, entry_of, event_of
from mislid.study.facts import Created
from mislid.study.storage import MemoryStorage

ARMS = ["a", "b", "c"]


def study_of(**changes: Any) -> mislid.study.Study:
    return mislid.create_study(
        **{"candidates": ARMS, "m": 1, "reward_range": (-1.0, 3.0), **changes}
    )


def test_noise_is_half_of_the_range() -> None:
    study = study_of()
    assert (study.settings.noise, study.settings.reward_range) == ((2.0,), (-1.0, 3.0))
    assert mislid.create_study(candidates=ARMS, m=1, noise=1.0).settings.noise == (1.0,)
    assert mislid.create_study(candidates=ARMS, m=1, noise=0.5).settings.noise == (0.5,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": 1.0}, r"noise must be left out where reward_range is given.* got 1\.0"),
        ({"reward_range": (1, 1)}, r"reward_range must be \(low, high\) with low below high"),
        ({"reward_range": (2, 1)}, r"reward_range must be .* got \(2, 1\)"),
        ({"reward_range": (0, math.inf)}, "reward_range must be finite"),
        ({"reward_range": (-1e308, 1e308)}, "reward_range must be"),
        ({"reward_range": (0, 1, 2)}, "reward_range must have 2 entries"),
        ({"reward_range": 5}, "reward_range must be a vector"),
        ({"reward_range": ("0", "1")}, "reward_range must hold real numbers"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        study_of(**changes)


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


def test_values_in_the_range_never_contradict_it() -> None:
    study = study_of(reward_range=(0, 1))
    study.add_observations([(arm, value) for arm in ARMS for value in (0.0, 1.0)] * 100)
    assert study.warnings(level=0.9) == ()


def test_it_is_written_down_only_where_it_was_given() -> None:
    def written(study: mislid.study.Study) -> tuple[Entry, dict[str, Any]]:
        event = study.events()[0]
        entry = entry_of(event)
        assert event_of(entry) == event
        return entry, json.loads(entry.body)["settings"]

    entry, settings = written(study_of())
    assert settings["reward_range"] == [-1.0, 3.0]
    fact = event_of(entry).fact
    assert isinstance(fact, Created)
    assert fact.settings.reward_range == (-1.0, 3.0)
    _, settings = written(mislid.create_study(candidates=ARMS, m=1, noise=1.0))
    assert "reward_range" not in settings


def test_a_log_from_before_there_were_ranges() -> None:
    body = (
        '{"settings":{"m":1,"delta":0.05,"misspecification":"inf","noise":[1.0],"tolerance":0.0,'
        '"direction":"maximize","algorithm":"mislid","stopping":"guaranteed","seed":0,'
        '"mean_bound":"inf"},"candidates":{"labels":["a","b","c"],"features":null}}'
    )
    storage = MemoryStorage()
    storage.create("s", [Entry(1, 0.0, "created", body)])
    again = {"study_name": "s", "candidates": ARMS, "m": 1, "storage": storage}
    study = mislid.create_study(**again, load_if_exists=True, noise=1)
    study.tell(study.ask(), 5.0)
    assert entry_of(study.events()[0]).body == body
    with pytest.raises(ProblemError, match=r"where reward_range was None and now is \(-1\.0, 1\.0"):
        mislid.create_study(**again, load_if_exists=True, reward_range=(-1, 1))
    assert mislid.create_study(**again, load_if_exists=True, noise=1).samples == 1


def test_going_on_with_another_range() -> None:
    again = {"study_name": "s", "storage": MemoryStorage(), "load_if_exists": True}
    study_of(**again)
    study_of(**again)
    with pytest.raises(
        ProblemError, match=r"reward_range was \(-1\.0, 3\.0\) and now is \(0\.0, 4"
    ):
        study_of(**again, reward_range=(0, 4))


def test_an_event_keeps_the_range() -> None:
    study = study_of()
    fact = Created(study.settings, study.candidates)
    assert event_of(entry_of(Event(1, 0.5, fact))).fact == fact
