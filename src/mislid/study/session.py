"""An open study: its log and its rules in step, and how the log is added to.

Calls count once, however often they are repeated: the log has their keys.
"""

from __future__ import annotations

import gc
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from mislid._formatting import shown
from mislid.errors import ProblemError, StorageError, UnknownOutcomeError, UnknownTrialError
from mislid.study.assumption_tests import refuted, tallies_of
from mislid.study.events import Chain, Contradicted, Decided, Entry, Fact, entry_of, events_of
from mislid.study.replay import Replay, unconfirmed, warm_up
from mislid.study.results import Trial
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

Said = TypeVar("Said")
# From the study and the time to what is to be recorded, and to what the caller is to know of it.
Decide = Callable[[Replay, float], tuple[Sequence[Fact], Said]]


@dataclass(frozen=True, slots=True)
class Request:
    """A call: its key, and a digest of what was wanted.

    The key is in the log with the events of the call, so that a repetition finds it there.
    """

    key: str
    digest: str

    @property
    def written(self) -> str:
        """As an event has it."""
        return f"{self.key} {self.digest}"

    def refuse_other(self, kept: Kept) -> None:
        """Refuse a key that was used for something else."""
        if kept.digest != self.digest:
            raise ProblemError(
                f"key must be new, or of the same call as before; got {self.key!r}, with which "
                f"event {kept.sequence} recorded something else"
            )


def request_of(key: Any, *wanted: object) -> Request:
    """The request of this key, or of one that is generated.

    >>> request_of("plate-7", "add_observations", (0, 1), (0.25, 0.5)).written
    'plate-7 5813d7f5'
    """
    if key is None:
        key = f"{GENERATED}{secrets.token_hex(8)}"
    elif (
        not isinstance(key, str) or not key.strip() or len(key) > _LONGEST or not key.isprintable()
    ):
        raise ProblemError(
            f"key must be a text of 1 to {_LONGEST} characters that can be printed; got "
            f"{shown(key)}"
        )
    try:
        spelled = repr(tuple(map(_whole, wanted))).encode("utf-8", "backslashreplace")
    except ValueError:  # an integer of thousands of digits, which the call itself refuses
        spelled = b"too long"
    return Request(key, hashlib.sha256(spelled).hexdigest()[:8])


def _whole(given: object) -> object:
    """Arrays and Series as plain values: what they print of themselves leaves out the middle."""
    if isinstance(given, np.ndarray):
        return given.tolist()
    if hasattr(given, "to_numpy") and hasattr(given, "index"):
        return tuple(given.index), given.to_numpy().tolist()
    return given


class _Lost(Exception):
    """The answer to a commit was lost, by which these entries would be in the log."""

    def __init__(
        self, problem: UnknownOutcomeError, entries: Sequence[Entry], said: object
    ) -> None:
        super().__init__(str(problem))
        self.entries, self.said = entries, said

    def is_in(self, log: Log) -> bool:
        """Whether they are, by a log that is locked, so that nobody else is writing."""
        last = self.entries[-1] if self.entries else None
        return last is not None and log.read(last.sequence - 1, 1) == [last]

    def unknown(self, request: Request | None) -> UnknownOutcomeError:
        """The error for a caller, where the log cannot be asked."""
        return UnknownOutcomeError(str(self), None if request is None else request.key)


def log_time(clock: float, last: float) -> float:
    """The time of an event after one at `last`, by a clock.

    A clock that is a little behind another one waits. One that is far behind is right, or will be
    put right: the log follows it, so that one event from the future does not stop its time.

    >>> log_time(99.0, 100.0), log_time(101.0, 100.0), log_time(100.0, 4e9)
    (100.0, 101.0, 100.0)
    """
    return last if last - SKEW <= clock < last else clock


@contextmanager
def _no_collection() -> Iterator[None]:
    """Do without garbage collection while many objects are made, none of which is garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Session:
    """The log of a study, followed by its rules.

    `alone` lets one thread at a time use them; `replay` and `chain` are as of the last look.
    """

    def __init__(
        self,
        name: str,
        key: int,
        storage: Storage,
        clock: Callable[[], float] | None = None,
        rules: tuple[Any, Any] = (None, None),
    ) -> None:
        self.name, self.key, self.storage, self.clock = name, key, storage, clock
        # Sampling and stopping rule, where they are objects.
        self._rules = rules
        self.alone = threading.RLock()
        # A recorded decision, and what speaks against it.
        self._checked: tuple[Decided | None, dict[str, Contradicted]] = (None, {})
        # What was wanted when an answer was lost, until the log has been asked.
        self._unsettled: Request | None = None
        self._forget()

    def _forget(self) -> None:
        """Rules and log may be out of step; the next look replays the log from its beginning."""
        self.replay, self.chain = Replay(*self._rules), Chain()

    def now(self) -> StudyState:
        """The state after all events by now."""
        with self.alone:
            try:
                more = True
                while more:
                    entries = self.storage.read(self.key, self.replay.state.sequence, _AT_ONCE)
                    more = len(entries) == _AT_ONCE
                    with _no_collection():
                        self._follow(entries)
            except BaseException:
                self._forget()
                raise
            return self.replay.state

    def _follow(self, entries: Sequence[Entry]) -> None:
        """Take in what the log has."""
        if self.replay.state.sequence == 0:
            self.chain = Chain()
        self.replay.take_in(events_of(self.chain.take_in(entries)))

    def contradictions(self) -> dict[str, Contradicted]:
        """What the data refute of what was declared, or that they do not bear a decision out.

        Writing to a storage is enough to record a decision that does not follow from the data.
        """
        with self.alone:
            state = self.now()
            decision = state.decision
            if state.contradictions or decision is None:
                return state.contradictions
            if self._checked[0] is not decision:
                found = [*refuted(state, tallies_of(state), None), unconfirmed(self.replay)]
                self._checked = decision, {one.what: one for one in found if one is not None}
            return self._checked[1]

    def write(
        self, decide: Decide[Said], request: Request | None = None
    ) -> tuple[StudyState, Said | None]:
        """Append what `decide` makes of the present state, while nobody else can.

        A request that is in the log already is not appended again; then nothing was said. Where the
        answer to a commit is lost, the log is asked whether it has the entries.
        """
        with self.alone:
            request = self._repeated(request)
            lost: _Lost | None = None
            for attempt in range(_ATTEMPTS):
                last = attempt == _ATTEMPTS - 1
                try:
                    self._prepare()
                    done = self._append(decide, request, lost, None if last else _MANY)
                    if done is not None:
                        self._unsettled = None
                        return self.replay.state, done[0]
                    self.now()
                except ProblemError:  # before anything was changed
                    raise
                except _Lost as problem:
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
        """The request, under its old key if it is the one whose outcome is unknown."""
        before = self._unsettled
        if request is None or before is None or not request.key.startswith(GENERATED):
            return request
        return before if before.digest == request.digest else request

    def _prepare(self) -> None:
        """Do what takes long, so that others need not wait for a replay or for the compiler."""
        state = self.replay.state if self.replay.state.sequence else self.now()
        warm_up(state.settings.algorithm, state.settings.stopping)
        self.replay.catch_up()

    def _append(
        self, decide: Decide[Said], request: Request | None, lost: _Lost | None, many: int | None
    ) -> tuple[Said | None] | None:
        """Catch up, decide and append; None with so many events to catch up with."""
        added: list[Entry] = []
        said: Said | None = None
        done: tuple[Said | None] | None = None
        try:
            with self.storage.locked(self.key) as log:
                entries = log.read(self.replay.state.sequence, many)
                if len(entries) == many:
                    return None
                self._follow(entries)
                state = self.replay.state
                if request is not None and request.key in state.keys:
                    request.refuse_other(state.keys[request.key])
                elif lost is not None and lost.is_in(log):
                    said = cast("Said", lost.said)
                else:
                    now = log_time((self.clock or log.now)(), state.time)
                    facts, said = decide(self.replay, now)
                    written = None if request is None else request.written
                    events = self.replay.record(facts, now, written)
                    added = self.chain.seal([entry_of(event) for event in events])
                    log.append(added, written_summary(state))
                done = (said,)
        except UnknownOutcomeError as problem:
            # Where nothing was to be written, nothing was lost.
            if added:
                raise _Lost(problem, added, said) from problem
        return done

    def trial(self, trial_id: int) -> Trial:
        """A trial of the present state, as users get it."""
        record, candidates = self.replay.state.trials[trial_id], self.replay.state.roster.register
        return Trial(
            record.id,
            candidates.labels[record.arm],
            None if candidates.features is None else candidates.features[record.arm],
            record.worker,
            record.expires,
            self.chain.first[:16],
            record.asked,
        )

    def refuse_stranger(self, trial: Any) -> None:
        """Refuse a trial that another study handed out, or that is not of its candidate."""
        if not isinstance(trial, Trial):
            return
        known = self.trial(self.replay.state.trial(trial.id).id)
        if trial.study is not None and (trial.study, trial.asked) != (known.study, known.asked):
            raise UnknownTrialError(
                f"trial must be one of study {self.name!r}; got trial {trial.id} of another "
                "study, or of a copy that has gone on apart: tell it there"
            )
        if trial.arm != known.arm:
            raise UnknownTrialError(
                f"trial {trial.id} is of {known.arm!r}; got {trial.arm!r}: tell the value of "
                f"{known.arm!r}, or add_observations for another candidate"
            )
