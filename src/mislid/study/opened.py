"""A study that is open: its log and its rules in step, and how the log is added to.

Calls count once, however often they are repeated: the log has their keys.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mislid._words import shown
from mislid.errors import (
    ContradictedWarning,
    ImplausibleValueWarning,
    ProblemError,
    StorageError,
    UnknownOutcomeError,
    UnknownTrialError,
)
from mislid.study.checking import unconfirmed
from mislid.study.contradictions import in_words, refuted, tallies_of
from mislid.study.decisions import warm_up
from mislid.study.events import Chain, Entry, entry_of, events_of
from mislid.study.facts import Contradicted, Decided, Fact
from mislid.study.replay import Replay
from mislid.study.result import Trial
from mislid.study.state import GENERATED, Kept, StudyState, written_summary
from mislid.study.storage import Collision, Log, Storage

# How often a transaction that the database undid is done again.
_ATTEMPTS = 20

# Events that are read at once, so that a long log takes little memory.
_AT_ONCE = 10_000

# With so many events to catch up with, one does so before taking the lock.
_MANY = 50

# Characters of a key at most.
_LONGEST = 200
# Seconds by which clocks may differ: the log's time does not go back for them.
SKEW = 600.0

Clock = Callable[[], float]
Decide = Callable[[Replay, float], Iterable[Fact]]


@dataclass(frozen=True, slots=True)
class Request:
    """A call: its key, and a digest of what was wanted.

    The key is in the log with what came of the call, so that a repetition finds it there.
    """

    key: str
    digest: str

    @property
    def written(self) -> str:
        """As an event has it."""
        return f"{self.key} {self.digest}"


def request_of(key: Any, *wanted: object) -> Request:
    """The request of this key, or of one that is made up.

    >>> request_of("plate-7", "add_observations", (0, 1), (0.25, 0.5)).written
    'plate-7 5813d7f5'
    """
    whole = tuple(map(_whole, wanted))
    return Request(_as_key(key), hashlib.sha256(_spelled(whole)).hexdigest()[:8])


def _whole(given: object) -> object:
    """Arrays and Series as plain values: what they print of themselves leaves out the middle."""
    if isinstance(given, np.ndarray):
        return given.tolist()
    if hasattr(given, "to_numpy") and hasattr(given, "index"):
        return tuple(given.index), given.to_numpy().tolist()
    return given


def _spelled(wanted: object) -> bytes:
    try:
        return repr(wanted).encode("utf-8", "backslashreplace")
    except ValueError:  # an integer of thousands of digits, which the call itself refuses
        return b"too long"


def refuse_other(request: Request, kept: Kept) -> None:
    """Refuse a key that was used for something else."""
    if kept.digest != request.digest:
        raise ProblemError(
            f"key must be new, or of the same call as before; got {request.key!r}, with which "
            f"event {kept.sequence} recorded something else"
        )


def _as_key(key: Any) -> str:
    if key is None:
        return f"{GENERATED}{secrets.token_hex(8)}"
    if not isinstance(key, str) or not key.strip() or len(key) > _LONGEST or not key.isprintable():
        raise ProblemError(
            f"key must be a text of 1 to {_LONGEST} characters that can be printed; got "
            f"{shown(key)}"
        )
    return key


class Lost(Exception):
    """The answer to a commit was lost, by which these entries would be in the log."""

    def __init__(self, problem: UnknownOutcomeError, entries: Sequence[Entry]) -> None:
        super().__init__(str(problem))
        self.entries = entries

    def is_in(self, log: Log) -> bool:
        """Whether they are; who has the log locked can tell, as nobody else is writing."""
        last = self.entries[-1] if self.entries else None
        return last is not None and log.read(last.sequence - 1, 1) == [last]

    def unknown(self, request: Request | None) -> UnknownOutcomeError:
        """The error for a caller, where the log cannot be asked."""
        return UnknownOutcomeError(str(self), None if request is None else request.key)


class Attempt(NamedTuple):
    """What is to be done, and what was lost when it was tried before."""

    decide: Decide
    request: Request | None
    lost: Lost | None

    def is_done(self, log: Log, state: StudyState) -> bool:
        """Whether the log has it already; refuses a key that was used for something else."""
        request = self.request
        if request is not None and request.key in state.keys:
            refuse_other(request, state.keys[request.key])
            return True
        return self.lost is not None and self.lost.is_in(log)


def log_time(clock: float, last: float) -> float:
    """The time of an event after one at `last`, by a clock.

    A clock that is a little behind another one waits. One that is far behind is right, or will be
    put right: the log follows it, so that one event from the future does not stop its time.

    >>> log_time(99.0, 100.0), log_time(101.0, 100.0), log_time(100.0, 4e9)
    (100.0, 101.0, 100.0)
    """
    return last if last - SKEW <= clock < last else clock


class OpenStudy:
    """The log of a study, followed by its rules; what people call is in the classes above."""

    def __init__(
        self,
        name: str,
        key: int,
        storage: Storage,
        clock: Clock | None = None,
        rules: tuple[Any, Any] = (None, None),
    ) -> None:
        self.study_name = name
        self._key, self._storage, self._clock = key, storage, clock
        # Sampling and stopping rule, where they are objects.
        self._rules = rules
        self._replay, self._chain = Replay(*rules), Chain()
        self._alone = threading.RLock()
        # What the data refute after so many events.
        self._checked: tuple[int, dict[str, Contradicted]] = (0, {})
        # The decision that was derived from the measurements anew.
        self._confirmed: Decided | None = None
        # What was wanted when an answer was lost, until it is known what came of it.
        self._unsettled: Request | None = None

    def _contradictions(self) -> dict[str, Contradicted]:
        """What the data refute of what was declared.

        Releases before 0.3 did not test that, so a decision of theirs is looked at when it is read.
        So is whether the decision follows from the data at all: whoever can write may record one.
        """
        with self._alone:
            state = self._now()
            if state.contradictions or state.decision is None:
                return state.contradictions
            if self._checked[0] != state.sequence:
                found = [*refuted(state, tallies_of(state), None), *self._unconfirmed()]
                self._checked = state.sequence, {one.what: one for one in found}
            return self._checked[1]

    def _unconfirmed(self) -> list[Contradicted]:
        """Whether the decision does not follow from the measurements; looked at once."""
        decision = self._replay.state.decision
        if self._confirmed is not decision:
            found = unconfirmed(self._replay)
            if found is not None:
                return [found]
            self._confirmed = decision
        return []

    def _now(self) -> StudyState:
        """The state after all events by now."""
        with self._alone:
            try:
                more = True
                while more:
                    after = self._replay.state.sequence
                    entries = self._storage.read(self._key, after, _AT_ONCE)
                    self._follow(entries)
                    more = len(entries) == _AT_ONCE
            except BaseException:
                self._forget()
                raise
            return self._replay.state

    def _forget(self) -> None:
        """Rules and log may be out of step; the next look replays the log from its beginning."""
        self._replay, self._chain = Replay(*self._rules), Chain()

    def _follow(self, entries: Sequence[Entry]) -> None:
        """Take in what the log has."""
        if self._replay.state.sequence == 0:
            self._chain = Chain()
        self._replay.take_in(events_of(self._chain.take_in(entries)))

    def _write(self, decide: Decide, request: Request | None = None) -> StudyState:
        """Append what `decide` makes of the present state, while nobody else can.

        A request that is in the log already is not appended again. Where the answer to a commit is
        lost, the log is asked what came of it.
        """
        with self._alone:
            request = self._repeated(request)
            lost: Lost | None = None
            for attempt in range(_ATTEMPTS):
                last = attempt == _ATTEMPTS - 1
                try:
                    self._prepare()
                    if self._append(Attempt(decide, request, lost), None if last else _MANY):
                        self._unsettled = None
                        return self._replay.state
                    self._now()
                except ProblemError:  # before anything was changed
                    raise
                except Lost as problem:
                    self._forget()
                    lost, self._unsettled = problem, request
                    time.sleep(min(0.01 * 2**attempt, 0.5))
                except StorageError as problem:
                    self._forget()
                    if lost is not None:
                        raise lost.unknown(request) from problem
                    if last or not isinstance(problem, Collision):
                        raise
                except BaseException as problem:
                    self._forget()
                    if not isinstance(problem, Exception):  # Ctrl-C, at any moment
                        self._unsettled = request
                    raise
        raise lost.unknown(request) if lost else AssertionError("the last attempt ends the loop")

    def _repeated(self, request: Request | None) -> Request | None:
        """The request, under its old key if it is the one of which nobody knows what came."""
        before = self._unsettled
        if request is None or before is None or not request.key.startswith(GENERATED):
            return request
        return before if before.digest == request.digest else request

    def _write_news(
        self, decide: Decide, doubts: Sequence[str] = (), request: Request | None = None
    ) -> None:
        """`_write`, and warn of doubts, and of what the data refute since."""
        with self._alone:
            before = self._now().sequence
            state = self._write(decide, request)
            found = [
                in_words(one, state)
                for one in state.contradictions.values()
                if state.contradicted_at[one.what] > before
            ]
        for words in doubts:
            warnings.warn(words, ImplausibleValueWarning, stacklevel=3)
        for words in found:
            warnings.warn(words, ContradictedWarning, stacklevel=3)

    def _prepare(self) -> None:
        """Do what takes long, so that nobody has to wait for a replay or for the compiler."""
        state = self._replay.state if self._replay.state.sequence else self._now()
        warm_up(state.settings.algorithm, state.settings.stopping)
        self._replay.catch_up()

    def _append(self, attempt: Attempt, many: int | None) -> bool:
        """Catch up, decide and append; nothing, and False, with so many events to catch up with."""
        added: list[Entry] = []
        is_done = False
        try:
            with self._storage.locked(self._key) as log:
                entries = log.read(self._replay.state.sequence, many)
                if len(entries) == many:
                    return False
                self._follow(entries)
                if not attempt.is_done(log, self._replay.state):
                    added = self._decided(attempt, log)
                    log.append(added, written_summary(self._replay.state))
                is_done = True
        except UnknownOutcomeError as problem:
            # Where nothing was to be written, nothing was lost.
            if added:
                raise Lost(problem, added) from problem
        return is_done

    def _decided(self, attempt: Attempt, log: Log) -> list[Entry]:
        """What is to be appended."""
        replay = self._replay
        now = log_time((self._clock or log.now)(), replay.state.time)
        key = None if attempt.request is None else attempt.request.written
        events = replay.record(attempt.decide(replay, now), now, key)
        return self._chain.seal([entry_of(event) for event in events])

    def _refuse_stranger(self, trial: Any) -> None:
        """Refuse a trial that another study handed out, or that is not of its arm."""
        if not isinstance(trial, Trial):
            return
        state = self._replay.state
        known = self._trial(state, state.trial(trial.id).id)
        if trial.study is not None and (trial.study, trial.asked) != (known.study, known.asked):
            raise UnknownTrialError(
                f"trial must be one of study {self.study_name!r}; got trial {trial.id} of another "
                "study, or of a copy that has gone on apart: tell it there"
            )
        if trial.arm != known.arm:
            raise UnknownTrialError(
                f"trial {trial.id} is of {known.arm!r}; got {trial.arm!r}: tell the value of "
                f"{known.arm!r}, or add_observations for another candidate"
            )

    def _trial(self, state: StudyState, trial_id: int) -> Trial:
        record, candidates = state.trials[trial_id], state.census.register
        features = None if candidates.features is None else candidates.features[record.arm]
        label = candidates.labels[record.arm]
        study = self._chain.first[:16]
        leased = record.worker, record.expires
        return Trial(record.id, label, features, *leased, study, record.asked)
