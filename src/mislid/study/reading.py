"""What a study says: all that it is asked and that changes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mislid._tables import as_frame
from mislid._validation import as_count, as_number
from mislid.errors import ProblemError
from mislid.study.candidates import Candidates
from mislid.study.contradictions import in_words
from mislid.study.events import Chain, Event, events_of
from mislid.study.opened import OpenStudy
from mislid.study.replay import Replay
from mislid.study.result import CONTRADICTED, Label, StudyResult, Trial
from mislid.study.settings import Settings, is_python
from mislid.study.state import NOISE

if TYPE_CHECKING:
    from pandas import DataFrame

    from mislid.forecast.diagnostics import StudyWarning
    from mislid.forecast.evidence_summary import Claims
    from mislid.forecast.overview import Overview
    from mislid.forecast.planning import BudgetCheck, FeatureCheck
    from mislid.forecast.progress import Snapshot, StudyProgress, WhatIf
    from mislid.forecast.questions import EstimateRow, Ranking, ResultNow, Threshold
    from mislid.forecast.sensitivity import Sensitivity

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


class ReadableStudy(OpenStudy):
    """What a study knows, what it has come to, and what may be expected of it."""

    @property
    def status(self) -> str:
        """`running`, `decided`, or `contradicted`: the data refute what was declared.

        A contradicted study claims no proof, whatever it has decided. `redeclare` mends it, or
        `correct` if a measurement was wrong.
        """
        return CONTRADICTED if self._contradictions() else self._now().status

    @property
    def result(self) -> StudyResult | None:
        """The answer, or None before there is one."""
        from mislid.certificate.certificate import Certificate, Mended
        from mislid.stopping.rules import stopping_rule_called

        with self._alone:
            state = self._now()
            decision, labels = state.decision, state.candidates.labels
            if decision is None:
                return None
            contradictions = self._contradictions()
            # A rule written in Python may tell no evidence, of no pair.
            silent = decision.threshold == 0.0 and is_python(decision.rule)
            engine = self._replay.estimating()
            best = engine.incumbents if engine.is_estimated else decision.answer
            return StudyResult(
                answer=tuple(labels[arm] for arm in decision.answer),
                samples=decision.samples,
                stopping=decision.rule,
                proven=stopping_rule_called(decision.rule).guaranteed and not contradictions,
                statistic=decision.statistic,
                threshold=decision.threshold,
                pair=None if silent else tuple(labels[arm] for arm in decision.pair),
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

        Raises
        ------
        ProblemError
            If the level is not between 0 and 1, the candidates have no features, or the noise is
            "unknown": features prove nothing then.
        CertificateError
            If what the features leave of the means could not be computed with certainty.
        """
        from mislid.forecast.evidence_summary import Claims
        from mislid.forecast.sensitivity import sensitivity_of

        def examine(replay: Replay, checked: float) -> Sensitivity:
            found = sensitivity_of(Claims.of(replay, replay.estimating()), checked)
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
        from mislid.forecast.questions import EstimateRow

        names = [field.name for field in dataclasses.fields(EstimateRow)]
        rows = [dataclasses.astuple(row) for row in self.estimate_rows()]
        return as_frame(rows, names, what="estimates", instead="estimate_rows gives the same rows")

    def estimate_rows(self) -> list[EstimateRow]:
        """`estimates` without pandas.

        Returns
        -------
        list of EstimateRow
            One for each candidate, in their order.
        """
        from mislid.forecast.questions import estimate_rows_of

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
        from mislid.forecast.questions import result_now

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

        Raises
        ------
        ProblemError
            If the threshold is not a number, or the data contradict what was declared: nothing is
            proved then.
        """
        from mislid.forecast.questions import on_sides

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

        Raises
        ------
        ProblemError
            If the data contradict what was declared, or there is no estimate yet.
        """
        from mislid.forecast import questions

        with self._alone:
            self._refuse_contradicted("ranking")
            return questions.ranking(self._claims())

    def _refuse_contradicted(self, what: str) -> None:
        """Refuse to prove something from what the data refute."""
        for found in self._contradictions().values():
            raise ProblemError(f"{what} proves nothing: {in_words(found, self._now())}")

    def _claims(self) -> Claims:
        from mislid.forecast.evidence_summary import Claims

        self._now()
        return Claims.of(self._replay, self._replay.estimating())

    def features_check(self) -> FeatureCheck:
        """What the features are worth, by what was declared alone; no measurement is looked at.

        Returns
        -------
        FeatureCheck
            Sizes, leverage, and measurements that are needed with the features and without.

        Raises
        ------
        ProblemError
            If the candidates have no features.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=[[0], [1], [2], [3]], m=1, misspecification=0, noise=1)
        >>> check = study.features_check()
        >>> check.d, check.samples_without > check.samples_with
        (2, True)
        """
        from mislid.forecast.planning import check_features

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

        Raises
        ------
        ProblemError
            If the budget is not a whole number above 0, or left out where the study has none.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=1.0, budget=60)
        >>> few, many = study.budget_check(), study.budget_check(6000)
        >>> few.gap_without > 5 * many.gap_without
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

        Raises
        ------
        ProblemError
            If the level is not between 0 and 1.
        CertificateError
            If it cannot be said with certainty how far the means are from linear.
        """
        from mislid.forecast.diagnostics import warnings_of

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

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        fields = list(ObservationRow._fields)
        table = as_frame(
            self.observation_rows(),
            fields,
            what="observations",
            instead="observation_rows gives the same rows",
        )
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
        """How many more measurements, and what they are needed for; see docs/planning.md.

        Parameters
        ----------
        simulations
            Of the rest of the study: 19, or 9 where features are many. More are steadier.

        Returns
        -------
        StudyProgress
            Measurements to go with a range, the hardest pair, and a lower bound.

        Raises
        ------
        ProblemError
            If `simulations` is not a whole number above 0, or the study's rules are not here to
            be run on.
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

        To act on it, and keep an error rate, see docs/planning.md.

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

        Raises
        ------
        ProblemError
            If the other question is none that the rules can answer, such as m above K - 1 or a
            misspecification without features; or as in `progress`.
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
            One for each question; those that the rules cannot answer are left out.

        Raises
        ------
        ProblemError
            As in `progress`.
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
        from mislid.forecast.overview import Overview

        with self._alone:
            self._now()
            refuted_now = list(self._contradictions().values())
            if self._replay.has_rules:
                self._replay.catch_up()
            return Overview._of(self.study_name, self._replay, self._chain.head, refuted_now)

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
        return list(events_of(Chain().take_in(self._storage.read(self._key))))

    def _examined(self, examine: Callable[[Replay, float], Found], level: float) -> Found:
        checked = as_number(level, "level", low=0, high=1, low_open=True, high_open=True)
        with self._alone:
            self._now()
            return examine(self._replay, checked)

    def _snapshot(self) -> Snapshot:
        from mislid.forecast.progress import Snapshot

        with self._alone:
            contradictions = self._contradictions()
            return Snapshot.of(self._replay, contradictions.values())
