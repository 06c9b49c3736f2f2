"""A study at one moment, in numbers: what `mislid study status`, a report or a server shows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mislid._formatting import shown
from mislid._validation import Vector, as_arm
from mislid.certificate.certificate import sha256_of
from mislid.errors import CertificateError, ProblemError
from mislid.forecast.diagnostics import StudyWarning, warnings_of
from mislid.forecast.evidence_summary import Claims
from mislid.forecast.history import Arms, History, Moment, Record, Rule, best_of, history
from mislid.forecast.progress import CostToGo, Snapshot, StudyProgress, WhatIf
from mislid.forecast.sensitivity import Sensitivity, proved_range, sensitivity_of
from mislid.io import as_plain
from mislid.stopping.rules import StoppingRule, stopping_rule_called
from mislid.study.assumption_tests import in_words
from mislid.study.candidates import Candidates
from mislid.study.events import Contradicted
from mislid.study.replay import Replay
from mislid.study.results import CONTRADICTED, DECIDED, Label, StudySummary
from mislid.study.roster import Roster
from mislid.study.settings import GUARANTEED, KNOWN, UNKNOWN, Settings, is_python
from mislid.study.state import NOISE, Correction, Withdrawal, summary_of

# How often a test of what was declared warns without reason, as in `Study.warnings`.
LEVEL = 0.01
UNCHECKED = "unchecked"
NO_RULES = (
    "no forecast: the study's rules are written in Python and were not given, or of a package that "
    "is not installed"
)
# Candidates times pairs beyond which an optimal allocation would take more than some seconds.
LARGEST_GAME = 400_000


@dataclass(frozen=True, eq=False)
class Overview(Record):
    """A study after a number of its events; `Study.overview` gives one.

    All of it is of the same moment, also what is computed later: the study goes on without changing
    it. Arms are indices of candidates, and shapes are (K,) where nothing else is said. Values and
    means are as they were told, also where the smallest are the best.

    Attributes
    ----------
    settings, candidates
        The question.
    arms, values
        The n measurements in their order: indices of candidates, and what was measured.
    decision
        The recorded one, or None before there is one.
    settled
        After how many measurements the rule `guaranteed` settled a pair (challenger, incumbent) of
        the answer; pairs that are open are not in it.
    rules
        Sampling and stopping rule, where they take the place of those that the settings name.
    summary
        Name, status and sizes.
    events
        Number of events in the log.
    fingerprint
        The head of the log: the seal of its last event, a SHA-256 of all of them.
    contradictions
        What the data refute of what was declared, in words; then nothing is proven.
    noise_refuted
        Whether the noise is among it, so that nothing holds for other misspecifications either.
    corrections, withdrawn
        Values that were mended, and decisions that were withdrawn; arms are those of the roster.
    roster
        All candidates that there were, and what became of them.
    warnings
        As `Study.warnings` gives them; one of the kind `unchecked` where they cannot be computed.
    forecaster
        What forecasts are made from; None where the study's rules are not here.
    claims
        What sensitivity and intervals are computed from.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.5)
    >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.6)] * 4)
    >>> seen = study.overview()
    >>> seen.names(seen.order), seen.means.round(2).tolist()
    (('b', 'c', 'a'), [0.2, 0.9, 0.6])

    A forecast takes a while. Here it is made at once, and something is done after every simulation;
    another look does without.

    >>> done = []
    >>> seen.forecast(lambda: done.append("a simulation"))
    >>> len(done), seen.progress.more > 0
    (19, True)
    >>> quick = study.overview()
    >>> quick.without_forecast()
    >>> quick.to_dict()["note"]
    'no forecast: it was not asked for'

    One that left the question is no candidate any more, and still in the register:

    >>> study.retire("c", leave=True, reason="no longer sold")
    >>> later = study.overview()
    >>> later.labels, later.registered(later.roster.gone)
    (['a', 'b'], ('c',))
    """

    summary: StudySummary
    events: int
    fingerprint: str
    contradictions: tuple[str, ...]
    noise_refuted: bool
    corrections: tuple[Correction, ...]
    withdrawn: tuple[Withdrawal, ...]
    roster: Roster
    warnings: tuple[StudyWarning, ...]
    forecaster: Snapshot | None
    claims: Claims

    @classmethod
    def _of(
        cls, name: str, replay: Replay, fingerprint: str, contradictions: Sequence[Contradicted]
    ) -> Overview:
        """The study as a replay knows it, which may go on afterwards."""
        state = replay.state
        summary = summary_of(name, state)
        if contradictions:
            summary = dataclasses.replace(summary, status=CONTRADICTED)
        engine = replay.estimating()
        return cls(
            settings=state.settings,
            candidates=state.candidates,
            arms=np.array([one.arm for one in state.observations], dtype=np.int64),
            values=np.array([one.value for one in state.observations], dtype=np.float64),
            decision=state.decision,
            settled=engine.settled(),
            summary=summary,
            events=state.sequence,
            fingerprint=fingerprint,
            contradictions=tuple(in_words(one, state) for one in contradictions),
            noise_refuted=NOISE in {one.what for one in contradictions},
            corrections=tuple(state.corrections),
            withdrawn=tuple(state.withdrawn),
            roster=state.roster,
            warnings=_warnings(replay, {one.what for one in contradictions}),
            forecaster=Snapshot.of(replay, contradictions) if replay.has_rules else None,
            claims=Claims.of(replay, engine),
            rules=replay.given,
        )

    @property
    def name(self) -> str:
        """The study's name."""
        return self.summary.name

    @property
    def decided(self) -> bool:
        """Whether there is an answer that stands."""
        return self.summary.status == DECIDED

    @property
    def proven(self) -> bool:
        """Whether an answer is, or will be, proven."""
        return self.rule.guaranteed and not self.contradictions

    @property
    def rule(self) -> StoppingRule:
        """The stopping rule, with what stands behind it."""
        return stopping_rule_called(self.settings.stopping)

    @property
    def leaders(self) -> tuple[int, ...]:
        """The answer or, before there is one, what would be it now; best first."""
        return self.best_now if self.decision is None else self.decision.answer

    @cached_property
    def proved(self) -> tuple[float | None, float] | None:
        """Up to which misspecification the answer is proved, and below which all are refuted.

        None where features prove nothing, or with so many candidates that it would take long.
        """
        settings = self.settings
        usable = settings.is_structured and self.rule.name == GUARANTEED and self.samples > 0
        if not usable or self.is_large or self.noise_refuted:
            return None
        try:
            return proved_range(self.claims)
        except CertificateError:
            return None

    @property
    def is_large(self) -> bool:
        """Whether what looks at all pairs by all arms would take more than some seconds."""
        return self.K * self.settings.m * (self.K - self.settings.m) > LARGEST_GAME

    @cached_property
    def progress(self) -> StudyProgress:
        """How far the study has come, as `Study.progress` says it."""
        if self.forecaster is None:
            best = self.names(self.best_now)
            return StudyProgress(self.samples, None, 0, None, NO_RULES, best_now=best)
        return self.forecaster.progress()

    def forecast(self, each: Callable[[], object]) -> None:
        """Simulate now what `progress` would simulate later.

        Parameters
        ----------
        each
            Called without arguments after every simulation. There is none where the study has
            decided, it is too early, or its rules are not here.

        Raises
        ------
        ProblemError
            If `each` cannot be called.
        """
        if not callable(each):
            raise ProblemError(f"each must be callable; got {shown(each)}")
        if self.forecaster is not None:
            self.__dict__["progress"] = self.forecaster.progress(each=each)

    def without_forecast(self) -> None:
        """Let `progress` do without simulations: nothing is said of what is to go."""
        if self.forecaster is not None:
            self.__dict__["progress"] = self.forecaster.standing()

    @cached_property
    def what_ifs(self) -> tuple[WhatIf, ...]:
        """Forecasts for other error rates, one candidate more and less, and other questions."""
        return () if self.forecaster is None else self.forecaster.what_ifs()

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """As `Study.sensitivity` gives it; None where features prove nothing, or without a rule."""
        useless = self.candidates.features is None or self.settings.noise_model == UNKNOWN
        if useless or (self.forecaster is None and is_python(self.settings.stopping)):
            return None
        found = sensitivity_of(self.claims)
        return dataclasses.replace(found, proven=False) if self.noise_refuted else found

    @cached_property
    def now(self) -> Moment | None:
        """Estimates and threshold after all measurements; None before there are estimates.

        They are in the sign in which more is better.
        """
        return None if self._rule.first is None else self._rule.after(self.samples)

    @cached_property
    def best_now(self) -> tuple[int, ...]:
        """The m arms that the estimates prefer, best first; empty before there are estimates."""
        return () if self.now is None else best_of(self, self.now)

    @cached_property
    def estimates(self) -> Vector:
        """The model's estimates of the means; not numbers before there are any."""
        if self.now is None:
            return np.full(self.K, math.nan)
        estimates: Vector = self.settings.sign * self.now.projected
        return estimates

    @cached_property
    def order(self) -> Arms:
        """The leaders in their order, then the others by their estimates, best first.

        Those without any data are last.
        """
        known = self.means if self.now is None else self.estimates
        keys = np.where(np.isnan(known), -math.inf, self.settings.sign * known)
        ordered = np.argsort(-keys, kind="stable")
        leaders = np.array(self.leaders, dtype=ordered.dtype)
        return np.concatenate([leaders, ordered[~np.isin(ordered, leaders)]])

    @cached_property
    def history(self) -> History | None:
        """How the evidence for the leaders grew; None before there are estimates.

        None, too, where the stopping rule is written in Python: nobody knows its evidence. So it is
        where the noise is not known, as `no_history` says.
        """
        return history(self._rule, self.leaders)

    @property
    def no_history(self) -> str:
        """Why `history` is not known; empty where there are no estimates, or nothing is missing."""
        if self.settings.noise_model == KNOWN or self._rule.has_evidence:
            return ""
        return (
            "How the evidence of pairs grew is shown where the standard deviation of the noise was "
            f"declared. Here the noise is {self.settings.noise_words}, and what a pair had at "
            "earlier times is not worked out again; what was settled stays settled."
        )

    @property
    def optimal(self) -> Vector | None:
        """The best allocation if the present estimates were true; None where it is not known."""
        return self._optimum[0]

    @property
    def no_optimum(self) -> str:
        """Why `optimal` is not known; empty where there are no estimates, or nothing is missing."""
        return self._optimum[1]

    @cached_property
    def candidates_fingerprint(self) -> str:
        """SHA-256 of labels and features, as in a certificate."""
        return sha256_of(self.candidates.plain())

    def names(self, arms: Iterable[int]) -> tuple[Label, ...]:
        """The labels of arms.

        Parameters
        ----------
        arms
            Indices of candidates, from 0 to K - 1, such as `leaders` or `order`.

        Returns
        -------
        tuple of str or int
            In the same order.

        Raises
        ------
        ProblemError
            If there is no such arm.
        """
        return _labels_of(arms, self.candidates)

    def registered(self, arms: Iterable[int]) -> tuple[Label, ...]:
        """The labels of arms of the register, which has those that left as well.

        Parameters
        ----------
        arms
            As decisions in `withdrawn`, and `roster`, count them.

        Returns
        -------
        tuple of str or int
            A label for each.

        Raises
        ------
        ProblemError
            If the register has no such arm.
        """
        return _labels_of(arms, self.roster.register)

    def to_dict(self) -> dict[str, Any]:
        """What `mislid study status --format json` prints: values of JSON.

        Returns
        -------
        dict
            How the study stands. The forecast in it takes a while, unless `without_forecast` was
            called before.
        """
        progress = self.progress.to_dict()
        forecast = ("best_now", "pair", "statistic", "threshold", "more", "more_low", "more_high")
        plain: dict[str, Any] = as_plain(
            {
                "study": self.name,
                "status": self.summary.status,
                "samples": self.samples,
                "pending": self.summary.pending,
                "candidates": self.K,
                "m": self.settings.m,
                "delta": self.settings.error_rate,
                "delta_left": self.settings.delta,
                "stopping": self.settings.stopping,
                "proven": self.proven,
                "guarantee": guarantee(self.settings, contradicted=bool(self.contradictions)),
                "misspecification": self.settings.declared,
                "proved_up_to": None if self.proved is None else self.proved[0],
                "refuted_below": None if self.proved is None else self.proved[1],
                "contradictions": list(self.contradictions),
                "corrections": len(self.corrections),
                "withdrawn": [f"{one.cause} at event {one.sequence}" for one in self.withdrawn],
                "answer": None if self.decision is None else self.names(self.decision.answer),
                **{name: progress[name] for name in (*forecast, "note", "lower_bound")},
                "added": self.registered(sorted(self.roster.late)),
                "left": self.registered(sorted(self.roster.gone)),
                "retired": self.registered(sorted(self.roster.closed - self.roster.gone)),
                **{name: progress[name] for name in ("spent", *CostToGo._fields)},
                "budget": self.settings.budget,
                "budget_left": self.settings.budget_left(self.samples),
                "warnings": [warning.to_dict() for warning in self.warnings],
                "events": self.events,
                "head": self.fingerprint,
            }
        )
        return plain

    @cached_property
    def _rule(self) -> Rule:
        return Rule(self)

    @cached_property
    def _optimum(self) -> tuple[Vector | None, str]:
        return (None, "") if self.now is None else optimal_allocation(self, self.now)


def _labels_of(arms: Any, candidates: Candidates) -> tuple[Label, ...]:
    if not isinstance(arms, Iterable):
        raise ProblemError(f"arms must be indices of candidates; got {shown(arms)}")
    return tuple(candidates.labels[as_arm(arm, "arms", candidates.K)] for arm in arms)


def is_proven(stopping: str) -> bool:
    """Whether the error rate of a stopping rule is proven.

    >>> is_proven("guaranteed"), is_proven("heuristic")
    (True, False)
    """
    return stopping_rule_called(stopping).guaranteed


def guarantee(settings: Settings, *, contradicted: bool = False) -> str:
    """What an answer is worth, in words.

    >>> from mislid import create_study
    >>> guarantee(create_study(candidates=["a", "b"], m=1, stopping="heuristic", noise=1).settings)
    "no proof (stopping rule 'heuristic')"
    """
    if not is_proven(settings.stopping):
        return f"no proof (stopping rule {settings.stopping!r})"
    if contradicted:
        return "no proof (the data contradict what was declared)"
    return f"wrong with probability at most {settings.error_rate:g}, proven"


def optimal_allocation(record: Record, now: Moment) -> tuple[Vector | None, str]:
    """The allocation (K,) that is best if the present estimates are true, or why there is none."""
    from mislid.geometry.time import characteristic_time

    settings, K = record.settings, record.K
    structured = math.isfinite(settings.misspecification)
    if structured and K * settings.m * (K - settings.m) > LARGEST_GAME:
        return None, "not computed for so many candidates"
    try:
        time = characteristic_time(
            record.candidates.model(settings.misspecification),
            now.projected,
            settings.m,
            noise=_present_noise(record, now),
            tolerance=settings.tolerance,
            rtol=0.05,
        )
    except CertificateError:
        return None, "could not be computed with certainty"
    return (None, time.note) if time.note else (time.allocation, "")


def _present_noise(record: Record, now: Moment) -> Vector:
    """Standard deviations (K,): those declared or, where the noise is not known, estimates."""
    if record.settings.noise_model == KNOWN or not np.all(now.weights > 0.0):
        return record.noise
    found: Vector = np.sqrt(now.counts / now.weights)
    return found


def _warnings(replay: Replay, known: set[str]) -> tuple[StudyWarning, ...]:
    """Reasons for doubt but what is known; that they are not known is one, too."""
    try:
        return tuple(one for one in warnings_of(replay, LEVEL) if one.kind not in known)
    except CertificateError as problem:
        message = f"whether the data contradict what was declared cannot be said: {problem}"
        return (StudyWarning(UNCHECKED, message, None, math.nan, math.nan),)
