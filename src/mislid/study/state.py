"""State of a study: the result of replaying its events, without running any rule."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

from mislid.errors import (
    ConflictingTellError,
    CorruptStorageError,
    ProblemError,
    UnknownTrialError,
)
from mislid.study import events
from mislid.study.candidates import Candidates
from mislid.study.results import CONTRADICTED, DECIDED, RUNNING, StudySummary
from mislid.study.roster import Roster
from mislid.study.settings import Settings

# Declarations that data may contradict.
MISSPECIFICATION, NOISE = "misspecification", "noise"
# Name of a contradiction where a log records a decision that its measurements do not support.
DECISION = "decision"
OPEN, REPLACED, COMPLETE, FAIL, VOID = "open", "replaced", "complete", "fail", "void"
# Prefix of generated request keys.
GENERATED = "~"


@dataclass(slots=True)
class TrialRecord:
    """A trial: open, replaced by another trial, complete with a value, failed, or void."""

    id: int
    arm: int
    worker: str | None
    expires: float | None
    state: str = OPEN
    value: float | None = None
    asked: float = 0.0
    # When the lease ends, by `StudyState.elapsed`.
    until: float | None = None

    def is_expired(self, elapsed: float) -> bool:
        """Whether its lease has ended, so that another worker may get it."""
        return self.until is not None and self.until <= elapsed


class Observation(NamedTuple):
    """One measurement, with the user's sign; `trial` is None if no trial asked for it.

    `sequence` and `time` are those of the event that recorded it, and `row` is its index among all
    measurements. `arm` is an index in the register for a state's `rows`, and in the question for
    its `observations`.
    """

    row: int
    sequence: int
    time: float
    trial: int | None
    arm: int
    value: float


class Correction(NamedTuple):
    """Correction of a measurement by the event `sequence`; a value of None means void."""

    sequence: int
    time: float
    of: Observation
    was: float | None
    value: float | None
    reason: str | None

    @property
    def what(self) -> str:
        """The measurement's trial or, without one, its row."""
        return f"row {self.of.row}" if self.of.trial is None else f"trial {self.of.trial}"

    @property
    def verb(self) -> str:
        """The kind of correction, as a verb."""
        return "made void" if self.value is None else "corrected"


class Withdrawal(NamedTuple):
    """Withdrawal of a decision by the event `sequence`, with its cause; arms of the register."""

    sequence: int
    time: float
    decision: events.Decided
    cause: str


class Kept(NamedTuple):
    """Record of a request in the log."""

    digest: str
    sequence: int
    trials: tuple[int, ...]


@dataclass(slots=True)
class StudyState:
    """State of a study after a number of events; `apply` adds the next event.

    Attributes
    ----------
    sequence, time
        Number and time of the last event.
    elapsed
        Sum of the positive time differences between events, in seconds. Leases end by this time: a
        clock that is wrong for some events ends leases too early or too late once, and freezes
        none.
    keys
        Requests by key, except asks whose key was generated.
    trials
        All trials, in order: a trial's id is its position.
    waiting
        Ids of the open trials, in the order in which they were handed out.
    changes
        Events that added or retired candidates.
    rows, void
        All measurements of the log, with corrections, and the rows of void ones.
    observations
        The measurements that count, in order: those that are not void, of candidates in the
        question. A correction creates a new list.
    decision
        The first decision since the last correction, declaration or change of the question. Later
        measurements do not revoke it.
    withdrawn
        Earlier decisions, which were withdrawn.
    contradictions, contradicted_at
        Current declarations that the data have refuted, by name, and the events that recorded this.
    """

    sequence: int = 0
    time: float = 0.0
    elapsed: float = 0.0
    keys: dict[str, Kept] = field(default_factory=dict)
    begun: events.Created | None = None
    created_at: float = 0.0
    changes: list[events.Event] = field(default_factory=list)
    trials: list[TrialRecord] = field(default_factory=list)
    waiting: dict[int, None] = field(default_factory=dict)
    rows: list[Observation] = field(default_factory=list)
    void: set[int] = field(default_factory=set)
    observations: list[Observation] = field(default_factory=list)
    decision: events.Decided | None = None
    withdrawn: list[Withdrawal] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    declarations: list[events.Event] = field(default_factory=list)
    contradictions: dict[str, events.Contradicted] = field(default_factory=dict)
    contradicted_at: dict[str, int] = field(default_factory=dict)
    _roster: Roster | None = None
    _recorded: events.Decided | None = None
    _rows_of_trials: dict[int, list[int]] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """`running`, `decided`, or `contradicted` if the data refute a declaration."""
        if self.contradictions:
            return CONTRADICTED
        return RUNNING if self.decision is None else DECIDED

    @property
    def settings(self) -> Settings:
        """The question, with the latest declarations."""
        return self.roster.question

    @property
    def candidates(self) -> Candidates:
        """The arms of the question."""
        return self.roster.candidates

    @property
    def roster(self) -> Roster:
        """All candidates that were ever in the study, with their status."""
        if self._roster is None:
            raise CorruptStorageError("the study's log is empty: restore the storage from a backup")
        return self._roster

    def waiting_arms(self) -> list[int]:
        """The arms of the open trials, as indices in the question."""
        return self.places([self.trials[trial_id].arm for trial_id in self.waiting])

    def places(self, arms: Iterable[int]) -> list[int]:
        """Convert arms of the register to indices in the question; drop those that left it."""
        found = (self.roster.place(arm) for arm in arms)
        return [place for place in found if place is not None]

    def trial(self, trial_id: int) -> TrialRecord:
        """The trial with a given id."""
        if not 0 <= trial_id < len(self.trials):
            known = f"0 to {len(self.trials) - 1}" if self.trials else "none so far"
            raise UnknownTrialError(f"trial must be one that was asked, {known}; got {trial_id}")
        return self.trials[trial_id]

    def is_untold(self, trial_id: int) -> bool:
        """Whether a trial exists and has neither a value nor failed."""
        known = 0 <= trial_id < len(self.trials)
        return known and self.trials[trial_id].state in (OPEN, REPLACED)

    def is_news(self, trial_id: int, state: str, values: tuple[float, ...] = ()) -> bool:
        """Whether a tell is new; False for a repetition, an error if it contradicts the first."""
        trial, value = self.trial(trial_id), values[0] if values else None
        if self.is_untold(trial_id):
            return True
        if (trial.state, trial.value) != (state, value):
            way_out = "" if trial.state == FAIL else "; correct() mends a mistake"
            raise ConflictingTellError(
                f"trial {trial_id} has been told {_in_words(trial.state, trial.value)}, which "
                f"stays; got {_in_words(state, value)}{way_out}"
            )
        told = tuple(self.rows[row].value for row in self._rows_of_trials.get(trial_id, ()))
        if told != values:
            raise ConflictingTellError(
                f"trial {trial_id} has told {len(told)} measurements, which stay; got "
                f"{len(values)} others"
            )
        return False

    def rows_of(self, trial_id: int) -> tuple[int, ...]:
        """The rows of a trial's measurements: one, unless several were told at once."""
        trial = self.trial(trial_id)
        if trial.state not in (COMPLETE, VOID):
            failed = "failed: if it did not, use add_observations", "has not been told: tell it"
            raise ProblemError(
                f"trial must be one that has a value; got {trial_id}, which "
                f"{failed[trial.state != FAIL]}"
            )
        return tuple(self._rows_of_trials[trial_id])

    def elapsed_at(self, time: float) -> float:
        """The value of `elapsed` at a time after the last event."""
        return self.elapsed + (max(0.0, time - self.time) if self.sequence else 0.0)

    def apply(self, event: events.Event) -> None:
        """Check the next event and apply it."""
        events.check(self, event)
        self.take_in(event)

    def take_in(self, event: events.Event) -> None:
        """Apply the next event, which has been checked."""
        self.elapsed = self.elapsed_at(event.time)
        self.sequence, self.time = event.sequence, event.time
        self._take_in(event)
        if event.key is not None:
            key, _, digest = event.key.rpartition(" ")
            trials = event.fact.trials if isinstance(event.fact, events.Asked) else ()
            if not trials or not key.startswith(GENERATED):
                self.keys[key] = Kept(digest, event.sequence, trials)

    def _take_in(self, event: events.Event) -> None:
        match event.fact:
            case events.Asked():
                self._hand_out(event.fact, event.time)
            case events.Told(trial_id, value, more):
                self._close(trial_id, COMPLETE, value)
                arm = self.trials[trial_id].arm
                self._observe(event, trial_id, arm, value)
                for one in more:
                    self._observe(event, trial_id, arm, one)
            case events.Observed(arms, values):
                for arm, value in zip(arms, values, strict=True):
                    self._observe(event, None, arm, value)
            case events.Failed(trial_id):
                self._close(trial_id, FAIL, None)
            case events.Created(settings, candidates):
                self.begun, self.created_at = event.fact, event.time
                self._roster = Roster(candidates, settings)
            case events.Renewed(trials, _, expires):
                until = self._until(expires, event.time)
                for trial_id in trials:
                    self.trials[trial_id].expires, self.trials[trial_id].until = expires, until
            case events.Decided():
                if self.decision is None:
                    self.decision, self._recorded = self.roster.present(event.fact), event.fact
            case events.Corrected() | events.Voided():
                self._correct(event, event.fact)
            case events.Redeclared():
                self._declare(event, event.fact)
            case events.Added() | events.Retired():
                self._change(event, event.fact)
            case events.Contradicted(what):
                self.contradictions[what] = event.fact
                self.contradicted_at[what] = event.sequence

    def _hand_out(self, asked: events.Asked, time: float) -> None:
        trials, arms, handed, worker, expires, _ = asked
        until = self._until(expires, time)
        for trial_id, arm, again in zip(trials, arms, handed, strict=True):
            if again is not None:
                self.trials[again].state = REPLACED
                del self.waiting[again]
            self.trials.append(TrialRecord(trial_id, arm, worker, expires, OPEN, None, time, until))
            self.waiting[trial_id] = None

    def _until(self, expires: float | None, time: float) -> float | None:
        return None if expires is None else self.elapsed + (expires - time)

    def _close(self, trial_id: int, state: str, value: float | None) -> None:
        trial = self.trials[trial_id]
        trial.state, trial.value = state, value
        self.waiting.pop(trial_id, None)

    def _observe(self, event: events.Event, trial: int | None, arm: int, value: float) -> None:
        row = len(self.rows)
        one = Observation(row, event.sequence, event.time, trial, arm, value)
        if trial is not None:
            self._rows_of_trials.setdefault(trial, []).append(row)
        self.rows.append(one)
        place = self.roster.place(arm)
        if place is not None:
            self.observations.append(one if place == arm else one._replace(arm=place))

    def _correct(self, event: events.Event, fact: events.Corrected | events.Voided) -> None:
        """Correct rows or make them void; a corrected row is no longer void."""
        values = fact.values if isinstance(fact, events.Corrected) else (None,) * len(fact.rows)
        for row, value in zip(fact.rows, values, strict=True):
            before = self.rows[row]
            was = None if row in self.void else before.value
            if value is None:
                self.void.add(row)
            else:
                self.void.discard(row)
                self.rows[row] = before._replace(value=value)
            if before.trial is not None and row == self._rows_of_trials[before.trial][0]:
                trial = self.trials[before.trial]
                trial.state, trial.value = (VOID if value is None else COMPLETE), value
            correction = Correction(event.sequence, event.time, before, was, value, fact.reason)
            self.corrections.append(correction)
        self._count_again()
        self._withdraw(event, f"{correction.what} was {correction.verb}")

    def _declare(self, event: events.Event, fact: events.Redeclared) -> None:
        given = ["misspecification"] if fact.misspecification is not None else []
        if fact.noise is not None:
            given.append("noise")
            self.contradictions.pop(NOISE, None)
        # The test of the misspecification depends on the noise.
        self.contradictions.pop(MISSPECIFICATION, None)
        self._roster = self.roster.after(fact)
        self.declarations.append(event)
        self._withdraw(event, f"{' and '.join(given)} declared again")

    def _change(self, event: events.Event, fact: events.Added | events.Retired) -> None:
        """Add candidates to the question, or retire one."""
        self.changes.append(event)
        self._roster = self.roster.after(fact)
        if isinstance(fact, events.Added):
            names = ", ".join(repr(label) for label in fact.candidates.labels)
            self._count_again()
            self._withdraw(event, f"{names} added")
            return
        for trial_id in [one for one in self.waiting if self.trials[one].arm == fact.arm]:
            self.trials[trial_id].state = REPLACED  # its value may still be told
            del self.waiting[trial_id]
        if fact.leaves:
            self._count_again()
            self._withdraw(event, f"{self.roster.register.labels[fact.arm]!r} left the question")

    def _count_again(self) -> None:
        """Recompute the measurements that count, and forget the contradictions."""
        kept = (one for one in self.rows if one.row not in self.void)
        self.observations = [
            one if place == one.arm else one._replace(arm=place)
            for one in kept
            if (place := self.roster.place(one.arm)) is not None
        ]
        self.contradictions.clear()

    def _withdraw(self, event: events.Event, cause: str) -> None:
        if self._recorded is not None:
            self.withdrawn.append(Withdrawal(event.sequence, event.time, self._recorded, cause))
            self.decision = self._recorded = None


def _in_words(state: str, value: float | None) -> str:
    if state == VOID:
        return "and made void"
    return "that it failed" if state == FAIL else f"the value {value!r}"


def summary_of(name: str, state: StudyState) -> StudySummary:
    """The summary of a state."""
    return StudySummary(
        name=name,
        status=state.status,
        m=state.settings.m,
        candidates=len(state.roster.arms),
        observations=len(state.observations),
        pending=len(state.waiting),
        created=state.created_at,
        updated=state.time,
        stopping=state.settings.stopping,
    )


def written_summary(state: StudyState) -> str:
    """The number of events and the summary's fields except the name, as JSON for a storage."""
    _, *values = astuple(summary_of("", state))
    return json.dumps([state.sequence, *values])


def read_summary(name: str, last: int, text: str | None) -> StudySummary | None:
    """The summary that `written_summary` wrote after event `last`; None if there is none."""
    try:
        events, *values = json.loads(text or "null")
        summary = StudySummary(name, *values)
    except (ValueError, TypeError, RecursionError):
        return None
    # A database of others may have any text there; what is strange is derived from the log.
    kinds = list(map(type, values)) == [str, int, int, int, int, float, float, str]
    if not kinds or events != last or summary.status not in (RUNNING, DECIDED, CONTRADICTED):
        return None
    return summary if math.isfinite(summary.created + summary.updated) else None
