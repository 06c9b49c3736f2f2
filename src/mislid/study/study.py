"""A study: an identification that goes on wherever its storage is opened."""

from __future__ import annotations

import dataclasses
import operator
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np

from mislid._validation import as_count, as_number, as_text
from mislid._words import shown
from mislid.errors import (
    ContradictedWarning,
    ImplausibleValueWarning,
    MissingPackageError,
    ProblemError,
    StorageError,
    UnknownOutcomeError,
    UnknownTrialError,
)
from mislid.rules.noise import UNDECLARED
from mislid.study import snapshots
from mislid.study.aggregates import counted, refuse_all_outside, standing_for
from mislid.study.batches import (
    LONGEST_LEASE,
    MOST_TRIALS,
    Batch,
    Limits,
    as_limits,
    fill,
    refuse_too_many,
)
from mislid.study.candidates import Candidates, as_candidates
from mislid.study.certificate import Certificate, Mended
from mislid.study.chain import Chain
from mislid.study.changes import addition, retirement
from mislid.study.claims import Claims
from mislid.study.confirmation import unconfirmed
from mislid.study.contradictions import in_words, refuted, tallies_of
from mislid.study.decisions import warm_up
from mislid.study.estimates import EstimateRow, estimate_rows_of
from mislid.study.events import (
    Asked,
    Contradicted,
    Decided,
    Entry,
    Event,
    Fact,
    Failed,
    Observed,
    Renewed,
    Told,
    entry_of,
    events_of,
)
from mislid.study.history import as_history, as_value
from mislid.study.mending import acceptance, correction, declaration
from mislid.study.plausibility import plausible_range
from mislid.study.replay import Replay
from mislid.study.requests import GENERATED, Request, request_of
from mislid.study.result import CONTRADICTED, Label, StudyResult, Trial
from mislid.study.settings import KNOWN, Settings
from mislid.study.state import COMPLETE, FAIL, NOISE, StudyState, written_summary
from mislid.study.storage import Collision, Log, Storage
from mislid.study.writing import Attempt, Decide, Lost, log_time

if TYPE_CHECKING:
    from pandas import DataFrame

    from mislid.study.budget import BudgetCheck
    from mislid.study.features import FeatureCheck
    from mislid.study.forecast import Snapshot, StudyProgress, WhatIf
    from mislid.study.overview import Overview
    from mislid.study.questions import Ranking, ResultNow, Threshold
    from mislid.study.sensitivity import Sensitivity
    from mislid.study.suspicions import StudyWarning

# How often a transaction that the database undid is done again.
_ATTEMPTS = 20

# Events that are read at once, so that a long log takes little memory.
_AT_ONCE = 10_000

# With so many events to catch up with, one does so before taking the lock.
_MANY = 50

Clock = Callable[[], float]
Found = TypeVar("Found")


class ObservationRow(NamedTuple):
    """A measurement that counts.

    Attributes
    ----------
    event, time
        Its place in the log, and when it came, in seconds since 1970.
    trial
        The id of its trial; None where it was added without one.
    arm, value
        The candidate's label, and what was measured.
    row
        Its place among all measurements of the log, void ones included: what `correct` takes.
    """

    event: int
    time: float
    trial: int | None
    arm: Label
    value: float
    row: int


class Study:
    """An identification in progress; `create_study` and `load_study` give one.

    It may be used by several threads, and any number of processes may have the same study open.

    Parameters
    ----------
    name, key, storage
        The study's name, where it is kept, and under which number.
    clock
        Gives the time, in seconds since 1970; the storage's, where left out.
    rules
        Sampling and stopping rule, where they are objects and not names.

    Attributes
    ----------
    study_name
        Its name in the storage.
    """

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
        # Number of events by which a snapshot was kept.
        self._kept = 0

    def __repr__(self) -> str:
        return f"Study({self.study_name!r}, {self.status}, {self.samples} measurements)"

    def _repr_html_(self) -> str:
        """How the study stands, as notebooks show it."""
        from mislid.report.summary import fragment

        return fragment(self.overview())

    @overload
    def ask(
        self,
        n: None = None,
        *,
        worker: str | None = None,
        lease: float | None = None,
        key: str | None = None,
    ) -> Trial: ...

    @overload
    def ask(
        self,
        n: int,
        *,
        worker: str | None = None,
        lease: float | None = None,
        at_most: int | None = None,
        same_arm: int | None = None,
        replicates: int = 1,
        key: str | None = None,
    ) -> list[Trial]: ...

    def ask(
        self,
        n: int | None = None,
        *,
        worker: str | None = None,
        lease: float | None = None,
        at_most: int | None = None,
        same_arm: int | None = None,
        replicates: int = 1,
        key: str | None = None,
    ) -> Trial | list[Trial]:
        """What to measure next: one trial, or a list of n.

        Parameters
        ----------
        n
            Open trials count as if they had returned the present estimate of their arm, so that a
            batch is spread over arms.
        worker
            Who asks. A worker who asks again gets its own open trials back first, so one name
            should not be used by two at once. Without a name every trial is a new one.
        lease
            Seconds after which a trial that nobody told is asked again, under a new id. Telling it
            late is fine: both count. None: never.
        at_most
            How many different candidates may be in the batch.
        same_arm
            How many trials of one candidate may be in it.
        replicates
            How many trials of each candidate that is chosen are handed out together; n counts
            trials, and is a multiple. A worker's own open trials, which come first, count in all
            three, so that there may be fewer than n.
        key
            Any text that is new: asking again with it gives the same trials. A named worker needs
            none.

        Returns
        -------
        Trial or list of Trial
            What to measure: the label in `arm`.
        """
        count = as_count(1 if n is None else n, "n", 1, MOST_TRIALS)
        limits = as_limits(count, at_most, same_arm, replicates)
        _refuse_worker(worker, key)
        if lease is not None:
            lease = as_number(lease, "lease", low=0, high=LONGEST_LEASE, low_open=True)
        trial_ids: list[int] = []
        request = None
        if worker is None:
            request = request_of(key, "ask", count, lease, at_most, same_arm, replicates)

        def decide(replay: Replay, now: float) -> list[Fact]:
            expires = None if lease is None else now + lease
            refuse_too_many(count, limits, len(replay.state.census.measurable))
            facts, given = _hand_out(replay, count, limits, worker, now, expires)
            trial_ids[:] = given
            return facts

        state = self._write(decide, request)
        if request is not None and request.key in state.keys:
            trial_ids[:] = state.keys[request.key].trials
        trials = [self._trial(state, trial_id) for trial_id in trial_ids]
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int,
        value: float | None = None,
        state: str = COMPLETE,
        *,
        n: int | None = None,
        sd: float | None = None,
        key: str | None = None,
    ) -> None:
        """Tell what a trial gave, or, with state="fail", that it gave nothing.

        Telling the same again changes nothing. Telling something else raises a
        `ConflictingTellError`: the first value stays. So does a trial of another study, or one
        that is not of its arm.

        Parameters
        ----------
        trial
            What `ask` gave, or its id.
        value
            What was measured.
        state
            "complete" or "fail".
        n, sd
            With `n`, the value is the mean of so many, whose sample standard deviation is `sd`.
            Without it, `sd` is the standard deviation that this value itself is known to have: it
            counts as (noise / sd)^2 measurements, rounded down.
        key
            Any text that is new, for the log; the same trial and value never count twice anyway.
        """
        trial_id = _as_trial_id(trial)
        request = None if key is None else request_of(key, "tell", trial_id, value, state, n, sd)
        doubts: list[str] = []
        _refuse_state(state, value)
        told = None if state == FAIL else as_value(value)
        if told is None and (n is not None or sd is not None):
            raise ProblemError("n and sd must be left out for a trial that failed")

        def decide(replay: Replay, _now: float) -> list[Fact]:
            self._refuse_stranger(trial)
            known = replay.state.trial(trial_id)
            if told is None:
                return [Failed(trial_id)] if replay.state.news(trial_id, state, None) else []
            place = replay.state.census.place(known.arm)
            if place is None and (n is not None or sd is not None):
                raise ProblemError(
                    "n and sd must be left out for a candidate that left the question: its values "
                    "do not count"
                )
            values = standing_for(replay.state.settings, place or 0, told, n, sd)
            if not replay.state.news(trial_id, state, values[0]):
                replay.state.refuse_other_values(trial_id, values)
                return []
            refuse_all_outside(values, replay.state.settings)
            doubts[:] = _doubts(replay, trial_id, told)
            return [Told(trial_id, values[0], values[1:])]

        self._write_news(decide, doubts, request)

    def add_observations(self, observations: Any, *, key: str | None = None) -> None:
        """Take in measurements of any origin, in their order; all of them or none.

        Parameters
        ----------
        observations
            A DataFrame or dict with columns `arm` (labels) and `value`, or pairs (arm, value).
            Giving the same ones again counts them again, unless the key is the same.
        key
            Any text that is new, such as the name of a plate: with it the call can be repeated,
            also by another process, and counts once.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
        >>> for _ in range(3):
        ...     study.add_observations([("a", 0.2), ("b", 0.9)], key="plate 7")
        >>> study.samples
        2
        """
        known = self._now()
        candidates, all_arms = _nameable(known, key)
        places, values = as_history(observations, candidates, known.settings.reward_range)
        refuse_all_outside(values, known.settings)
        arms = tuple(all_arms[place] for place in places)
        if arms:
            request = request_of(key, "observe", arms, values)
            self._write_news(lambda _replay, _now: [Observed(arms, values)], request=request)

    def add_counts(
        self,
        arm: Label,
        n: int,
        sum: float,  # noqa: A002
        sumsq: float | None = None,
        *,
        key: str | None = None,
    ) -> None:
        """Take in many measurements of one candidate at once, by their number and sum.

        Parameters
        ----------
        arm
            The candidate's label.
        n, sum
            Number of values, and their sum: of conversions, for values 0 and 1.
        sumsq
            Sum of their squares; needed where the noise is unknown.
        key
            As in `add_observations`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, rewards="bernoulli")
        >>> study.add_counts("a", n=1000, sum=31)
        >>> study.add_counts("b", n=1000, sum=84)
        >>> study.status, study.result.answer
        ('decided', ('b',))
        """
        known = self._now()
        candidates, all_arms = _nameable(known, key)
        at = all_arms[candidates.arm(arm)]
        values = counted(known.settings, n, sum, sumsq)
        refuse_all_outside(values, known.settings)
        request = request_of(key, "observe", at, values)
        self._write_news(
            lambda _replay, _now: [Observed((at,) * len(values), values)], request=request
        )

    def correct(
        self,
        trial: Trial | int | None = None,
        value: float | None = None,
        *,
        row: int | None = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Put the right value in the place of a wrong one, such as 0.91 for 91.

        The log keeps both. Whatever follows from the data follows from the mended ones: a decision
        that no longer holds is withdrawn. A measurement that was void counts again.

        Parameters
        ----------
        trial
            What `ask` gave, or its id.
        value
            What was measured.
        row
            Instead of a trial, for a measurement that none asked for: its row in `observations`.
        reason
            Why, for the log and the certificate. A correction must not depend on whether a value is
            welcome: docs/studies.md says what it does to the guarantee.
        key
            As in `add_observations`: a repeated call does not undo what came in between.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.4), ("a", 0.21), ("b", 0.41)] * 3)
        >>> study.correct(row=1, value=0.37, reason="read from the wrong column")
        >>> study.observation_rows()[1].value
        0.37
        """
        self._mend(trial, row, as_value(value), reason, key)

    def void(
        self,
        trial: Trial | int | None = None,
        *,
        row: int | None = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Let a measurement count no more, such as one of a plate that was dropped.

        Parameters
        ----------
        trial, row, reason, key
            As in `correct`, which also brings one back.
        """
        self._mend(trial, row, None, reason, key)

    def _mend(
        self,
        trial: Trial | int | None,
        row: int | None,
        value: float | None,
        reason: str | None,
        key: str | None,
    ) -> None:
        which = None if trial is None else _as_trial_id(trial)

        def decide(replay: Replay, _now: float) -> list[Fact]:
            self._refuse_stranger(trial)
            return correction(replay.state, which, row, value, reason)

        self._write_news(decide, request=request_of(key, "mend", which, row, value, reason))

    def redeclare(
        self,
        *,
        misspecification: float | None = None,
        noise: Any = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Declare another misspecification, or another noise; no measurement is lost.

        A decision is made anew, from all measurements. docs/checks.md says what is proven then.

        Parameters
        ----------
        misspecification, noise
            As in `create_study`; what is left out stays.
        reason
            Why, for the log and the certificate.
        key
            As in `add_observations`.
        """
        if misspecification is None and noise is None:
            raise ProblemError("redeclare needs misspecification or noise; got neither")
        self._write_news(
            lambda replay, _: declaration(replay.state, misspecification, noise, reason),
            request=request_of(key, "redeclare", misspecification, noise, reason),
        )

    def accept(
        self,
        misspecification: float | None = None,
        *,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Take the present answer, which is proved for every misspecification up to some value.

        What is proved and what is refuted holds for all misspecifications at once, so one may look
        first, as often as one likes: `sensitivity()` says both.

        Parameters
        ----------
        misspecification
            Up to which the answer is wanted; the largest for which it is proved unless given.
        reason
            Why, for the log and the certificate.
        key
            As in `add_observations`.

        Raises
        ------
        ProblemError
            If the answer is not proved for it, the data refute it, or the study has decided.
        """
        self._write_news(
            lambda replay, _: acceptance(replay, misspecification, reason),
            request=request_of(key, "accept", misspecification, reason),
        )

    def add_candidates(
        self,
        candidates: Any,
        *,
        names: Iterable[Any] | None = None,
        columns: Iterable[Any] | None = None,
        noise: Any = None,
        cost: Any = None,
        informed: bool = True,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Ask about more candidates; no measurement is lost, and a decision is made anew.

        Parameters
        ----------
        candidates, names, columns
            As in `create_study`, with the same features as the others; one is enough.
        noise, cost
            Theirs, where each candidate has its own.
        informed
            Whether they may have been chosen after a look at values of this study. If so, a part of
            delta pays for it; if not, nothing does. docs/changing.md says what is proven.
        reason
            Why, for the log and the certificate.
        key
            As in `add_observations`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.9)] * 5)
        >>> study.result.answer
        ('b',)
        >>> study.add_candidates(["c"], reason="came with the second plate")
        >>> study.status, study.ask().arm
        ('running', 'c')
        """
        more = as_candidates(candidates, names, columns, fewest=1)
        self._write_news(
            lambda replay, _: addition(replay.state, more, noise, cost, informed, reason),
            request=request_of(key, "add", more.plain(), informed, reason),
        )

    def retire(
        self,
        arm: Label,
        *,
        leave: bool = False,
        informed: bool = True,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Measure a candidate no more, such as one that is used up.

        Parameters
        ----------
        arm
            Its label.
        leave
            Whether it leaves the question. If not, it stays in the comparison with the values that
            it has, and nothing changes in what is proven.
        informed
            Whether it may leave because of values of this study, as in `add_candidates`.
        reason
            Why, for the log and the certificate.
        key
            As in `add_observations`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.85)] * 3)
        >>> study.retire("c", leave=True, informed=False, reason="no longer sold")
        >>> study.status, study.result.answer
        ('decided', ('b',))
        """
        self._write_news(
            lambda replay, _: retirement(replay.state, arm, leave, informed, reason),
            request=request_of(key, "retire", arm, leave, informed, reason),
        )

    @property
    def status(self) -> str:
        """`running`, `decided`, or `contradicted`: the data refute what was declared.

        A contradicted study claims no proof, whatever it has decided. `redeclare` mends it, or
        `correct` if a measurement was wrong.
        """
        return CONTRADICTED if self._contradictions() else self._now().status

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

    @property
    def result(self) -> StudyResult | None:
        """The answer, or None before there is one."""
        from mislid.rules.stopping import stopping_rule_called

        with self._alone:
            state = self._now()
            decision, labels = state.decision, state.candidates.labels
            if decision is None:
                return None
            contradictions = self._contradictions()
            challenger, incumbent = decision.pair
            engine = self._replay.estimating()
            best = engine.incumbents if engine.is_estimated else decision.answer
            return StudyResult(
                answer=tuple(labels[arm] for arm in decision.answer),
                samples=decision.samples,
                stopping=decision.rule,
                proven=stopping_rule_called(decision.rule).guaranteed and not contradictions,
                statistic=decision.statistic,
                threshold=decision.threshold,
                pair=(labels[challenger], labels[incumbent]),
                observations=len(state.observations),
                best_now=tuple(labels[arm] for arm in best),
                contradictions=tuple(in_words(one, state) for one in contradictions.values()),
                corrections=len(state.corrections),
                certificate=Certificate(
                    self.study_name,
                    state.settings,
                    state.candidates,
                    decision,
                    state.observations,
                    Mended(
                        tuple(state.corrections),
                        tuple(state.declarations),
                        tuple(contradictions.values()),
                        state.census,
                        tuple(state.changes),
                    ),
                ),
            )

    def sensitivity(self, *, level: float | None = None) -> Sensitivity:
        """Up to which misspecification the answer is proved, and which ones the data refute.

        Parameters
        ----------
        level
            How often anything of what is said may be wrong, over the whole study; delta unless
            given.

        Returns
        -------
        Sensitivity
            Where the proof ends, where the data contradict, and the verdict for every
            misspecification of a grid.
        """
        from mislid.study.sensitivity import sensitivity_of

        def examine(replay: Replay, checked: float) -> Sensitivity:
            found = sensitivity_of(Claims.of(replay, replay.engine), checked)
            if NOISE in self._contradictions():
                found = dataclasses.replace(found, proven=False)
            # What is left of delta is what rules go by; what was promised, people.
            promised = replay.state.settings.error_rate
            return found if level is not None else dataclasses.replace(found, level=promised)

        return self._examined(examine, self.settings.delta if level is None else level)

    def estimates(self) -> DataFrame:
        """What is known of every candidate by now: its mean, with an interval, and more.

        Returns
        -------
        pandas.DataFrame
            A row for every candidate, with the fields of `EstimateRow` as columns.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
        >>> study.add_observations([("a", 0.2), ("b", 0.9), ("b", 0.7)])
        >>> study.estimates()[["label", "count", "mean", "in_answer"]].values.tolist()
        [['a', 1, 0.2, False], ['b', 2, 0.8, True]]
        """
        names = [field.name for field in dataclasses.fields(EstimateRow)]
        rows = [dataclasses.astuple(row) for row in self.estimate_rows()]
        return _as_frame(rows, names, "estimates", "estimate_rows")

    def estimate_rows(self) -> list[EstimateRow]:
        """`estimates` without pandas.

        Returns
        -------
        list of EstimateRow
            One for each candidate, in their order.
        """
        with self._alone:
            return estimate_rows_of(self._claims())

    def result_now(self) -> ResultNow:
        """The best answer so far with its anytime p-value: what to report when the budget ends.

        Returns
        -------
        ResultNow
            Answer, p-value, and the pairs that are still open.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
        >>> study.add_observations([("a", 0.2), ("b", 1.9)] * 6)
        >>> now = study.result_now()
        >>> now.answer, round(now.p_value, 2), now.pairs
        (('b',), 0.2, (('a', 'b'),))
        """
        from mislid.study.questions import result_now

        with self._alone:
            contradicted = bool(self._contradictions())
            return result_now(self._claims(), contradicted)

    def threshold(self, threshold: float) -> Threshold:
        """Which candidates are proved to be above a threshold, and which below.

        It follows from `estimates`, so it holds for all thresholds at once, at all times.

        Parameters
        ----------
        threshold
            Of the means.

        Returns
        -------
        Threshold
            Candidates above, below and open.
        """
        from mislid.study.questions import on_sides

        with self._alone:
            self._refuse_contradicted("threshold")
            return on_sides(self._claims(), threshold)

    def ranking(self) -> Ranking:
        """Which places candidates may have, and for which n the n best are proved.

        It follows from `estimates`, so it holds for all n at once, at all times.

        Returns
        -------
        Ranking
            All candidates with the best and the worst place that each may have.
        """
        from mislid.study.questions import ranking

        with self._alone:
            self._refuse_contradicted("ranking")
            return ranking(self._claims())

    def _refuse_contradicted(self, what: str) -> None:
        """Refuse to prove something from what the data refute."""
        for found in self._contradictions().values():
            raise ProblemError(f"{what} proves nothing: {in_words(found, self._now())}")

    def _claims(self) -> Claims:
        self._now()
        return Claims.of(self._replay, self._replay.estimating())

    def features_check(self) -> FeatureCheck:
        """What the features are worth, by what was declared alone; no measurement is looked at.

        Returns
        -------
        FeatureCheck
            Sizes, leverage, and measurements that are needed with the features and without.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=[[0], [1], [2], [3]], m=1, misspecification=0, noise=1)
        >>> check = study.features_check()
        >>> check.d, check.samples_without > check.samples_with
        (2, True)
        """
        from mislid.study.features import check_features

        state = self._now()
        return check_features(state.settings, state.candidates)

    def budget_check(self, budget: int | None = None) -> BudgetCheck:
        """Which gap between candidates a budget can be expected to prove; no data are looked at.

        Parameters
        ----------
        budget
            Measurements in all; what the study was created with unless given.

        Returns
        -------
        BudgetCheck
            The least gap with the features and without.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=1.0, budget=60)
        >>> few, many = study.budget_check(), study.budget_check(6000)
        >>> few.gap_without > 5 * many.gap_without
        True
        """
        from mislid.study.budget import check_budget

        state = self._now()
        given = state.settings.budget if budget is None else as_count(budget, "budget", 1)
        return check_budget(state.settings, state.candidates, given)

    @property
    def budget_left(self) -> int | None:
        """Measurements that are left of the budget; None without one."""
        state = self._now()
        return state.settings.budget_left(len(state.observations))

    def warnings(self, *, level: float = 0.01) -> tuple[StudyWarning, ...]:
        """Whether the data contradict what was declared, or the answer, or the log the rules.

        Parameters
        ----------
        level
            How often a test of the declared noise, or of the misspecification, may warn without
            reason, however often one looks.

        Returns
        -------
        tuple of StudyWarning
            Reasons for doubt, with what to do; empty where there are none.
        """
        from mislid.study.suspicions import warnings_of

        return self._examined(warnings_of, level)

    @property
    def samples(self) -> int:
        """Number of measurements by now."""
        return len(self._now().observations)

    @property
    def settings(self) -> Settings:
        """The question."""
        return self._now().settings

    @property
    def register(self) -> Candidates:
        """All candidates that ever were in the study; arms of `events` are places in it."""
        return self._now().census.register

    @property
    def candidates(self) -> Candidates:
        """The arms."""
        return self._now().candidates

    @property
    def pending(self) -> list[Trial]:
        """The trials that nobody has told yet, in the order in which they were asked."""
        with self._alone:
            state = self._now()
            return [self._trial(state, trial_id) for trial_id in state.waiting]

    def observations(self) -> DataFrame:
        """All measurements, in order.

        Returns
        -------
        pandas.DataFrame
            With the columns event, time, trial, arm, value and row.
        """
        fields = list(ObservationRow._fields)
        table = _as_frame(self.observation_rows(), fields, "observations", "observation_rows")
        return table.astype({"trial": "Int64"})

    def observation_rows(self) -> list[ObservationRow]:
        """`observations` without pandas.

        Returns
        -------
        list of ObservationRow
            One for each measurement, in order.
        """
        with self._alone:
            state = self._now()
            labels = state.candidates.labels
            return [
                ObservationRow(
                    one.sequence, one.time, one.trial, labels[one.arm], one.value, one.row
                )
                for one in state.observations
            ]

    def progress(self, *, simulations: int | None = None) -> StudyProgress:
        """How many more measurements, and what they are needed for; see docs/studies.md.

        Parameters
        ----------
        simulations
            Of the rest of the study: 19, or 9 where features are many. More are steadier.

        Returns
        -------
        StudyProgress
            Measurements to go with a range, the hardest pair, and a lower bound.
        """
        return self._snapshot().progress(simulations)

    def what_if(
        self,
        *,
        m: int | None = None,
        delta: float | None = None,
        tolerance: float | None = None,
        misspecification: float | None = None,
        simulations: int | None = None,
    ) -> WhatIf:
        """How many more for another question, with the same data; what is left out stays.

        To act on it, and keep an error rate, see docs/studies.md.

        Parameters
        ----------
        m, delta, tolerance, misspecification
            The other question.
        simulations
            As in `progress`.

        Returns
        -------
        WhatIf
            Measurements to go with a range.
        """
        changes = {"m": m, "delta": delta, "tolerance": tolerance}
        return self._snapshot().what_if(simulations, **changes, misspecification=misspecification)

    def what_ifs(self, *, simulations: int | None = None) -> tuple[WhatIf, ...]:
        """`what_if` for error rates 0.1 and 0.01, one candidate more and less, and others.

        Parameters
        ----------
        simulations
            As in `progress`.

        Returns
        -------
        tuple of WhatIf
            One for each question.
        """
        return self._snapshot().what_ifs(simulations)

    def overview(self) -> Overview:
        """The study at one moment, as `mislid study status` and reports show it.

        Returns
        -------
        Overview
            Question, measurements, answer, forecasts, sensitivity, warnings and evidence, all of
            the same events whatever is told meanwhile.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
        >>> seen = study.overview()
        >>> study.add_observations([("a", 0.2), ("b", 0.9)])
        >>> seen.samples, study.overview().samples
        (0, 2)
        """
        from mislid.study.overview import Overview

        with self._alone:
            self._now()
            refuted_now = list(self._contradictions().values())
            if self._replay.has_rules:
                self._replay.catch_up()
                self._keep()
            return Overview.of(self.study_name, self._replay, self._chain.head, refuted_now)

    def events(self) -> list[Event]:
        """The whole log.

        Returns
        -------
        list of Event
            All that happened, in order.
        """
        return list(events_of(Chain().take_in(self._storage.read(self._key))))

    def optimize(
        self,
        measure: Callable[[Trial], float],
        *,
        n_trials: int | None = None,
        n_jobs: int = 1,
        timeout: float | None = None,
        catch: tuple[type[Exception], ...] = (),
        callbacks: Sequence[Callable[[Study, Trial], object]] = (),
        show_progress_bar: bool = False,
        worker: str | None = None,
        lease: float | None = None,
    ) -> None:
        """Ask, measure and tell until the study has decided, or its budget is used up.

        Parameters
        ----------
        measure
            Gives the value of a trial; it may take its time. What it raises is told as a failure
            and ends the loop, unless it is of a type in `catch`.
        n_trials
            Stop earlier, after so many trials.
        n_jobs
            Threads that measure at the same time.
        timeout
            Stop earlier, after so many seconds.
        catch
            Exceptions of `measure` after which the loop goes on.
        callbacks
            Functions of the study and the trial that was just told.
        show_progress_bar
            Whether to show on stderr how far the evidence has come.
        worker, lease
            As in `ask`; with several jobs, their numbers are put behind the worker's name.
        """
        from mislid.study.optimize import Loop

        Loop(self, measure, n_trials, timeout, catch, callbacks, worker, lease).run(
            n_jobs, show_progress_bar=show_progress_bar
        )

    def _examined(self, examine: Callable[[Replay, float], Found], level: float) -> Found:
        checked = as_number(level, "level", low=0, high=1, low_open=True, high_open=True)
        with self._alone:
            self._now()
            return examine(self._replay, checked)

    def _now(self) -> StudyState:
        """The state after all events by now."""
        with self._alone:
            try:
                more = True
                if self._replay.state.sequence == 0:
                    self._recall()
                while more:
                    after = self._replay.state.sequence
                    entries = self._storage.read(self._key, after, _AT_ONCE)
                    self._follow(entries)
                    more = len(entries) == _AT_ONCE
            except BaseException:
                self._forget()
                raise
            return self._replay.state

    def _recall(self) -> None:
        """Begin with what is kept of a long log, if the log still has what that ends with."""
        if self._rules != (None, None) or not snapshots.are_kept():
            return
        first = self._storage.read(self._key, 0, 1)
        if not first:
            return
        replay = Replay()
        chain = snapshots.recall(Chain().take_in(first)[0].seal, replay)
        if chain is None:
            return
        last = self._storage.read(self._key, chain.sequence - 1, 1)
        if [entry.seal for entry in last] == [chain.head]:
            self._replay, self._chain, self._kept = replay, chain, chain.sequence

    def _keep(self) -> None:
        """Keep what a long log has come to."""
        if self._replay.state.sequence - self._kept >= snapshots.EVERY:
            self._kept = self._replay.state.sequence
            snapshots.keep(self._replay, self._chain)

    def _snapshot(self) -> Snapshot:
        from mislid.study.forecast import Snapshot

        with self._alone:
            self._now()
            return Snapshot.of(self._replay)

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
        self._keep()

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


def _hand_out(
    replay: Replay, n: int, limits: Limits, worker: str | None, now: float, expires: float | None
) -> tuple[list[Fact], list[int]]:
    """What is recorded when n trials are asked for, and their ids.

    First the worker's own open trials, then expired ones of others, under new ids, then what the
    rule proposes.
    """
    state, elapsed = replay.state, replay.state.elapsed_at(now)
    facts: list[Fact] = []
    waiting = [state.trials[trial_id] for trial_id in state.waiting]
    own = [trial for trial in waiting if worker is not None and trial.worker == worker][:n]
    if any(trial.expires != expires for trial in own) and worker is not None:
        facts.append(Renewed(tuple(trial.id for trial in own), worker, expires))
    mine = {trial.id for trial in own}
    lapsed = [trial for trial in waiting if trial.id not in mine and trial.is_expired(elapsed)]
    proposed: tuple[int, ...] = ()
    fresh: Sequence[int]
    if limits.is_free:
        lapsed = lapsed[: n - len(own)]
        fresh = replay.propose(n - len(own) - len(lapsed), len(lapsed))
    else:
        batch = Batch(limits, (trial.arm for trial in own))
        lapsed = batch.taken(lapsed, n - len(own))
        proposed, fresh = fill(replay, batch, limits, n - len(own) - len(lapsed), len(lapsed))
    first = len(state.trials)
    new = tuple(range(first, first + len(lapsed) + len(fresh)))
    if new:
        again = (*(trial.id for trial in lapsed), *(None for _ in fresh))
        arms = (*(trial.arm for trial in lapsed), *fresh)
        facts.append(Asked(new, arms, again, worker, expires, proposed or None))
    return facts, [*(trial.id for trial in own), *new]


def _nameable(known: StudyState, key: Any) -> tuple[Candidates, Sequence[int]]:
    """The candidates that a call may name, and their arms.

    One that is repeated may name those that have left the question since.
    """
    if isinstance(key, str) and key in known.keys:
        register = known.census.register
        return register, range(register.K)
    return known.candidates, known.census.arms


def _doubts(replay: Replay, trial_id: int, value: float) -> list[str]:
    """Whether a value is far outside of what was to be expected, in words."""
    state = replay.state
    arm = state.census.place(state.trials[trial_id].arm)
    if arm is None:
        return []  # it does not count
    label = state.candidates.labels[arm]
    noise = state.settings.deviations(state.candidates.K)
    if state.settings.noise_model in UNDECLARED:
        noise = np.zeros_like(noise)
    elif state.settings.noise_model != KNOWN:
        return []  # whatever is in the range is plausible
    expected = plausible_range(replay.tallies, noise, arm)
    if expected is None or expected[0] <= value <= expected[1]:
        return []
    words = (
        f"{value:g} for {label!r} is far from what was measured before, which lets one expect "
        f"{expected[0]:.3g} to {expected[1]:.3g}; it counts. If it is a mistake: "
        f"study.correct({trial_id}, VALUE), or `mislid study correct NAME {trial_id} VALUE`"
    )
    return [words]


def _as_frame(
    rows: Sequence[tuple[Any, ...]], columns: list[str], what: str, plain: str
) -> DataFrame:
    try:
        import pandas as pd
    except ImportError:
        raise MissingPackageError(
            f"{what} needs pandas (pip install 'mislid[cli]'); {plain} gives the same rows "
            "without it"
        ) from None
    return pd.DataFrame(rows, columns=columns)


def _as_trial_id(trial: Any) -> int:
    trial_id = trial.id if isinstance(trial, Trial) else trial
    try:
        if isinstance(trial_id, bool):
            raise TypeError
        number = operator.index(trial_id)
        if abs(number) >= 1 << 63:
            raise TypeError
        return number
    except TypeError:
        raise UnknownTrialError(
            f"trial must be a trial or its id, an integer; got {shown(trial)}"
        ) from None


def _refuse_state(state: Any, value: Any) -> None:
    if not isinstance(state, str) or state not in (COMPLETE, FAIL):
        raise ProblemError(f"state must be {COMPLETE!r} or {FAIL!r}; got {shown(state)}")
    if state == FAIL and value is not None:
        raise ProblemError(f"value must be left out for a trial that failed; got {shown(value)}")


def _refuse_worker(worker: Any, key: Any) -> None:
    if worker is not None:
        as_text(worker, "worker", "a name, or None")
    if worker is not None and key is not None:
        raise ProblemError(
            f"key must be left out where a worker is named, who gets its own trials again; got "
            f"{shown(key)}"
        )
