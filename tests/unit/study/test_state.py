"""The log alone says what a study has come to."""

import pytest

from helpers.questions import QUESTION
from mislid.errors import CorruptStorageError
from mislid.study.candidates import as_candidates
from mislid.study.events import Entry, Event, entry_of, event_of
from mislid.study.facts import Asked, Created, Decided, Failed, Observed, Renewed, Told
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
LOG = """
created {"settings":{"m":1,"delta":0.1,"misspecification":"inf","noise":[1.0],"tolerance":0.0,\
"direction":"maximize","algorithm":"mislid","stopping":"guaranteed","seed":0,"mean_bound":"inf"},\
"candidates":{"labels":["a","b","c"],"features":null}}
asked {"trials":[0,1],"arms":[0,2],"again":[null,null],"worker":"lab","expires":50.0}
renewed {"trials":[1],"worker":"lab","expires":90.0}
told {"trial":0,"value":0.25}
asked {"trials":[2,3],"arms":[2,1],"again":[1,null],"worker":null,"expires":null}
failed {"trial":3}
told {"trial":1,"value":0.5}
observed {"arms":[1,1],"values":[7.0,8.0]}
decided {"answer":[1],"samples":3,"rule":"guaranteed","statistic":5.0,"threshold":4.5,"pair":[0,1]}
decided {"answer":[2],"samples":4,"rule":"guaranteed","statistic":"inf","threshold":4.5,\
"pair":[0,2]}
"""
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


def test_the_first_decision_stays() -> None:
    assert replayed(EVENTS[:8]).decision is None
    assert replayed(EVENTS[:9]).decision == FIRST
    assert replayed(EVENTS).decision == FIRST


def test_a_late_tell_leaves_the_one_that_was_asked_again_open() -> None:
    state = replayed(EVENTS[:5])
    assert state.trials[1].state == "replaced"
    assert list(state.waiting) == [2, 3]
    assert list(replayed(EVENTS[:7]).waiting) == [2]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event.fact).__name__)
def test_events_are_read_as_they_were_written(event: Event) -> None:
    assert event_of(entry_of(event)) == event


def test_a_gap_is_found() -> None:
    with pytest.raises(CorruptStorageError, match=r"event 4 .*in the place of event 3"):
        replayed([*EVENTS[:2], *EVENTS[3:]])
    with pytest.raises(CorruptStorageError, match=r"event 1 .* comes before the settings"):
        replayed([Event(1, 0.0, Observed((0,), (1.0,)))])
    with pytest.raises(CorruptStorageError, match="log is empty"):
        _ = StudyState().settings


def test_old_logs_can_be_read() -> None:
    """As they were written by version 1 of the schema; these lines must never change."""
    lines = LOG.strip().splitlines()
    kinds, bodies = zip(*(line.split(maxsplit=1) for line in lines), strict=True)
    numbered = enumerate(zip(kinds, bodies, strict=True), start=1)
    entries = [Entry(k, float(k), kind, line) for k, (kind, line) in numbered]
    assert [event_of(entry) for entry in entries] == EVENTS
    assert [entry_of(event) for event in EVENTS] == entries
