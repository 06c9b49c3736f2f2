"""What a study has come to: a replay of its events, without any decision."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from mislid.errors import ConflictingTellError, CorruptStorageError, UnknownTrialError
from mislid.study.events import (
    Asked,
    Created,
    Decided,
    Event,
    Failed,
    Observed,
    Renewed,
    Told,
)
from mislid.study.result import DECIDED, RUNNING, StudySummary
from mislid.study.settings import Candidates, Settings

OPEN, REPLACED, COMPLETE, FAIL = "open", "replaced", "complete", "fail"


@dataclass(slots=True)
class TrialRecord:
    """A trial: open, replaced by one that asks again, complete with a value, or failed."""

    id: int
    arm: int
    worker: str | None
    expires: float | None
    state: str = OPEN
    value: float | None = None

    def is_expired(self, now: float) -> bool:
        """Whether somebody else may have it."""
        return self.expires is not None and self.expires <= now


@dataclass(frozen=True, slots=True)
class Observation:
    """One measurement: of an arm, by a trial or from elsewhere, in the user's sign."""

    sequence: int
    time: float
    trial: int | None
    arm: int
    value: float


@dataclass(slots=True)
class StudyState:
    """All that the events so far say; `apply` takes in the next one, and looks at nothing else.

    Attributes
    ----------
    sequence, time
        Of the last event.
    trials
        All of them, in order: a trial's id is its position.
    waiting
        Ids of the open ones, in the order in which they were handed out.
    decision
        The first one that was recorded. Nothing revokes it.
    """

    sequence: int = 0
    time: float = 0.0
    created: Created | None = None
    created_at: float = 0.0
    trials: list[TrialRecord] = field(default_factory=list)
    waiting: dict[int, None] = field(default_factory=dict)
    observations: list[Observation] = field(default_factory=list)
    decision: Decided | None = None

    @property
    def settings(self) -> Settings:
        """The question."""
        return self._begun.settings

    @property
    def candidates(self) -> Candidates:
        """The arms."""
        return self._begun.candidates

    @property
    def _begun(self) -> Created:
        if self.created is None:
            raise CorruptStorageError(
                "the study's log does not begin with its settings: restore the storage from a "
                "backup"
            )
        return self.created

    def waiting_arms(self) -> list[int]:
        """The arms of the open trials."""
        return [self.trials[trial_id].arm for trial_id in self.waiting]

    def trial(self, trial_id: int) -> TrialRecord:
        """The trial of this id."""
        if not 0 <= trial_id < len(self.trials):
            known = f"0 to {len(self.trials) - 1}" if self.trials else "none so far"
            raise UnknownTrialError(f"trial must be one that was asked, {known}; got {trial_id}")
        return self.trials[trial_id]

    def news(self, trial_id: int, state: str, value: float | None) -> bool:
        """Whether such a tell says something new; refuses one that contradicts the first."""
        trial = self.trial(trial_id)
        if trial.state in (OPEN, REPLACED):
            return True
        if (trial.state, trial.value) == (state, value):
            return False
        raise ConflictingTellError(
            f"trial {trial_id} has been told {_in_words(trial.state, trial.value)}, which stays; "
            f"got {_in_words(state, value)}"
        )

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if event.sequence != self.sequence + 1:
            raise CorruptStorageError(
                f"event {self.sequence + 1} of the study is missing, event {event.sequence} was "
                "found in its place: restore the storage from a backup"
            )
        self.sequence, self.time = event.sequence, event.time
        try:
            self._take_in(event)
        except (IndexError, KeyError):
            raise CorruptStorageError(
                f"event {event.sequence} of the study is about a trial that was not asked or is "
                "not open: restore the storage from a backup"
            ) from None

    def _take_in(self, event: Event) -> None:
        match event.fact:
            case Created():
                self.created, self.created_at = event.fact, event.time
            case Asked():
                self._hand_out(event.fact)
            case Renewed(trials, _, expires):
                for trial_id in trials:
                    self.trials[trial_id].expires = expires
            case Told(trial_id, value):
                self._close(trial_id, COMPLETE, value)
                arm = self.trials[trial_id].arm
                self._observe(event, trial_id, arm, value)
            case Failed(trial_id):
                self._close(trial_id, FAIL, None)
            case Observed(arms, values):
                for arm, value in zip(arms, values, strict=True):
                    self._observe(event, None, arm, value)
            case Decided():
                if self.decision is None:
                    self.decision = event.fact

    def _hand_out(self, asked: Asked) -> None:
        for trial_id, arm, again in zip(asked.trials, asked.arms, asked.again, strict=True):
            if again is not None:
                self.trials[again].state = REPLACED
                del self.waiting[again]
            self.trials.append(TrialRecord(trial_id, arm, asked.worker, asked.expires))
            self.waiting[trial_id] = None

    def _close(self, trial_id: int, state: str, value: float | None) -> None:
        trial = self.trials[trial_id]
        trial.state, trial.value = state, value
        self.waiting.pop(trial_id, None)

    def _observe(self, event: Event, trial: int | None, arm: int, value: float) -> None:
        self.observations.append(Observation(event.sequence, event.time, trial, arm, value))


def _in_words(state: str, value: float | None) -> str:
    return "that it failed" if state == FAIL else f"the value {value!r}"


def summary_of(name: str, state: StudyState) -> StudySummary:
    """What a state comes to."""
    return StudySummary(
        name=name,
        status=RUNNING if state.decision is None else DECIDED,
        m=state.settings.m,
        candidates=state.candidates.K,
        observations=len(state.observations),
        pending=len(state.waiting),
        created=state.created_at,
        updated=state.time,
        stopping=state.settings.stopping,
    )


def written_summary(state: StudyState) -> str:
    """For a storage: the number of events, and the rest of the line."""
    line = summary_of("", state)
    values = [line.status, line.m, line.candidates, line.observations, line.pending]
    return json.dumps([state.sequence, *values, line.created, line.updated, line.stopping])


def read_summary(name: str, last: int, text: str | None) -> StudySummary | None:
    """What `written_summary` wrote after event `last`, or None.

    An older release that has the study open meanwhile adds events but no summary.
    """
    if text is None:
        return None
    try:
        events, *values = json.loads(text)
        return StudySummary(name, *values) if events == last else None
    except (ValueError, TypeError):
        return None
