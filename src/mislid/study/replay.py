"""The rules of a study, driven by its log."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mislid.engine import Engine, EventBatch, Verdict
from mislid.errors import CertificateError, ProblemError
from mislid.stopping.rules import PYTHON
from mislid.study.assumption_tests import Tallies, refuted, refuted_ever
from mislid.study.candidates import Candidates
from mislid.study.events import (
    Added,
    Asked,
    Contradicted,
    Corrected,
    Decided,
    Event,
    Fact,
    Observed,
    Redeclared,
    Retired,
    Told,
    Voided,
    check,
)
from mislid.study.settings import (
    EQUAL,
    GUARANTEED,
    MAXIMIZE,
    UNKNOWN,
    Settings,
    is_absent,
    is_python,
    question_of,
)
from mislid.study.state import DECISION, StudyState

# What changes measurements or declarations that the rules have taken in, or adds to them.
_CHANGES = (Corrected, Voided, Redeclared, Added, Retired)
_NEWS = (Told, Observed, *_CHANGES)
# Numbers that may gather before the rules take them in.
_MUCH = 1_000_000
# Half a unit in the last place of a mean, in standard errors, up to which rounding does not matter.
COARSE = 1e-9
# Evidence may miss its threshold by so much of it, as in a certificate: another kind of processor
# rounds differently.
SLACK = 1e-6
# The first misspecification of an exploration in units of the smallest noise, how it grows, and how
# often: by then no feature is of use.
FIRST, GROWTH, DOUBLINGS = 0.1, 2.0, 60


def new_engine(
    settings: Settings,
    candidates: Candidates,
    algorithm: Any = None,
    stopping: Any = None,
    *,
    misspecification: float | None = None,
) -> Engine:
    """An engine before the first measurement, for the declared misspecification unless given.

    Rules that are given take the place of those that the settings name. Without features all arms
    are measured first: the model has one column then, whose spanner is one arm.
    """
    if misspecification is not None:
        settings = dataclasses.replace(settings, misspecification=misspecification)
    return Engine(
        question_of(settings, candidates),
        _rule("algorithm", settings.algorithm, algorithm),
        _rule("stopping", settings.stopping, stopping),
        seed=settings.seed,
        every_arm=True if candidates.features is None else None,
        cost=None if settings.cost is None else np.array(settings.cost),
    )


def _rule(argument: str, name: str, given: Any) -> Any:
    if given is not None:
        return given
    if is_python(name):
        raise ProblemError(
            f"{argument} must be given to load_study or create_study: this study was begun with an "
            f"object of {name.removeprefix(PYTHON)!r}, which the log cannot hold"
        )
    if argument == "algorithm" and is_absent(name):
        raise ProblemError(
            f"algorithm {name!r}, with which this study was begun, is of a package that is not "
            "installed here: install it to go on; what is known so far can be read without it"
        )
    return name


def stand_ins(settings: Settings, given: tuple[Any, Any]) -> tuple[Any, Any]:
    """The rules that were given; for others that are not here, some with the same estimates.

    They may have them earlier: whether a rule waits for all arms is not known of one that is not
    here.
    """
    algorithm, stopping = given
    if algorithm is None and is_absent(settings.algorithm):
        algorithm = "mislid"
    if stopping is None and is_python(settings.stopping):
        stopping = "heuristic"
    return algorithm, stopping


@cache
def warm_up(algorithm: str, stopping: str) -> None:
    """Compile what a study with these rules needs, before it keeps others from writing."""
    from mislid.algorithms import ALGORITHMS

    # Rules of others may refuse the question below, and are not compiled.
    if algorithm not in ALGORITHMS or is_python(stopping):
        return
    arms = Candidates((0, 1, 2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    small = Settings(
        m=1,
        delta=0.5,
        misspecification=0.1,
        noise=(1.0,),
        tolerance=0.0,
        direction=MAXIMIZE,
        algorithm=algorithm,
        stopping=stopping,
        seed=0,
    )
    script = EventBatch()
    script.tell((0, 1, 2), (0.0, 0.1, 0.2))
    script.ask(0, 2, ())
    new_engine(small, arms).follow(script)


class Exploration:
    """Rules that trust the features up to a point, and choose every other trial.

    A study whose misspecification is unknown decides by the proof that needs no features. These
    rules take the misspecification for a small one, and for twice as much whenever the answer is
    proved for it. So the misspecification up to which the present answer is proved grows early.
    """

    def __init__(self, settings: Settings, candidates: Candidates) -> None:
        self._settings, self._candidates = settings, candidates
        self.misspecification = FIRST * float(np.min(settings.deviations(candidates.K)))
        self._doublings = 0
        self._engine = self._new_engine()

    def _new_engine(self) -> Engine:
        return new_engine(self._settings, self._candidates, misspecification=self.misspecification)

    def follow(self, script: EventBatch) -> NDArray[np.int64]:
        """Take in what happened; the arms (n,) that it would have chosen.

        What is doubled when is a function of the measurements, however they are handed over.
        """
        return self._engine.follow(script, self._doubt_more)[1]

    def _doubt_more(self, engine: Engine) -> Engine:
        """Rules for the next misspecification at which the answer is not proved."""
        while self._doublings < DOUBLINGS:
            self._doublings += 1
            self.misspecification *= GROWTH
            self._engine = self._new_engine()
            self._engine.reset(engine.counts, engine.sums, scatter=engine.scatter)
            if not self._engine.judge().decided:
                break
        return self._engine


class Replay:
    """State and rules after the events so far; only new ones have to be taken in.

    The state is always up to date. The rules take in events when someone asks for them, all that
    have gathered by then in one call: to look at a study costs no decision. `algorithm` and
    `stopping` are rules that take the place of those that the study's settings name.
    """

    def __init__(self, algorithm: Any = None, stopping: Any = None) -> None:
        self.given = algorithm, stopping
        self._begin()

    def _begin(self) -> None:
        self.state = StudyState()
        self._begin_rules()

    def _begin_rules(self) -> None:
        self._diverged = 0
        self._engine: Engine | None = None
        self._exploration: Exploration | None = None
        # What the rules decided first, as far as they took in the log.
        self.verdict: Decided | None = None
        self._tallies: Tallies | None = None
        self._script = EventBatch()
        self._logged: list[int] = []

    @property
    def has_rules(self) -> bool:
        """Whether there are rules to ask: a log only names those of others."""
        settings, (algorithm, stopping) = self.state.settings, self.given
        if stopping is None and is_python(settings.stopping):
            return False
        return algorithm is not None or not is_absent(settings.algorithm)

    @property
    def engine(self) -> Engine:
        """The rules, up to date; in their sign more is better."""
        if self._engine is None:
            self._engine = new_engine(self.state.settings, self.state.candidates, *self.given)
            if self.state.settings.is_guided and self.given == (None, None):
                self._exploration = Exploration(self.state.settings, self.state.candidates)
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
    def diverged(self) -> int:
        """Number of trials for which the rules would now choose another arm than the log has.

        Since data or declarations were changed last: trials before that had others to go by.
        Another release, or another kind of processor, may differ in the last bits; the log counts.
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

    def catch_up(self) -> None:
        """Let the rules take in what has gathered."""
        if self._script:
            _ = self.engine

    def take_in(self, events: Iterable[Event]) -> None:
        """Take in events from the log."""
        for event in events:
            check(self.state, event)
            if type(event.fact) is Asked:
                self._note_proposals(event.fact)
            self._apply(event)
            if self._script.size > _MUCH:
                self.catch_up()

    def propose(self, n: int, replacing: int, handed: Sequence[int] = ()) -> list[int]:
        """The arms of n new trials that a rule chooses, whose ids follow `replacing` others.

        Trials of the arms `handed` are handed out before them. Arms are those of the register.
        """
        if n == 0:
            return []
        first = len(self.state.trials) + replacing + len(handed)
        # One that is asked again stays open, for the same arm, under another id.
        waiting = [*self.state.waiting_arms(), *self.state.places(handed)]
        script = EventBatch()
        script.ask(first, n, waiting)
        arms = self.state.roster.arms
        return [arms[place] for place in self._follow(self.engine, script)[1]]

    def phase_left(self) -> int | None:
        """How many new trials would complete what the rule plans as a whole; None for most rules.

        Open trials are part of it.
        """
        return self.engine.phase_left(self.state.waiting_arms())

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
            stands = self.state.decision is not None or self.state.contradictions
            if self.verdict is not None and not stands:
                events.append(self._next(self.state.roster.recorded(self.verdict), now))
        return events

    def _refuted(self) -> list[Contradicted]:
        """What the data refute by now of what was declared."""
        engine = self.engine
        known = engine.last_judged == engine.samples > 0 and engine.widening == 0.0
        return list(refuted(self.state, self.tallies, engine.estimate if known else None))

    def _next(self, fact: Fact, now: float, key: str | None = None) -> Event:
        event = Event(self.state.sequence + 1, now, fact, key)
        check(self.state, event)
        self._apply(event)
        return event

    def _apply(self, event: Event) -> None:
        self.state.take_in(event)
        match event.fact:
            case Told(trial, value, more):
                values = (value, *more)
                self._hear((self.state.trials[trial].arm,) * len(values), values)
            case Observed(arms, values):
                self._hear(arms, values)
            case Corrected() | Voided() | Redeclared() | Added() | Retired():
                self._begin_again()

    def _begin_again(self) -> None:
        """Let the rules forget, and take in all measurements as they are by now.

        Requests of before are not asked again: their answers are in the log.
        """
        self._begin_rules()
        for _, told in groupby(self.state.observations, key=lambda one: one.sequence):
            group = list(told)
            self._tell([one.arm for one in group], [one.value for one in group])

    def _hear(self, arms: Sequence[int], values: Sequence[float]) -> None:
        """Tell the rules of measurements whose arms are those of the register."""
        roster = self.state.roster
        if roster.gone:
            values = [value for arm, value in zip(arms, values, strict=True) if arm in roster.arms]
            arms = self.state.places(arms)
        if arms:
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

    def _follow(
        self, engine: Engine, script: EventBatch
    ) -> tuple[Verdict | None, NDArray[np.int64]]:
        """The first verdict that decides, and the arms that the rules choose."""
        verdict, arms = engine.follow(script)
        if self._exploration is not None:
            # Even trials are the study's own choices, odd ones those of the exploration.
            explored = self._exploration.follow(script)
            trials = [step.trial + at for step in script for at in range(step.n)]
            arms = np.where(np.array(trials, dtype=np.int64) % 2 == 0, arms, explored)
        return verdict, arms

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
        if self.verdict is None and verdict is not None:
            found = decision_of(self.state.settings, verdict)
            if not self._is_coarse(engine) or _certificate_holds(self.state, found):
                self.verdict = found

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


def decision_of(settings: Settings, verdict: Verdict) -> Decided:
    """What is recorded of a verdict."""
    answer = verdict.answer or ()
    # A rule that is written in Python may have no evidence to show.
    others = (arm for arm in range(len(answer) + 1) if arm not in answer)
    pair = (next(others), answer[-1]) if verdict.pair is None else verdict.pair
    return Decided(
        answer=answer,
        samples=verdict.samples,
        rule=settings.stopping,
        statistic=float(np.nan_to_num(verdict.statistic, posinf=np.inf)),
        threshold=float(np.nan_to_num(verdict.threshold)),
        pair=pair,
    )


def _certificate_holds(state: StudyState, decision: Decided) -> bool:
    """Whether the certificate of a decision can be made, and holds."""
    from mislid.certificate import Certificate
    from mislid.verification import verify

    if decision.rule != GUARANTEED:
        return True
    arguments = state.settings, state.candidates, decision, state.observations
    try:
        return verify(Certificate("", *arguments).to_dict()).ok
    except CertificateError:
        return False


def unconfirmed(replay: Replay) -> Contradicted | None:
    """What speaks against the decision that the log records; None where it follows from the data.

    Of rules that are not here nobody knows where they prove nothing anyway.
    """
    state, decision = replay.state, replay.state.decision
    if decision is None or _is_reached(replay, decision) or _is_proved(state, decision):
        return None
    level, threshold = state.settings.delta, decision.threshold
    return Contradicted(DECISION, decision.samples, level, 0.0, threshold, 0.0)


def cannot_be_known(replay: Replay) -> bool:
    """Whether rules that are not here decided by another test than `guaranteed`."""
    return not replay.has_rules and replay.state.settings.stopping != GUARANTEED


def _is_reached(replay: Replay, decision: Decided) -> bool:
    """Whether the rules come to it when they take in the log."""
    if not replay.has_rules:
        return cannot_be_known(replay)
    replay.catch_up()
    verdict = replay.verdict
    if verdict is None or (verdict.answer, verdict.samples) != (decision.answer, decision.samples):
        return False
    shown = (verdict.statistic, decision.statistic), (verdict.threshold, decision.threshold)
    return all(math.isclose(*two, rel_tol=SLACK) for two in shown)


def _is_proved(state: StudyState, decision: Decided) -> bool:
    """Whether its measurements prove it all the same.

    So it is where another processor rounded differently.
    """
    from mislid.certificate.certificate import Log

    if state.settings.stopping != GUARANTEED:
        return False
    log = Log(state.settings, state.candidates, state.observations[: decision.samples])
    try:
        log.settle(decision.answer)
    except CertificateError:
        return False
    return True
