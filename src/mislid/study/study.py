"""The `Study` class: ask-and-tell identification on a persistent log."""

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
    """An identification in progress; returned by `create_study` and `load_study`.

    Several threads may use it, and any number of processes may have the same study open.

    All methods read the log. They raise a `StorageError` if it cannot be read, and an
    `UnknownStudyError` once the study has been deleted. A study can be read without its rules, if
    these are objects that were not given to `load_study`, or if their package is not installed.
    Calls that add to the log or make a forecast then raise a `ProblemError`. A call after which the
    data refute a declaration issues a `ContradictedWarning`.

    Parameters
    ----------
    session
        The open log.

    Attributes
    ----------
    study_name
        The study's name in the storage.

    Examples
    --------
    Which of four doses has the largest effect? The first trial is measured by hand, and seven more
    by a robot.

    >>> from mislid import create_study
    >>> doses = {"1 mg": [1.0], "2 mg": [2.0], "4 mg": [4.0], "8 mg": [8.0]}
    >>> study = create_study(candidates=doses, m=1, misspecification=0.05, noise=0.3)
    >>> trial = study.ask()
    >>> trial.arm
    '1 mg'
    >>> study.tell(trial, 0.13)
    >>> robot = {"1 mg": 0.1, "2 mg": 0.2, "4 mg": 0.35, "8 mg": 0.9}
    >>> study.optimize(lambda trial: robot[trial.arm], n_trials=7)

    The hardest pair, and whether an error rate of 0.2 needs fewer measurements:

    >>> progress = study.progress(simulations=5)
    >>> progress.pair
    ('4 mg', '8 mg')
    >>> study.what_if(delta=0.2, simulations=5).more < progress.more
    True

    The vial of one measurement was broken, and the noise is larger than expected. The log keeps the
    old values.

    >>> study.void(row=2, reason="broken vial")
    >>> study.redeclare(noise=0.4, reason="as the blanks scatter")
    >>> study.observations().row.to_list()
    [0, 1, 3, 4, 5, 6, 7]
    >>> [type(event.fact).__name__ for event in study.events()][-3:]
    ['Told', 'Voided', 'Redeclared']

    The robot measures until the decision. Thanks to the features, measurements of two doses inform
    about all four.

    >>> study.optimize(lambda trial: robot[trial.arm])
    >>> study.result.answer
    ('8 mg',)
    >>> study.observations().groupby("arm").size().to_dict()
    {'1 mg': 16, '8 mg': 16}
    >>> study.estimates()[["label", "lower", "upper"]].round(2).values.tolist()
    [['1 mg', -0.31, 0.51], ['2 mg', -0.24, 0.67], ['4 mg', 0.05, 0.84], ['8 mg', 0.49, 1.31]]

    Further statements that the same measurements prove, and warnings, if any:

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
        """Request the next measurement as one trial, or a list of n trials.

        Parameters
        ----------
        n
            Number of trials. Open trials count as if they had returned the current estimate of
            their candidate, so that a batch is spread over candidates. "phase" asks for all
            remaining trials of the current phase, for rules that plan many measurements at once,
            such as "rage".
        worker
            Name of the worker. A worker who asks again first receives its own open trials, so two
            workers must not share a name. Without a name, every trial is new.
        lease
            Seconds after which an untold trial is handed out again, under a new id. Its value may
            still be told late; both values count. None: never.
        max_candidates
            The most different candidates in the batch.
        max_per_candidate
            The most trials of one candidate in the batch.
        replicates
            Number of trials that each choice of a candidate adds. n is the total number of trials
            and must be a multiple. A worker's own open trials come first and count towards all
            three limits, so that there may be fewer than n trials.
        key
            Any new text: a repeated call with the same key returns the same trials. Not needed with
            a named worker.

        Returns
        -------
        Trial or list of Trial
            The trials; measure the candidate whose label is in `arm`.

        Raises
        ------
        ProblemError
            If an argument is not allowed, or no batch of n trials satisfies the limits; if both a
            worker and a key are given, or the key is that of another call; or if n is "phase" and
            the rule has no phases, or needs the values of open trials to plan the next phase.
        StorageError
            If the log cannot be read or written. An `UnknownOutcomeError` means that the write may
            or may not have succeeded: a repeated call with its `key` returns the same trials.
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
        """Record the value of a trial, or its failure with state="fail".

        A repeated call with the same arguments changes nothing.

        Parameters
        ----------
        trial
            A trial from `ask`, or its id.
        value
            The measured value.
        state
            "complete" or "fail".
        n, sd
            If given, the value is the mean of n measurements with sample standard deviation `sd`,
            which is optional if the noise is known.
        key
            Any new text, for the log. It is not needed to prevent double counting.

        Raises
        ------
        UnknownTrialError
            If the trial is not of this study, or has another candidate than the study's trial with
            this id.
        ConflictingTellError
            If the trial was told another value before, which is kept; use `correct` to change it.
        ProblemError
            If the value is not a number or is outside the declared range, or `state`, `n`, `sd` or
            `key` is not allowed.
        StorageError
            As in `ask`.

        Warns
        -----
        ImplausibleValueWarning
            If the value is far from earlier ones, perhaps due to a typing error. It counts.
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
        """Add measurements of any origin, in order; all or none.

        Parameters
        ----------
        observations
            A DataFrame or dict with columns `arm` (labels) and `value`, or pairs (arm, value).
            Adding the same measurements twice counts them twice, unless the key is the same.
        key
            Any new text, such as the name of a plate: the call can then be repeated, also by
            another process, and counts once.

        Raises
        ------
        ProblemError
            If the columns or pairs are invalid, a label is not that of a candidate, a value is not
            a number or is outside the declared range, or the key is that of another call.
        StorageError
            As in `ask`; repeated with the key of an `UnknownOutcomeError`, the call counts once.

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
        """Add many measurements of one candidate by their number and sum.

        Parameters
        ----------
        arm
            The candidate's label.
        n, sum
            Number of values, and their sum: the number of ones, for values 0 and 1.
        sumsq
            Sum of their squares; required if the noise is unknown.
        key
            As in `add_observations`.

        Raises
        ------
        ProblemError
            If the label is not that of a candidate, no n values have this sum and these squares, n
            is above 1,000,000, `sumsq` is missing and the noise is unknown, or the noise was
            declared by a range, which needs the individual values.
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

        The loop also ends when the data contradict a declaration. Other processes and threads may
        ask and tell at the same time. After Ctrl-C, all told values are kept, and the trial that
        was being measured remains open.

        Parameters
        ----------
        measure
            Function that returns the value of a trial. An exception is recorded as a failed trial
            and ends the loop, unless its type is in `catch`.
        n_trials
            The most trials.
        n_jobs
            Number of threads that measure concurrently.
        timeout
            The most seconds; no trial begins later.
        catch
            Types of exceptions of `measure` that do not end the loop.
        callbacks
            Functions of the study and a trial, called after each told trial.
        worker, lease
            As in `ask`; with several jobs, their numbers are appended to the worker's name.

        Raises
        ------
        ProblemError
            If an argument is not allowed, or `measure` does not return a number.
        StorageError
            As in `ask` and `tell`.
        Exception
            Any exception of `measure` that is not in `catch`, and any of the callbacks.
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
        """Replace a wrong value by the right one, such as 91 by 0.91.

        The log keeps both. All results are recomputed from the corrected data, and a decision that
        no longer holds is withdrawn. A measurement that was void counts again.

        Parameters
        ----------
        trial, value
            As in `tell`.
        row
            Row in `observations`, instead of a trial, for a measurement that no trial asked for.
        reason
            The reason, for the log and the certificate. A correction must not depend on whether the
            value is welcome: docs/studies.md explains its effect on the guarantee.
        key
            As in `add_observations`: a repeated call does not undo later corrections.

        Raises
        ------
        UnknownTrialError
            As in `tell`.
        ProblemError
            If both a trial and a row are given, or neither; if the trial has no value, or several;
            if there is no such row; or if the new value is not allowed.
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
        """Make a measurement void, such as one from a plate that was dropped.

        The log keeps it, but all results are recomputed without it, and a decision that no longer
        holds is withdrawn.

        Parameters
        ----------
        trial, row, reason, key
            As in `correct`, which can also restore a void measurement.

        Raises
        ------
        UnknownTrialError, ProblemError, StorageError
            As in `correct`, except that a trial with several values is allowed: all become void.
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
        """Change the declared misspecification or noise; all measurements are kept.

        The study decides again, from all measurements. docs/checks.md explains the guarantee.

        Parameters
        ----------
        misspecification, noise
            As in `create_study`; None keeps the current one.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If both are omitted or one is not allowed, or if the study's noise was not declared by
            numbers.
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
        """Add candidates to the question; all measurements are kept, and the study decides again.

        New candidates need the same features as the others, and labels that were never used.
        docs/changing.md explains the guarantee.

        Parameters
        ----------
        candidates, names, columns
            As in `create_study`, with the same features as the others; a single one is allowed.
        noise
            Their noise, which must equal that of all others; None for the same.
        cost
            Their costs; required if the other candidates have costs.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If a candidate was in the study before, or its label or features differ in kind from
            those of the others; or if noise or cost is not allowed, or cost is missing.
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
        """Stop measuring a candidate, such as one that is used up.

        Open trials of it may still be told. docs/changing.md explains the guarantee if it leaves
        the question.

        Parameters
        ----------
        arm
            The candidate's label.
        leave
            Whether it leaves the question. If not, it stays in the comparison with its existing
            values, and the guarantee does not change.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If no candidate has this label, if no measurable candidate or only m candidates would
            remain, or if it stays in the question but was never measured.
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
        """Append the facts that `make` returns for the state and `given`; warn of refutations."""
        request = None
        if key is not None or make is not measurements.tell:  # tells are idempotent without a key
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
        """`running`, `decided`, or `contradicted` if the data refute a declaration.

        A contradicted study claims no proof, even after a decision. Use `redeclare` to change the
        declaration, or `correct` if a measurement was wrong.
        """
        return CONTRADICTED if self._session.contradictions() else self._now().status

    @property
    def result(self) -> StudyResult | None:
        """The answer, or None before there is one."""
        with self._session.alone:
            return result_of(self._session)

    def sensitivity(self) -> Sensitivity:
        """Misspecifications for which the answer is proved, and those that the data refute.

        Returns
        -------
        Sensitivity
            The largest misspecification for which the answer is proved, and the smallest one that
            the data do not refute.

        Raises
        ------
        ProblemError
            If the candidates have no features, or if the noise is "unknown", where features prove
            nothing.
        CertificateError
            If the residuals of the means could not be computed with guaranteed accuracy.
        """
        from mislid.forecast.checks import sensitivity

        return sensitivity(self.overview())

    def estimates(self) -> DataFrame:
        """Current estimates of all candidates: means, confidence intervals and evidence.

        Returns
        -------
        pandas.DataFrame
            One row per candidate, with the fields of `EstimateRow` as columns.

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
        """The best answer so far with an anytime-valid p-value, to report when the budget ends.

        Returns
        -------
        ResultNow
            The answer, its p-value, and the pairs that are still open.

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
        """Candidates that are proved to be above or below a threshold.

        The statement follows from the intervals of `estimates`, so it holds for all thresholds
        simultaneously, at all times.

        Parameters
        ----------
        threshold
            Threshold for the means.

        Returns
        -------
        Threshold
            The candidates above, below and open.

        Raises
        ------
        ProblemError
            If the threshold is not a number, or the data contradict a declaration, so that nothing
            is proved.
        """
        from mislid.forecast.evidence import on_sides

        return on_sides(self._uncontradicted("threshold"), threshold)

    def ranking(self) -> Ranking:
        """Possible ranks of all candidates, and every n for which the n best are proved.

        The statement follows from the intervals of `estimates`, so it holds for all n
        simultaneously, at all times.

        Returns
        -------
        Ranking
            All candidates with the best and the worst rank that the data allow.

        Raises
        ------
        ProblemError
            If the data contradict a declaration, or there is no estimate yet.
        """
        from mislid.forecast.evidence import ranking

        return ranking(self._uncontradicted("ranking"))

    def _uncontradicted(self, what: str) -> Overview:
        """The overview; refuses statements that would rest on refuted declarations."""
        overview = self.overview()
        for words in overview.contradictions:
            raise ProblemError(f"{what} proves nothing: {words}")
        return overview

    def features_check(self) -> Expectation:
        """Expected sample sizes with and without features, from the declarations alone.

        Returns
        -------
        Expectation
            The number of measurements needed with the features and without.

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
        """Smallest gap that a budget can be expected to prove, from the declarations alone.

        Parameters
        ----------
        budget
            Total number of measurements; by default the study's budget.

        Returns
        -------
        Expectation
            The smallest gap with the features and without.

        Raises
        ------
        ProblemError
            If the budget is not a whole number above 0, or neither given nor declared.

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
        """Remaining budget in measurements; None without a budget."""
        state = self._now()
        return state.settings.budget_left(len(state.observations))

    def warnings(self) -> tuple[StudyWarning, ...]:
        """Warnings about the declarations, the answer, or the reproducibility of choices.

        Returns
        -------
        tuple of StudyWarning
            The warnings, each with the recommended action.
        """
        from mislid.forecast.checks import warnings_of

        return warnings_of(self.overview())

    @property
    def samples(self) -> int:
        """Current number of measurements that count."""
        return len(self._now().observations)

    @property
    def settings(self) -> Settings:
        """The question, with the latest declarations."""
        return self._now().settings

    @property
    def register(self) -> Candidates:
        """All candidates that were ever in the study; arms in `events` are indices of these."""
        return self._now().roster.register

    @property
    def candidates(self) -> Candidates:
        """The candidates in the question."""
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
            The columns are event and time (number in the log, and seconds since 1970), trial (its
            id, missing if no trial asked for the measurement), arm, value, and row. The row counts
            all measurements of the log, including void ones; `correct` and `void` accept it.

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
        """Progress, with a forecast of the number of further measurements; see docs/planning.md.

        Parameters
        ----------
        simulations
            Number of simulated runs, 19 by default. More runs make the forecast more precise; 0
            omits it.

        Returns
        -------
        StudyProgress
            The number of further measurements with a range, and the hardest pair.

        Raises
        ------
        ProblemError
            If `simulations` is not a nonnegative whole number.
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
        """Forecast of the number of further measurements for another question, with the same data.

        docs/planning.md explains how to change the question and keep an error rate.

        Parameters
        ----------
        m, delta, tolerance, misspecification
            The other question; None keeps the study's value.
        simulations
            Number of simulated runs, at least 1 and 19 by default.

        Returns
        -------
        WhatIf
            The number of further measurements with a range.

        Raises
        ------
        ProblemError
            If the rules cannot answer the other question, such as m above K - 1 or a
            misspecification without features; if the study's rules are unavailable; or as in
            `progress`.
        """
        from mislid.forecast.simulate import what_if

        changes = {"m": m, "delta": delta, "tolerance": tolerance}
        overview = self.overview()
        return what_if(overview, simulations, **changes, misspecification=misspecification)

    def overview(self) -> Overview:
        """Snapshot of the study, as shown by `mislid study status` and reports.

        Returns
        -------
        Overview
            Question, measurements, answer, forecasts, sensitivity, warnings and evidence, all after
            the same event.

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
        """All events of the log.

        Returns
        -------
        list of Event
            The events, in order.

        Raises
        ------
        CorruptStorageError
            If an event is missing or was changed.
        """
        with naming(self.study_name):
            entries = self._session.storage.read(self._session.key)
            return list(events_of(Chain(self.study_name).take_in(entries)))
