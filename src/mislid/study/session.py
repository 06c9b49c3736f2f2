"""Sessions: synchronization of a study's log, state and rules, and writing to the log.

The log records the keys of calls, so that repeated calls count once.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mislid._formatting import shown
from mislid._validation import LONGEST_WORKER, as_count, as_line, as_number
from mislid.engine import Engine, EventBatch
from mislid.errors import ProblemError, StorageError, UnknownOutcomeError, UnknownTrialError
from mislid.study import batches, events, rules
from mislid.study.assumption_tests import Tallies, refuted, refuted_ever, tallies_of
from mislid.study.candidates import Candidates
from mislid.study.results import Trial
from mislid.study.settings import is_absent, is_python
from mislid.study.state import GENERATED, Kept, StudyState, written_summary
from mislid.study.storage import Collision, Log, Storage

# The most attempts at a write that the database rolls back.
_ATTEMPTS = 20
# Number of events read at once, which limits the memory for a long log.
_AT_ONCE = 10_000
# From this number of new events on, a writer reads them before it takes the lock.
_MANY = 50
# The most numbers in a batch for the rules.
_MUCH = 1_000_000
# Longest key, in characters.
_LONGEST = 200
# Clock differences, in seconds, for which the log's time does not go back.
SKEW = 600.0
# Events that change earlier measurements or declarations, so that the rules start over.
_CHANGES = (events.Corrected, events.Voided, events.Redeclared, events.Added, events.Retired)


@dataclass(frozen=True, slots=True)
class Request:
    """Key of a call and digest of its arguments.

    The events of the call record the key in the log, so that a repetition is detected.
    """

    key: str
    digest: str

    @property
    def written(self) -> str:
        """Key and digest in the format of an event."""
        return f"{self.key} {self.digest}"

    def refuse_other(self, kept: Kept) -> None:
        """Refuse a key that was used for another call."""
        if kept.digest != self.digest:
            raise ProblemError(
                f"key must be new, or of the same call as before; got {self.key!r}, with which "
                f"event {kept.sequence} recorded something else"
            )


def request_of(key: Any, *wanted: object) -> Request:
    """The request with a given key, or with a generated one.

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
    except ValueError:  # an integer with thousands of digits, which is refused later
        spelled = b"too long"
    return Request(key, hashlib.sha256(spelled).hexdigest()[:8])


def _whole(given: object) -> object:
    """Convert arrays, Series and candidates to plain values, whose repr is not abbreviated."""
    if isinstance(given, np.ndarray):
        return given.tolist()
    if hasattr(given, "to_numpy") and hasattr(given, "index"):
        return tuple(given.index), given.to_numpy().tolist()
    if isinstance(given, Candidates):
        return given.plain()
    if isinstance(given, np.generic):
        return given.item()
    return given


class _Lost(Exception):
    """The outcome of a commit of entries is unknown."""

    def __init__(self, problem: UnknownOutcomeError, entries: Sequence[events.Entry]) -> None:
        super().__init__(str(problem))
        self.last = entries[-1]

    def is_in(self, log: Log) -> bool:
        """Whether a locked log has the entries."""
        return log.read(self.last.sequence - 1, 1) == [self.last]

    def unknown(self, request: Request | None) -> UnknownOutcomeError:
        """The error for the caller if the log cannot be read."""
        return UnknownOutcomeError(str(self), None if request is None else request.key)


@dataclass(slots=True)
class Order:
    """Arguments of `Study.ask`, and the ids of the trials that were handed out.

    `n` is a number of trials, or None for all remaining trials of a phase.
    """

    n: int | None
    limits: batches.Limits | None
    worker: str | None
    lease: float | None
    trials: list[int] | None = None


def as_order(
    n: Any, worker: Any, lease: Any, max_candidates: Any, max_per_candidate: Any, replicates: Any
) -> Order:
    """Check the arguments of `Study.ask`."""
    if isinstance(n, str):
        if n != batches.PHASE:
            raise ProblemError(f"n must be a whole number or {batches.PHASE!r}; got {n!r}")
        size = None
    else:
        size = 1 if n is None else as_count(n, "n", 1, batches.MOST_TRIALS)
    limits: batches.Limits | None = None
    plain = max_candidates is None and max_per_candidate is None
    if not plain or type(replicates) is not int or replicates != 1:
        limits = batches.as_limits(size or 0, max_candidates, max_per_candidate, replicates)
    if worker is not None:
        as_line(worker, "worker", LONGEST_WORKER, "a name, or None")
    if lease is not None:
        lease = as_number(lease, "lease", low=0, high=batches.LONGEST_LEASE, low_open=True)
    return Order(size, limits, worker, lease)


def log_time(clock: float, last: float) -> float:
    """The time of the next event after one at `last`, given the clock's time.

    If the clock is slightly behind, the time does not go back. If it is more than `SKEW` behind,
    the log follows the clock, so that one event with a time in the future does not freeze the time.

    >>> log_time(99.0, 100.0), log_time(101.0, 100.0), log_time(100.0, 4e9)
    (100.0, 101.0, 100.0)
    """
    return last if last - SKEW <= clock < last else clock


class Session:
    """An open study, which keeps log, state and rules synchronized.

    The state is updated on every read of the log. The rules are updated only when they are needed,
    in one call for all new events, so that reading a study does not run them.

    Parameters
    ----------
    name, key, storage
        The study's name and key, and its storage.
    clock
        Function that returns the time of new events; None: the storage's clock.
    rules
        Sampling rule and stopping rule, each an object or None; the log only has their names.

    Attributes
    ----------
    alone
        Lock that lets one thread at a time use the session.
    chain, state
        Hash chain and state after the last read.
    verdict
        The first decision of the rules on the events that they have replayed.
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
        self.given = rules
        self.alone = threading.RLock()
        # The last decision that was checked, and its contradictions.
        self._checked: tuple[events.Decided | None, dict[str, events.Contradicted]] = (None, {})
        # The request whose outcome is unknown until the log is read.
        self._unsettled: Request | None = None
        # Time of the events that are being written.
        self.moment = 0.0
        self._forget()

    def _forget(self) -> None:
        """Reset the session; the next read replays the log from its beginning."""
        self.state, self.chain = StudyState(), events.Chain(self.name)
        self._forget_rules()

    def _forget_rules(self) -> None:
        self._engine: Engine | None = None
        self._tallies: Tallies | None = None
        self.verdict: events.Decided | None = None
        self._diverged = 0
        # Events that the rules have not replayed, and the arms that the log records for their asks.
        self._batch, self._logged = EventBatch(), list[int]()

    def now(self) -> StudyState:
        """The state after all current events of the log."""
        with self.alone:
            try:
                with events.naming(self.name):
                    more = True
                    while more:
                        entries = self.storage.read(self.key, self.state.sequence, _AT_ONCE)
                        more = len(entries) == _AT_ONCE
                        self._read(entries)
                    _ = self.state.roster  # refuses an empty log
            except BaseException:
                self._forget()
                raise
            return self.state

    def _read(self, entries: Sequence[events.Entry]) -> None:
        self.take_in(events.events_of(self.chain.take_in(entries)))

    def take_in(self, new: Iterable[events.Event]) -> None:
        """Check and apply events of the log."""
        for event in new:
            events.check(self.state, event)
            if type(event.fact) is events.Asked:
                self._note_proposals(event.fact)
            self._apply(event)
            if self._batch.size > _MUCH:
                self.catch_up()

    def _apply(self, event: events.Event) -> None:
        known = len(self.state.observations)
        self.state.take_in(event)
        if isinstance(event.fact, _CHANGES):
            # Earlier proposals are not recomputed: the log has the trials.
            self._forget_rules()
            self._batch = rules.measurements_of(self.state)
        elif new := self.state.observations[known:]:
            sign = self.state.settings.sign
            self._batch.tell([one.arm for one in new], [sign * one.value for one in new])

    def _note_proposals(self, asked: events.Asked) -> None:
        """Add the proposals that the event records to the batch for the rules."""
        chosen = [arm for arm, again in zip(asked.arms, asked.again, strict=True) if again is None]
        if not chosen:
            return
        first = len(self.state.trials) + len(asked.arms) - len(chosen)
        waiting, chosen = self.state.waiting_arms(), self.state.places(chosen)
        if asked.proposed is None:
            self._batch.ask(first, len(chosen), waiting)
            self._logged += chosen
            return
        size = len(chosen) // len(asked.proposed)
        for handed in range(0, len(chosen), size):
            self._batch.ask(first + handed, 1, [*waiting, *chosen[:handed]])
        self._logged += self.state.places(asked.proposed)

    def contradictions(self) -> dict[str, events.Contradicted]:
        """Refuted declarations, and a recorded decision that does not follow from the data.

        The decision is checked because any process with write access to the storage can record one.
        """
        with self.alone:
            state = self.now()
            decision = state.decision
            if state.contradictions or decision is None:
                return state.contradictions
            if self._checked[0] is not decision:
                found = [*refuted(state, tallies_of(state), None), rules.unconfirmed(self)]
                self._checked = decision, {one.what: one for one in found if one is not None}
            return self._checked[1]

    @property
    def has_rules(self) -> bool:
        """Whether the rules are available; the log only has the names of rules that are objects."""
        settings, (algorithm, stopping) = self.state.settings, self.given
        if stopping is None and is_python(settings.stopping):
            return False
        return algorithm is not None or not is_absent(settings.algorithm)

    @property
    def engine(self) -> Engine:
        """The rules after all events; larger values are better."""
        if self._engine is None:
            self._engine = rules.new_engine(self.state.settings, self.state.candidates, *self.given)
        if self._batch:
            self._catch_up(self._engine)
        return self._engine

    def catch_up(self) -> None:
        """Update the rules with the batch of new events."""
        if self._batch:
            _ = self.engine

    def _catch_up(self, engine: Engine) -> None:
        batch, logged = self._batch, self._logged
        self._batch, self._logged = EventBatch(), []
        try:
            verdict, arms = engine.follow(batch)
            self._diverged += int(np.count_nonzero(arms != np.array(logged, dtype=np.int64)))
        except BaseException:
            self._forget()  # the batch may be partly applied
            raise
        # The first verdict counts, even if the process that reached it could not record it.
        if self.verdict is None and verdict is not None:
            settings = self.state.settings
            found = rules.decision_of(settings, verdict)
            is_exact = not rules.is_coarse(settings, engine)
            if is_exact or rules.certificate_holds(self.state, found):
                self.verdict = found

    def estimating(self) -> Engine:
        """An engine with estimates from all measurements; stand-ins replace unavailable rules."""
        if self.has_rules:
            return self.engine
        settings, candidates = self.state.settings, self.state.candidates
        engine = rules.new_engine(settings, candidates, *rules.stand_ins(settings, self.given))
        engine.follow(rules.measurements_of(self.state))
        return engine

    @property
    def diverged(self) -> int:
        """Number of trials for which the rules would now choose another arm than the log records.

        Only trials since the last change of data or declarations count. Choices may differ because
        another release or kind of processor rounds differently; the log takes precedence.
        """
        self.catch_up()
        return self._diverged

    @property
    def tallies(self) -> Tallies:
        """Tallies of all measurements that count."""
        if self._tallies is None:
            self._tallies = Tallies(self.state.candidates.K)
        self._tallies.take_in(self.state.observations)
        return self._tallies

    def propose(self, n: int, replacing: int, handed: Sequence[int] = ()) -> list[int]:
        """Arms of n new trials, chosen by the rule, as indices in the register.

        Their ids follow those of `replacing` trials and of trials of the arms `handed`, which are
        handed out first.
        """
        if n == 0:
            return []
        first = len(self.state.trials) + replacing + len(handed)
        # A replaced trial remains open, for the same arm, under another id.
        waiting = [*self.state.waiting_arms(), *self.state.places(handed)]
        batch = EventBatch()
        batch.ask(first, n, waiting)
        arms = self.state.roster.arms
        return [arms[place] for place in self.engine.follow(batch)[1]]

    def hand_out(self, state: StudyState, order: Order) -> list[events.Fact]:
        """Facts that record handed-out trials; sets `order.trials` to their ids.

        The worker's own open trials come first, then expired trials of others under new ids, then
        new trials that the rule proposes.
        """
        elapsed = state.elapsed_at(self.moment)
        expires = None if order.lease is None else self.moment + order.lease
        waiting = [state.trials[trial_id] for trial_id in state.waiting]
        own = [one for one in waiting if order.worker is not None and one.worker == order.worker]
        mine = {trial.id for trial in own}
        lapsed = [one for one in waiting if one.id not in mine and one.is_expired(elapsed)]
        n = order.n or batches.phase_size(self, order.limits, len(own) + len(lapsed))
        own = own[:n]
        facts: list[events.Fact] = []
        if order.worker is not None and any(trial.expires != expires for trial in own):
            facts.append(events.Renewed(tuple(trial.id for trial in own), order.worker, expires))
        proposed: Sequence[int] | None = None
        if order.limits is None:
            lapsed = lapsed[: n - len(own)]
            fresh = self.propose(n - len(own) - len(lapsed), len(lapsed))
        else:
            order.limits.refuse_too_many(n, len(state.roster.measurable))
            batch = batches.Batch(order.limits, (trial.arm for trial in own))
            lapsed = batch.taken(lapsed, n - len(own))
            proposed, fresh = batch.fill(self, n - len(own) - len(lapsed), len(lapsed))
        first = len(state.trials)
        new = tuple(range(first, first + len(lapsed) + len(fresh)))
        if new:
            again = (*(trial.id for trial in lapsed), *(None for _ in fresh))
            arms = (*(trial.arm for trial in lapsed), *fresh)
            found = None if not proposed else tuple(proposed)
            facts.append(events.Asked(new, arms, again, order.worker, expires, found))
        order.trials = [*(trial.id for trial in own), *new]
        return facts

    def knowing(self, trial_id: int) -> StudyState:
        """The state after the last read or, if it lacks a trial, after a new one."""
        return self.state if 0 <= trial_id < len(self.state.trials) else self.now()

    def trial(self, trial_id: int) -> Trial:
        """The public record of a trial of the current state."""
        record, candidates = self.state.trials[trial_id], self.state.roster.register
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
        """Refuse a trial of another study, or one with another candidate than the log's."""
        if not isinstance(trial, Trial):
            return
        with self.alone:
            known = self.trial(self.knowing(trial.id).trial(trial.id).id)
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

    def write(
        self, make: Callable[..., Sequence[events.Fact]], *given: Any, request: Request | None
    ) -> None:
        """Append the facts that `make` returns for the current state and `given`.

        The log is locked during the call. A request that the log already has is not appended again.
        If the outcome of a commit is unknown, the log is read to check whether it has the entries.
        """
        with self.alone:
            request = self._repeated(request)
            lost: _Lost | None = None
            for attempt in range(_ATTEMPTS):
                last = attempt == _ATTEMPTS - 1
                try:
                    self._prepare()
                    if self._append(make, given, request, lost, None if last else _MANY):
                        self._unsettled = None
                        return
                    self.now()
                except ProblemError:  # nothing has changed
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
        """The request; a repetition of the one with unknown outcome gets the old key."""
        before = self._unsettled
        if request is None or before is None or not request.key.startswith(GENERATED):
            return request
        return before if before.digest == request.digest else request

    def _prepare(self) -> None:
        """Replay and compile before the log is locked, to keep the lock short."""
        state = self.state if self.state.sequence else self.now()
        rules.warm_up(state.settings.algorithm, state.settings.stopping)
        self.catch_up()

    def _append(
        self,
        make: Callable[..., Sequence[events.Fact]],
        given: tuple[Any, ...],
        request: Request | None,
        lost: _Lost | None,
        many: int | None,
    ) -> bool:
        """Lock the log and append the facts; False if `many` new events must be read first."""
        added, done = list[events.Entry](), False
        try:
            with events.naming(self.name), self.storage.locked(self.key) as log:
                entries = log.read(self.state.sequence, many)
                if len(entries) == many:
                    return False
                self._read(entries)
                if request is not None and request.key in self.state.keys:
                    request.refuse_other(self.state.keys[request.key])
                elif lost is None or not lost.is_in(log):
                    self.moment = log_time((self.clock or log.now)(), self.state.time)
                    made = self._events_of(make(self.state, *given), request)
                    added = self.chain.seal([events.entry_of(event) for event in made])
                    log.append(added, written_summary(self.state))
                done = True
        except UnknownOutcomeError as problem:
            # Without entries to write, the outcome does not matter.
            if added:
                raise _Lost(problem, added) from problem
        return done

    def _events_of(
        self, facts: Iterable[events.Fact], request: Request | None
    ) -> list[events.Event]:
        """Events of the facts and of the contradictions and decision that follow; applies them all.

        A decision is only made without contradictions. The first event has the request's key.
        """
        made: list[events.Event] = []
        key = None if request is None else request.written
        for fact in facts:
            made.append(self._next(fact, None if made else key))
            self.catch_up()
            if isinstance(fact, _CHANGES):
                made += [self._next(found) for found in refuted_ever(self.state)]
            elif isinstance(fact, events.Told | events.Observed):
                made += [self._next(found) for found in self._refuted()]
            stands = self.state.decision is not None or self.state.contradictions
            if self.verdict is not None and not stands:
                made.append(self._next(self.state.roster.recorded(self.verdict)))
        return made

    def _refuted(self) -> list[events.Contradicted]:
        """Declarations that the data newly refute."""
        engine = self.engine
        known = engine.last_judged == engine.samples > 0 and engine.widening == 0.0
        return list(refuted(self.state, self.tallies, engine.estimate if known else None))

    def _next(self, fact: events.Fact, key: str | None = None) -> events.Event:
        event = events.Event(self.state.sequence + 1, self.moment, fact, key)
        events.check(self.state, event)
        self._apply(event)
        return event
