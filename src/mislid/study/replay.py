"""A study as this process knows it: what the log says, and the rules driven by it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mislid.engine import Engine, EventBatch, Verdict
from mislid.errors import CertificateError, CorruptStorageError
from mislid.study.contradictions import Tallies, refuted, refuted_ever
from mislid.study.decisions import decision_of, new_engine, stand_ins
from mislid.study.events import Event
from mislid.study.facts import (
    Accepted,
    Added,
    Asked,
    Contradicted,
    Corrected,
    Decided,
    Fact,
    Observed,
    Redeclared,
    Retired,
    Told,
    Voided,
)
from mislid.study.guide import Guide, mixed
from mislid.study.settings import EQUAL, GUARANTEED, UNKNOWN, is_absent, is_python
from mislid.study.state import StudyState

# What changes measurements or declarations that the rules have taken in, or adds to them.
_CHANGES = (Corrected, Voided, Redeclared, Accepted, Added, Retired)
_NEWS = (Told, Observed, *_CHANGES)
# Numbers that may gather before the rules take them in.
_MUCH = 1_000_000
# Half a unit in the last place of a mean, in standard errors, up to which rounding does not matter.
COARSE = 1e-9


class Replay:
    """State and rules after the events so far; only new ones have to be taken in.

    The state is always up to date. The rules take in events when someone asks for them, all that
    have gathered by then at once: to look at a study costs no decision. `algorithm` and `stopping`
    are rules that take the place of those that the study's settings name.
    """

    def __init__(self, algorithm: Any = None, stopping: Any = None) -> None:
        self.given = algorithm, stopping
        self._begin()

    @property
    def has_rules(self) -> bool:
        """Whether there are rules to ask: a log only names those of others."""
        settings, (algorithm, stopping) = self.state.settings, self.given
        if stopping is None and is_python(settings.stopping):
            return False
        return algorithm is not None or not is_absent(settings.algorithm)

    def _begin(self) -> None:
        self.state = StudyState()
        self._begin_rules()

    def _begin_rules(self) -> None:
        self._diverged = 0
        self._engine: Engine | None = None
        self._guide: Guide | None = None
        self._verdict: Decided | None = None
        self._tallies: Tallies | None = None
        self._script = EventBatch()
        self._logged: list[int] = []

    @property
    def engine(self) -> Engine:
        """The rules, up to date; in their sign more is better."""
        if self._engine is None:
            self._engine = new_engine(self.state.settings, self.state.candidates, *self.given)
            if self.state.settings.is_guided and self.given == (None, None):
                self._guide = Guide(self.state.settings, self.state.candidates)
        if self._script:
            self._catch_up(self._engine)
        return self._engine

    def estimating(self) -> Engine:
        """An engine with estimates from all measurements: the rules or, without them, another.

        Without the sampling rule, the stopping rule still tests after every event.
        """
        if self.has_rules:
            return self.engine
        state = self.state
        rules = stand_ins(state.settings, self.given)
        engine, sign = new_engine(state.settings, state.candidates, *rules), state.settings.sign
        tests = not is_python(state.settings.stopping)
        for _, group in groupby(state.observations, lambda one: one.sequence):
            for one in group:
                engine.observe(one.arm, sign * one.value)
            if tests and np.all(engine.counts[engine.design] > 0):
                engine.judge(test=True)
        if np.all(engine.counts[engine.design] > 0):
            engine.judge(test=False)
        return engine

    @property
    def verdict(self) -> Decided | None:
        """What the rules decided first, as far as they took in the log; None before they did."""
        return self._verdict

    @property
    def diverged(self) -> int:
        """Number of trials for which the rules would now choose another arm than the log has.

        Since data or declarations were changed last: trials before that had others to go by.
        Another release, or another kind of processor, may differ in the last bits; the log counts.
        """
        self.catch_up()
        return self._diverged

    def catch_up(self) -> None:
        """Let the rules take in what has gathered."""
        if self._script:
            _ = self.engine

    def take_in(self, events: Iterable[Event]) -> None:
        """Take in events from the log."""
        for event in events:
            if isinstance(event.fact, Asked):
                self.state.refuse_malformed(event)
                self._note_proposals(event.fact)
            self._apply(event)
            if self._script.size > _MUCH:
                self.catch_up()

    def propose(self, n: int, replacing: int, handed: Sequence[int] = ()) -> list[int]:
        """The arms of n new trials that a rule chooses, whose ids follow `replacing` others.

        Trials of the arms `handed` are handed out before them. Arms are those of the register.
        """
        first = len(self.state.trials) + replacing + len(handed)
        # One that is asked again stays open, for the same arm, under another id.
        waiting = [*self.state.waiting_arms(), *self.state.places(handed)]
        if n == 0:
            return []
        script = EventBatch()
        script.ask(first, n, waiting)
        arms = self.state.census.arms
        return [arms[place] for place in self._follow(self.engine, script)[1]]

    def phase_left(self) -> int | None:
        """How many new trials would complete what the rule plans as a whole; None for most rules.

        Open trials are part of it.
        """
        return self.engine.phase_left(self.state.waiting_arms())

    def _follow(
        self, engine: Engine, script: EventBatch
    ) -> tuple[Verdict | None, NDArray[np.int64]]:
        """What the rules say to a script: the first verdict that decides, and the arms chosen."""
        verdict, arms = engine.follow(script)
        if self._guide is not None:
            arms = mixed(script, arms, self._guide.follow(script))
        return verdict, arms

    def record(self, facts: Iterable[Fact], now: float, key: str | None = None) -> list[Event]:
        """The events that these facts make, with what follows from them; all taken in.

        That is a contradiction or, where there is none, a decision. An `Asked` must come from
        `propose`. The first event has the key.
        """
        events: list[Event] = []
        for fact in facts:
            events.append(self._next(fact, now, None if events else key))
            self.catch_up()
            if isinstance(fact, _CHANGES) and self.state.observations:
                events += [self._next(found, now) for found in refuted_ever(self.state)]
            elif isinstance(fact, _NEWS):
                events += [self._next(found, now) for found in self._refuted()]
            # An acceptance brings its own decision.
            stands = self.state.decision is not None or self.state.contradictions
            if self._verdict is not None and not stands and not isinstance(fact, Accepted):
                events.append(self._next(self.state.census.recorded(self._verdict), now))
        return events

    def _refuted(self) -> list[Contradicted]:
        """What the data refute by now of what was declared."""
        engine = self.engine
        known = engine.last_judged == engine.samples > 0 and engine.widening == 0.0
        return list(refuted(self.state, self.tallies, engine.estimate if known else None))

    @property
    def tallies(self) -> Tallies:
        """Of all measurements that count."""
        if self._tallies is None:
            self._tallies = Tallies(self.state.candidates.K)
        self._tallies.take_in(self.state.observations)
        return self._tallies

    def _next(self, fact: Fact, now: float, key: str | None = None) -> Event:
        event = Event(self.state.sequence + 1, now, fact, key)
        self._apply(event)
        return event

    def _apply(self, event: Event) -> None:
        self.state.apply(event)
        match event.fact:
            case Told(trial, value, more):
                values = (value, *more)
                self._hear((self.state.trials[trial].arm,) * len(values), values)
            case Observed(arms, values):
                self._hear(arms, values)
            case Corrected() | Voided() | Redeclared() | Accepted() | Added() | Retired():
                self._begin_again()

    def _begin_again(self) -> None:
        """Let the rules forget, and take in all measurements as they are by now.

        Requests of before are not asked again: what they gave is in the log.
        """
        self._begin_rules()
        for _, told in groupby(self.state.observations, key=lambda one: one.sequence):
            group = list(told)
            self._tell([one.arm for one in group], [one.value for one in group])

    def _hear(self, arms: Sequence[int], values: Sequence[float]) -> None:
        """Tell the rules of measurements whose arms are those of the register."""
        census = self.state.census
        K = census.register.K
        if arms and not 0 <= min(arms) <= max(arms) < K:
            raise CorruptStorageError(
                f"the study's log names an arm that is not among its {K}: restore the storage from "
                "a backup"
            )
        if census.gone:
            values = [value for arm, value in zip(arms, values, strict=True) if arm in census.arms]
            arms = self.state.places(arms)
            if not arms:
                return
        self._tell(arms, values)

    def _tell(self, arms: Sequence[int], values: Sequence[float]) -> None:
        sign = self.state.settings.sign
        self._script.tell(arms, [sign * value for value in values])

    def _note_proposals(self, asked: Asked) -> None:
        """Let the rules remember the proposals that the event records."""
        chosen = [arm for arm, again in zip(asked.arms, asked.again, strict=True) if again is None]
        if not chosen:
            return
        first = len(self.state.trials) + len(asked.arms) - len(chosen)
        waiting, chosen = self.state.waiting_arms(), self.state.places(chosen)
        if asked.proposed is None:
            self._script.ask(first, len(chosen), waiting)
            self._logged += chosen
            return
        size = len(chosen) // len(asked.proposed)
        for handed in range(0, len(chosen), size):
            self._script.ask(first + handed, 1, [*waiting, *chosen[:handed]])
        self._logged += self.state.places(asked.proposed)

    def _catch_up(self, engine: Engine) -> None:
        script, logged = self._script, self._logged
        self._script, self._logged = EventBatch(), []
        try:
            verdict, arms = self._follow(engine, script)
            self._diverged += int(np.count_nonzero(arms != np.array(logged, dtype=np.int64)))
        except BaseException:
            self._begin()  # half of it was taken in
            raise
        # The first verdict counts, also where the process that reached it could not record it.
        if self._verdict is None and verdict is not None:
            found = decision_of(self.state.settings, verdict)
            if not self._is_coarse(engine) or _holds(self.state, found):
                self._verdict = found

    def _is_coarse(self, engine: Engine) -> bool:
        """Whether rounding of the means may matter for a decision.

        A mean far above the noise is known no better than to its last digit. Where that is not far
        below a standard error, rules that take means for exact may decide too early, and a decision
        is only made if its certificate holds, which bounds all rounding.
        """
        counts, settings = engine.counts.astype(np.float64), self.state.settings
        deviations = settings.deviations(counts.size)
        if settings.noise_model in (UNKNOWN, EQUAL):
            deviations = np.sqrt(engine.scatter / np.maximum(counts, 1.0))
        digits = math.ulp(0.5) * np.abs(engine.means) * np.sqrt(counts)
        return bool(np.any(digits > COARSE * deviations))


def _holds(state: StudyState, decision: Decided) -> bool:
    """Whether a decision by `guaranteed` has a certificate that holds."""
    from mislid.certificate.certificate import Certificate
    from mislid.verification import verify

    if decision.rule != GUARANTEED:
        return True
    arguments = state.settings, state.candidates, decision, state.observations
    try:
        return verify(Certificate("", *arguments).to_dict()).ok
    except CertificateError:
        return False
