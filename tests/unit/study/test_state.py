"""The log alone says what a study has come to."""

import pytest

from helpers.questions import QUESTION
from mislid.study.candidates import as_candidates
from mislid.study.events import (
    Asked,
    Created,
    Decided,
    Event,
    Failed,
    Observed,
    Renewed,
    Told,
    entry_of,
    event_of,
)
from mislid.study.settings import as_settings
from mislid.study.state import StudyState

ARMS = as_candidates(["a", "b", "c"])
SETTINGS = as_settings(ARMS, **{**QUESTION, "delta": 0.1, "misspecification": None, "noise": 1.0})
FIRST = Decided((1,), 3, "guaranteed", 5.0, 4.5, (0, 1))
FACTS = [
    Created(SETTINGS, ARMS),
    Asked((0, 1), (0, 2), (None, None), "lab", 50.0),
    Renewed((1,), "lab", 90.0),
    Told(0, 0.25),
    Asked((2, 3), (2, 1), (1, None), None, None),
    Failed(3),
    Told(1, 0.5),
    Observed((1, 1), (7.0, 8.0)),
    FIRST,
    Decided((2,), 4, "guaranteed", float("inf"), 4.5, (0, 2)),
]
EVENTS = [Event(k, float(k), fact) for k, fact in enumerate(FACTS, start=1)]


def replayed(events: list[Event]) -> StudyState:
    state = StudyState()
    for event in events:
        state.apply(event)
    return state


def test_a_replay() -> None:
    state = replayed(EVENTS)
    assert (state.sequence, state.time, state.created_at) == (10, 10.0, 1.0)
    assert [trial.state for trial in state.trials] == ["complete", "complete", "open", "fail"]
    assert [trial.expires for trial in state.trials] == [50.0, 90.0, None, None]
    assert list(state.waiting) == [2]
    assert state.waiting_arms() == [2]
    found = [(one.sequence, one.trial, one.arm, one.value) for one in state.observations]
    assert found == [(4, 0, 0, 0.25), (7, 1, 2, 0.5), (8, None, 1, 7.0), (8, None, 1, 8.0)]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event.fact).__name__)
def test_events_are_read_as_they_were_written(event: Event) -> None:
    assert event_of(entry_of(event)) == event
