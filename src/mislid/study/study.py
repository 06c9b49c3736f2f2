"""A study: an identification that goes on wherever its storage is opened."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from mislid._formatting import as_frame, shown
from mislid._validation import as_count
from mislid.errors import ContradictedWarning, ImplausibleValueWarning, ProblemError
from mislid.study import measurements, roster
from mislid.study.assumption_tests import in_words
from mislid.study.candidates import Candidates, as_candidates
from mislid.study.events import Chain, Event, Fact, events_of, naming
from mislid.study.results import CONTRADICTED, Label, StudyResult, Trial, as_trial_id, result_of
from mislid.study.session import Session, as_order, request_of
from mislid.study.settings import Settings
from mislid.study.state import COMPLETE, StudyState

if TYPE_CHECKING:
    from pandas import DataFrame

    from mislid.forecast import (
        Expectation,
        Overview,
        Ranking,
        ResultNow,
        Sensitivity,
        StudyProgress,
        StudyWarning,
        Threshold,
        WhatIf,
    )


class Study:
    """An identification in progress; `create_study` and `load_study` give one.

    It may be used by several threads, and any number of processes may have the same study open.

    All methods read its log, so all of them raise a `StorageError` where that cannot be read, and
    an `UnknownStudyError` once the study has been deleted. A study whose rules are not here can be
    read: rules that are objects and were not given to `load_study`, or that are of a package that
    is not installed. What would add to its log, or look ahead, raises a `ProblemError` then. A call
    after which the data refute what was declared warns, with a `ContradictedWarning`.

    Parameters
    ----------
    session
        Its open log.

    Attributes
    ----------
    study_name
        Its name in the storage.

    Examples
    --------
    Which of four doses has the largest effect? A first trial is measured by hand, seven more by a
    robot.

    >>> from mislid import create_study
    >>> doses = {"1 mg": [1.0], "2 mg": [2.0], "4 mg": [4.0], "8 mg": [8.0]}
    >>> study = create_study(candidates=doses, m=1, misspecification=0.05, noise=0.3)
    >>> trial = study.ask()
    >>> trial.arm
    '1 mg'
    >>> study.tell(trial, 0.13)
    >>> robot = {"1 mg": 0.1, "2 mg": 0.2, "4 mg": 0.35, "8 mg": 0.9}
    >>> study.optimize(lambda trial: robot[trial.arm], n_trials=7)

    What it waits for, and whether fewer measurements are needed at an error rate of 0.2:

    >>> progress = study.progress(simulations=5)
    >>> progress.pair
    ('4 mg', '8 mg')
    >>> study.what_if(delta=0.2, simulations=5).more < progress.more
    True

    The vial of one measurement was broken, and the noise is larger than was thought. The log keeps
    what was before.

    >>> study.void(row=2, reason="broken vial")
    >>> study.redeclare(noise=0.4, reason="as the blanks scatter")
    >>> study.observations().row.to_list()
    [0, 1, 3, 4, 5, 6, 7]
    >>> [type(event.fact).__name__ for event in study.events()][-3:]
    ['Told', 'Voided', 'Redeclared']

    Measured to the end. By the features, two of the doses are enough to tell of all.

    >>> study.optimize(lambda trial: robot[trial.arm])
    >>> study.result.answer
    ('8 mg',)
    >>> study.observations().groupby("arm").size().to_dict()
    {'1 mg': 16, '8 mg': 16}
    >>> study.estimates()[["label", "lower", "upper"]].round(2).values.tolist()
    [['1 mg', -0.31, 0.51], ['2 mg', -0.24, 0.67], ['4 mg', 0.05, 0.84], ['8 mg', 0.49, 1.31]]

    What else the same measurements prove, and whether anything speaks against them:

    >>> study.threshold(0.4).above
    ('8 mg',)
    >>> study.ranking().order
    ('8 mg', '4 mg', '2 mg', '1 mg')
    >>> study.sensitivity().statement
    'proved for every misspecification up to 0.0514'
    >>> study.warnings()
    ()
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.study_name = session.name

    def __repr__(self) -> str:
        return f"Study({self.study_name!r}, {self.status}, {self.samples} measurements)"

    def _repr_html_(self) -> str:
        """The state of the study, as notebooks show it."""
        from mislid.report import fragment

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
        n: int | Literal["phase"],
        *,
        worker: str | None = None,
        lease: float | None = None,
        max_candidates: int | None = None,
        max_per_candidate: int | None = None,
        replicates: int = 1,
        key: str | None = None,
    ) -> list[Trial]: ...

    def ask(
        self,
        n: int | Literal["phase"] | None = None,
        *,
        worker: str | None = None,
        lease: float | None = None,
        max_candidates: int | None = None,
        max_per_candidate: int | None = None,
        replicates: int = 1,
        key: str | None = None,
    ) -> Trial | list[Trial]:
        """What to measure next: one trial, or a list of n.

        Parameters
        ----------
        n
            Open trials count as if they had returned the present estimate of their candidate, so
            that a batch is spread over candidates. "phase" asks for all that is left of what the
            rule has planned, for rules that plan many measurements at once, such as "rage".
        worker
            Who asks. A worker who asks again gets its own open trials back first, so one name
            should not be used by two at once. Without a name every trial is a new one.
        lease
            Seconds after which an untold trial is handed out again, under a new id. Telling it
            late is fine: both count. None: never.
        max_candidates
            How many different candidates the batch may have.
        max_per_candidate
            How many trials of one candidate it may have.
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

        Raises
        ------
        ProblemError
            If an argument is not allowed, or no batch of n trials keeps the limits; if both a
            worker and a key are given, or the key is that of another call; or if n is "phase" and
            the rule has no phases, or waits for open trials before it plans the next one.
        StorageError
            If the log cannot be read or written. An `UnknownOutcomeError` says that it is
            not known whether it was written: asking again with its `key` gives the same trials.
        """
        order = as_order(n, worker, lease, max_candidates, max_per_candidate, replicates)
        request = None
        if worker is None:
            limits = (max_candidates, max_per_candidate, replicates)
            request = request_of(key, "ask", order.n or n, order.lease, *limits)
        elif key is not None:
            raise ProblemError(
                "key must be left out where a worker is named, who gets its own trials again; got "
                f"{shown(key)}"
            )
        with self._session.alone:
            self._session.write(self._session.hand_out, order, request=request)
            ids: Iterable[int] = order.trials or ()
            if order.trials is None and request is not None:  # asked before with this key
                ids = self._session.state.keys[request.key].trials
            trials = [self._session.trial(trial_id) for trial_id in ids]
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

        Telling the same again changes nothing.

        Parameters
        ----------
        trial
            What `ask` gave, or its id.
        value
            What was measured.
        state
            "complete" or "fail".
        n, sd
            The value is the mean of n, whose sample standard deviation is `sd`, which may be left
            out where the noise is known.
        key
            Any text that is new, for the log; the same trial and value never count twice anyway.

        Raises
        ------
        UnknownTrialError
            If the study has not asked for this trial, or has asked for another candidate under its
            id, as another study may have.
        ConflictingTellError
            If the trial was told something else before, which stays; `correct` mends a mistake.
        ProblemError
            If the value is not a number, or one that the declared range excludes, or `state`, `n`,
            `sd` or `key` is not allowed.
        StorageError
            As in `ask`.

        Warns
        -----
        ImplausibleValueWarning
            If the value is far from what was measured before, as a typing error is. It counts.
        """
        trial_id = as_trial_id(trial)
        told = measurements.as_tell(value, state, n, sd)
        with self._session.alone:
            self._session.refuse_stranger(trial)
            doubts = measurements.doubts(self._session, trial_id, told)
            self._record(measurements.tell, trial_id, told, n, sd, key=key)
        for words in doubts:
            warnings.warn(words, ImplausibleValueWarning, stacklevel=2)

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

        Raises
        ------
        ProblemError
            If there are no such columns or pairs, a label is not that of a candidate, a value is
            not a number or outside of the declared range, or the key is that of another call.
        StorageError
            As in `ask`; with the key of an `UnknownOutcomeError` the call counts once.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
        >>> for _ in range(3):
        ...     study.add_observations([("a", 0.2), ("b", 0.9)], key="plate 7")
        >>> study.samples
        2
        """
        self._record(measurements.observe, measurements.as_pairs(observations), key=key)

    def add_counts(
        self, arm: Label, n: int, sum: float, sumsq: float | None = None, *, key: str | None = None
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

        Raises
        ------
        ProblemError
            If the label is not that of a candidate, no n values have this sum and these squares, n
            is above 1,000,000, `sumsq` is missing where the noise is unknown, or the study wants
            the values themselves: of a range it does.
        StorageError
            As in `add_observations`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise="bernoulli")
        >>> study.add_counts("a", n=1000, sum=31)
        >>> study.add_counts("b", n=1000, sum=84)
        >>> study.status, study.result.answer
        ('decided', ('b',))
        """
        self._record(measurements.count, arm, n, sum, sumsq, key=key)

    def optimize(
        self,
        measure: Callable[[Trial], float],
        *,
        n_trials: int | None = None,
        n_jobs: int = 1,
        timeout: float | None = None,
        catch: tuple[type[Exception], ...] = (),
        callbacks: Sequence[Callable[[Study, Trial], object]] = (),
        worker: str | None = None,
        lease: float | None = None,
    ) -> None:
        """Ask, measure and tell until the study has decided, or its budget is used up.

        It ends, too, when the data contradict what was declared.
        Others may ask and tell at the same time, from any process. After Ctrl-C all that was told
        is kept, and the trial that was being measured is still open.

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
        worker, lease
            As in `ask`; with several jobs, their numbers are put behind the worker's name.

        Raises
        ------
        ProblemError
            If an argument is not allowed, or `measure` gives what is no number.
        StorageError
            As in `ask` and `tell`.
        Exception
            Whatever `measure` raises that is not in `catch`, and whatever callbacks raise.
        """
        from mislid.study.optimize import Loop

        Loop(self, measure, n_trials, timeout, catch, callbacks, worker, lease).run(n_jobs)

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
        trial, value
            As in `tell`.
        row
            Instead of a trial, for a measurement that none asked for: its row in `observations`.
        reason
            Why, for the log and the certificate. A correction must not depend on whether a value is
            welcome: docs/studies.md says what it does to the guarantee.
        key
            As in `add_observations`: a repeated call does not undo what came in between.

        Raises
        ------
        UnknownTrialError
            If the study has not asked for this trial, as in `tell`.
        ProblemError
            If both a trial and a row are given, or neither; if the trial has no value, or told
            several at once; if there is no such row; or if the new value is not allowed.
        StorageError
            If the log cannot be read or written, as in `ask`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.4), ("a", 0.21), ("b", 0.41)] * 3)
        >>> study.correct(row=1, value=0.37, reason="read from the wrong column")
        >>> study.observations().value[1].item()
        0.37
        """
        which = None if trial is None else as_trial_id(trial)
        self._session.refuse_stranger(trial)
        right = measurements.as_value(value)
        self._record(measurements.correct, which, row, right, reason, key=key)

    def void(
        self,
        trial: Trial | int | None = None,
        *,
        row: int | None = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Let a measurement count no more, such as one of a plate that was dropped.

        The log keeps it. Whatever follows from the data follows from the others: a decision that no
        longer holds without it is withdrawn.

        Parameters
        ----------
        trial, row, reason, key
            As in `correct`, which also brings one back.

        Raises
        ------
        UnknownTrialError, ProblemError, StorageError
            As in `correct`; but a trial that told several values can be voided: all of them go.
        """
        which = None if trial is None else as_trial_id(trial)
        self._session.refuse_stranger(trial)
        self._record(measurements.void, which, row, reason, key=key)

    def redeclare(
        self,
        *,
        misspecification: float | None = None,
        noise: Any = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Declare another misspecification, or another noise; no measurement is lost.

        The study decides again, from all measurements. docs/checks.md says what is proven then.

        Parameters
        ----------
        misspecification, noise
            As in `create_study`; None keeps the present one.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If both are left out or one is not allowed, or if the study was begun with another kind
            of noise than a number.
        StorageError
            As in `ask`.
        """
        if misspecification is None and noise is None:
            raise ProblemError("redeclare needs misspecification or noise; got neither")
        self._record(roster.redeclare, misspecification, noise, reason, key=key)

    def add_candidates(
        self,
        candidates: Any,
        *,
        names: Iterable[Any] | None = None,
        columns: Iterable[Any] | None = None,
        noise: Any = None,
        cost: Any = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Ask about more candidates; all measurements are kept, and the study decides again.

        They need the features that the others have, and names that were never used.
        docs/changing.md says what is proven then.

        Parameters
        ----------
        candidates, names, columns
            As in `create_study`, with the same features as the others; one is enough.
        noise
            Theirs, which must be that of all the others; None for the same.
        cost
            Theirs, where candidates have costs.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If one was in the study before, or its label or features are of another kind than those
            of the others; or if noise or cost is not allowed, or cost is missing.
        StorageError
            As in `ask`.

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
        self._record(roster.add, more, noise, cost, reason, key=key)

    def retire(
        self,
        arm: Label,
        *,
        leave: bool = False,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Measure a candidate no more, such as one that is used up.

        Trials of it that are still out may be told. docs/changing.md says what is proven when it
        leaves the question.

        Parameters
        ----------
        arm
            Its label.
        leave
            Whether it leaves the question. If not, it stays in the comparison with the values that
            it has, and nothing changes in what is proven.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If no candidate has this label, none would be left to measure, m or fewer would be left
            in the question, or one that stays in it was never measured.
        StorageError
            As in `ask`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.85)] * 3)
        >>> study.retire("c", leave=True, reason="no longer sold")
        >>> study.status, study.result.answer
        ('decided', ('b',))
        """
        self._record(roster.retire, arm, leave, reason, key=key)

    def _record(self, make: Callable[..., Sequence[Fact]], *given: Any, key: str | None) -> None:
        """Add the facts that `make` makes of the state and what is given; warn of refutations."""
        request = None
        if key is not None or make is not measurements.tell:  # a tell counts once anyway
            request = request_of(key, make.__name__, *given)
        with self._session.alone:
            before = self._now().sequence
            self._session.write(make, *given, request=request)
            state = self._session.state
            found = [
                in_words(one, state)
                for one in state.contradictions.values()
                if state.contradicted_at[one.what] > before
            ]
        for words in found:
            warnings.warn(words, ContradictedWarning, stacklevel=3)

    def _now(self) -> StudyState:
        return self._session.now()

    @property
    def status(self) -> str:
        """`running`, `decided`, or `contradicted`: the data refute what was declared.

        A contradicted study claims no proof, whatever it has decided. `redeclare` mends it, or
        `correct` if a measurement was wrong.
        """
        return CONTRADICTED if self._session.contradictions() else self._now().status

    @property
    def result(self) -> StudyResult | None:
        """The answer, or None before there is one."""
        with self._session.alone:
            return result_of(self._session)

    def sensitivity(self) -> Sensitivity:
        """Up to which misspecification the answer is proved, and which ones the data refute.

        Returns
        -------
        Sensitivity
            Where the proof ends, and where the data contradict.

        Raises
        ------
        ProblemError
            If the candidates have no features, or the noise is "unknown": features prove nothing
            then.
        CertificateError
            If what the features leave of the means could not be computed with certainty.
        """
        from mislid.forecast.checks import sensitivity

        return sensitivity(self.overview())

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
        from mislid.forecast.evidence import estimate_rows

        return as_frame(
            estimate_rows(self.overview()),
            what="estimates",
            instead="overview() has counts, means and intervals",
        )

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
        from mislid.forecast.evidence import result_now

        return result_now(self.overview())

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

        Raises
        ------
        ProblemError
            If the threshold is not a number, or the data contradict what was declared: nothing is
            proved then.
        """
        from mislid.forecast.evidence import on_sides

        return on_sides(self._uncontradicted("threshold"), threshold)

    def ranking(self) -> Ranking:
        """Which places candidates may have, and for which n the n best are proved.

        It follows from `estimates`, so it holds for all n at once, at all times.

        Returns
        -------
        Ranking
            All candidates with the best and the worst place that each may have.

        Raises
        ------
        ProblemError
            If the data contradict what was declared, or there is no estimate yet.
        """
        from mislid.forecast.evidence import ranking

        return ranking(self._uncontradicted("ranking"))

    def _uncontradicted(self, what: str) -> Overview:
        """The overview; refuses to prove something from refuted declarations."""
        overview = self.overview()
        for words in overview.contradictions:
            raise ProblemError(f"{what} proves nothing: {words}")
        return overview

    def features_check(self) -> Expectation:
        """What the features are worth, by what was declared alone; no measurement is looked at.

        Returns
        -------
        Expectation
            Measurements that are needed with the features and without.

        Raises
        ------
        ProblemError
            If the candidates have no features.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=[[0], [1], [2], [3]], m=1, misspecification=0, noise=1)
        >>> check = study.features_check()
        >>> check.without > check.declared
        True
        """
        from mislid.forecast.planning import check_features

        state = self._now()
        return check_features(state.settings, state.candidates)

    def budget_check(self, budget: int | None = None) -> Expectation:
        """Which gap between candidates a budget can be expected to prove; no data are looked at.

        Parameters
        ----------
        budget
            Measurements in all; what the study was created with unless given.

        Returns
        -------
        Expectation
            The least gap with the features and without.

        Raises
        ------
        ProblemError
            If the budget is not a whole number above 0, or left out where the study has none.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=1.0, budget=60)
        >>> few, many = study.budget_check(), study.budget_check(6000)
        >>> few.without > 5 * many.without
        True
        """
        from mislid.forecast.planning import check_budget

        state = self._now()
        given = state.settings.budget if budget is None else as_count(budget, "budget", 1)
        return check_budget(state.settings, state.candidates, given)

    @property
    def budget_left(self) -> int | None:
        """Measurements that are left of the budget; None without one."""
        state = self._now()
        return state.settings.budget_left(len(state.observations))

    def warnings(self) -> tuple[StudyWarning, ...]:
        """Reasons to doubt the declarations, the answer, or that the rules would choose the same.

        Returns
        -------
        tuple of StudyWarning
            Reasons for doubt, with what to do; empty where there are none.
        """
        from mislid.forecast.checks import warnings_of

        return warnings_of(self.overview())

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
        return self._now().roster.register

    @property
    def candidates(self) -> Candidates:
        """The arms."""
        return self._now().candidates

    @property
    def pending(self) -> list[Trial]:
        """Open trials, in the order in which they were handed out."""
        with self._session.alone:
            state = self._now()
            return [self._session.trial(trial_id) for trial_id in state.waiting]

    def observations(self) -> DataFrame:
        """The measurements that count, in order.

        Returns
        -------
        pandas.DataFrame
            With the columns event and time (place in the log, and seconds since 1970), trial (its
            id, missing for measurements that no trial asked for), arm, value and row, which
            counts all measurements of the log, void ones included, for `correct` and `void`.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        state = self._now()
        labels = state.candidates.labels
        rows = [
            (one.sequence, one.time, one.trial, labels[one.arm], one.value, one.row)
            for one in state.observations
        ]
        columns = ["event", "time", "trial", "arm", "value", "row"]
        return as_frame(
            rows, columns, what="observations", instead="overview() has arms and values"
        ).astype({"trial": "Int64"})

    def progress(self, *, simulations: int | None = None) -> StudyProgress:
        """How many more measurements, and what they are needed for; see docs/planning.md.

        Parameters
        ----------
        simulations
            Of the rest of the study: 19, or 9 where features are many. More are steadier; with 0,
            nothing is said about the rest.

        Returns
        -------
        StudyProgress
            Measurements to go with a range, the hardest pair, and a lower bound.

        Raises
        ------
        ProblemError
            If `simulations` is not a whole number from 0 on.
        """
        from mislid.forecast.simulate import progress

        return progress(self.overview(), simulations)

    def what_if(
        self,
        *,
        m: int | None = None,
        delta: float | None = None,
        tolerance: float | None = None,
        misspecification: float | None = None,
        simulations: int | None = None,
    ) -> WhatIf:
        """How many more measurements another question would take, with the same data.

        To act on it, and keep an error rate, see docs/planning.md.

        Parameters
        ----------
        m, delta, tolerance, misspecification
            The other question; None keeps the study's own value.
        simulations
            As in `progress`.

        Returns
        -------
        WhatIf
            Measurements to go with a range.

        Raises
        ------
        ProblemError
            If the other question is none that the rules can answer, such as m above K - 1 or a
            misspecification without features; if the study's rules are not available; or as in
            `progress`.
        """
        from mislid.forecast.simulate import what_if

        changes = {"m": m, "delta": delta, "tolerance": tolerance}
        overview = self.overview()
        return what_if(overview, simulations, **changes, misspecification=misspecification)

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
        from mislid.forecast.overview import Overview

        with self._session.alone:
            return Overview(self._session)

    def events(self) -> list[Event]:
        """The whole log.

        Returns
        -------
        list of Event
            All that happened, in order.

        Raises
        ------
        CorruptStorageError
            If an event is missing, or is not what was written.
        """
        with naming(self.study_name):
            entries = self._session.storage.read(self._session.key)
            return list(events_of(Chain(self.study_name).take_in(entries)))
