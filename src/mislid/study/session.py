"""An open study: its log and its rules in step, and how the log is added to.

Calls count once, however often they are repeated: the log has their keys.
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

# Attempts at a write whose transactions the database undoes.
_ATTEMPTS = 20
# Events that are read at once, so that a long log takes little memory.
_AT_ONCE = 10_000
# With so many new events, a writer reads them before it takes the lock.
_MANY = 50
# Numbers that are collected for the rules at most before they take them in.
_MUCH = 1_000_000
# Characters of a key at most.
_LONGEST = 200
# Seconds by which clocks may differ: the log's time does not go back for them.
SKEW = 600.0
# Events that change measurements or declarations that the rules have taken in.
_CHANGES = (events.Corrected, events.Voided, events.Redeclared, events.Added, events.Retired)


@dataclass(frozen=True, slots=True)
class Request:
    """A call: its key, and a digest of its arguments.

    The key is in the log with the events of the call, so that a repetition finds it there.
    """

    key: str
    digest: str

    @property
    def written(self) -> str:
        """Key and digest as an event has them."""
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
    """Arrays, Series and candidates as plain values: their repr leaves out the middle of arrays."""
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
    """The answer to a commit of these entries was lost."""

    def __init__(self, problem: UnknownOutcomeError, entries: Sequence[events.Entry]) -> None:
        super().__init__(str(problem))
        self.last = entries[-1]

    def is_in(self, log: Log) -> bool:
        """Whether a log, which is locked, has the entries."""
        return log.read(self.last.sequence - 1, 1) == [self.last]

    def unknown(self, request: Request | None) -> UnknownOutcomeError:
        """The error for a caller where the log cannot be read."""
        return UnknownOutcomeError(str(self), None if request is None else request.key)


@dataclass(slots=True)
class Order:
    """What was asked for, and the ids of the trials that were handed out.

    `n` is a number of trials, or None for what completes a phase.
    """

    n: int | None
    limits: batches.Limits | None
    worker: str | None
    lease: float | None
    trials: list[int] | None = None


def as_order(
    n: Any, worker: Any, lease: Any, max_candidates: Any, max_per_candidate: Any, replicates: Any
) -> Order:
    """Check what was asked for."""
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
    """The time of an event after one at `last`, by a clock.

    A clock that is a little behind another one waits. One that is far behind is right, or will be
    put right: the log follows it, so that one event from the future does not stop its time.

    >>> log_time(99.0, 100.0), log_time(101.0, 100.0), log_time(100.0, 4e9)
    (100.0, 101.0, 100.0)
    """
    return last if last - SKEW <= clock < last else clock


class Session:
    """An open study: its log, the state after it and the rules, in step.

    The state follows every look at the log. The rules take in events when they are first needed,
    all that have gathered by then in one call, so reading a study costs no decision.

    Parameters
    ----------
    name, key, storage
        Which study, and where it is kept.
    clock
        Gives the time of new events; None: the storage's clock.
    rules
        Sampling and stopping rule where they are objects, which the log only names.

    Attributes
    ----------
    alone
        A lock: one thread at a time uses a session.
    chain, state
        Seals and state after the last look.
    verdict
        What the rules decided first, as far as they took in the log.
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
        # A recorded decision, and what speaks against it.
        self._checked: tuple[events.Decided | None, dict[str, events.Contradicted]] = (None, {})
        # The request whose answer was lost, until the log has been asked.
        self._unsettled: Request | None = None
        # When the events happen that are being written.
        self.moment = 0.0
        self._forget()

    def _forget(self) -> None:
        """Begin again: the next look replays the log from its beginning."""
        self.state, self.chain = StudyState(), events.Chain(self.name)
        self._forget_rules()

    def _forget_rules(self) -> None:
        self._engine: Engine | None = None
        self._tallies: Tallies | None = None
        self.verdict: events.Decided | None = None
        self._diverged = 0
        # Events that the rules have not taken in, and the arms that the log has for their requests.
        self._batch, self._logged = EventBatch(), list[int]()

    def now(self) -> StudyState:
        """The state after all events by now."""
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
        """Take in events of the log, which are checked."""
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
            # Earlier requests are not asked again: their answers are in the log.
            self._forget_rules()
            self._batch = rules.measurements_of(self.state)
        elif new := self.state.observations[known:]:
            sign = self.state.settings.sign
            self._batch.tell([one.arm for one in new], [sign * one.value for one in new])

    def _note_proposals(self, asked: events.Asked) -> None:
        """Let the rules remember the proposals that the event records."""
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
        """What the data refute: declarations, or a decision that the log records.

        A process that can write to a storage can record a decision that does not follow from data.
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
        """Whether the rules can be asked: a log only names those that are objects."""
        settings, (algorithm, stopping) = self.state.settings, self.given
        if stopping is None and is_python(settings.stopping):
            return False
        return algorithm is not None or not is_absent(settings.algorithm)

    @property
    def engine(self) -> Engine:
        """The rules, up to date; in their sign more is better."""
        if self._engine is None:
            self._engine = rules.new_engine(self.state.settings, self.state.candidates, *self.given)
        if self._batch:
            self._catch_up(self._engine)
        return self._engine

    def catch_up(self) -> None:
        """Let the rules take in what has gathered."""
        if self._batch:
            _ = self.engine

    def _catch_up(self, engine: Engine) -> None:
        batch, logged = self._batch, self._logged
        self._batch, self._logged = EventBatch(), []
        try:
            verdict, arms = engine.follow(batch)
            self._diverged += int(np.count_nonzero(arms != np.array(logged, dtype=np.int64)))
        except BaseException:
            self._forget()  # half of it was taken in
            raise
        # The first verdict counts, also where the process that reached it could not record it.
        if self.verdict is None and verdict is not None:
            settings = self.state.settings
            found = rules.decision_of(settings, verdict)
            is_exact = not rules.is_coarse(settings, engine)
            if is_exact or rules.certificate_holds(self.state, found):
                self.verdict = found

    def estimating(self) -> Engine:
        """An engine with estimates from all measurements: the rules or, without them, others."""
        if self.has_rules:
            return self.engine
        settings, candidates = self.state.settings, self.state.candidates
        engine = rules.new_engine(settings, candidates, *rules.stand_ins(settings, self.given))
        engine.follow(rules.measurements_of(self.state))
        return engine

    @property
    def diverged(self) -> int:
        """Number of trials for which the rules would now choose another arm than the log has.

        It counts from the last change of data or declarations, since trials before that went by
        others. Another release or kind of processor may differ in the last bits; the log counts.
        """
        self.catch_up()
        return self._diverged

    @property
    def tallies(self) -> Tallies:
        """Of all measurements that count."""
        if self._tallies is None:
            self._tallies = Tallies(self.state.candidates.K)
        self._tallies.take_in(self.state.observations)
        return self._tallies

    def propose(self, n: int, replacing: int, handed: Sequence[int] = ()) -> list[int]:
        """The arms of n new trials that a rule chooses, whose ids follow `replacing` others.

        Trials of the arms `handed` are handed out before them. Arms are those of the register.
        """
        if n == 0:
            return []
        first = len(self.state.trials) + replacing + len(handed)
        # One that is asked again stays open, for the same arm, under another id.
        waiting = [*self.state.waiting_arms(), *self.state.places(handed)]
        batch = EventBatch()
        batch.ask(first, n, waiting)
        arms = self.state.roster.arms
        return [arms[place] for place in self.engine.follow(batch)[1]]

    def hand_out(self, state: StudyState, order: Order) -> list[events.Fact]:
        """What is recorded when trials are handed out; sets `order.trials` to their ids.

        First come the worker's own open trials, then expired ones of others, under new ids, then
        what the rule proposes.
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
        """The state as of the last look at the log, or of a new one if this trial is not in it."""
        return self.state if 0 <= trial_id < len(self.state.trials) else self.now()

    def trial(self, trial_id: int) -> Trial:
        """A trial of the present state, as users get it."""
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
        """Refuse a trial that another study handed out, or that is not of its candidate."""
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
        """Append the facts that `make` makes of the present state and what is given.

        The log is locked meanwhile. A request that it has already is not appended again. Where the
        answer to a commit is lost, the log is read to find out whether it has the entries.
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
        """Replay and compile before the log is locked, so that other writers do not wait for it."""
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
        """Read on, make the facts and append them; False with so many events to read first."""
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
            # Where nothing was to be written, nothing was lost.
            if added:
                raise _Lost(problem, added) from problem
        return done

    def _events_of(
        self, facts: Iterable[events.Fact], request: Request | None
    ) -> list[events.Event]:
        """The events that these facts make, with what follows from them; all are taken in.

        That is a contradiction or, where there is none, a decision. The first event has the key.
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
        """What the data refute by now of what was declared."""
        engine = self.engine
        known = engine.last_judged == engine.samples > 0 and engine.widening == 0.0
        return list(refuted(self.state, self.tallies, engine.estimate if known else None))

    def _next(self, fact: events.Fact, key: str | None = None) -> events.Event:
        event = events.Event(self.state.sequence + 1, self.moment, fact, key)
        events.check(self.state, event)
        self._apply(event)
        return event
