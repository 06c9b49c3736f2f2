"""A study: an identification that goes on wherever its storage is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from mislid._validation import as_number, as_text
from mislid._words import shown
from mislid.errors import ProblemError
from mislid.stopping.noise import UNDECLARED
from mislid.study.aggregates import counted, refuse_all_outside, standing_for
from mislid.study.batches import (
    LONGEST_LEASE,
    Batch,
    Limits,
    as_limits,
    as_size,
    fill,
    phase_size,
    refuse_too_many,
)
from mislid.study.candidates import Candidates
from mislid.study.contradictions import Tallies
from mislid.study.facts import Asked, Fact, Failed, Observed, Renewed, Told
from mislid.study.history import as_history, as_value
from mislid.study.opened import request_of
from mislid.study.plausibility import REPEATED, constant_words, plausible_range
from mislid.study.reading import ReadableStudy
from mislid.study.replay import Replay
from mislid.study.result import Label, Trial, as_trial_id
from mislid.study.revising import RevisableStudy
from mislid.study.settings import KNOWN
from mislid.study.state import COMPLETE, FAIL, StudyState


class Study(ReadableStudy, RevisableStudy):
    """An identification in progress; `create_study` and `load_study` give one.

    It may be used by several threads, and any number of processes may have the same study open.

    All methods read its log, so all of them raise a `StorageError` where that cannot be read, and
    an `UnknownStudyError` once the study has been deleted. A study whose rules are not here can be
    read: rules that are objects and were not given to `load_study`, or that are of a package that
    is not installed. What would add to its log, or look ahead, raises a `ProblemError` then. A call
    after which the data refute what was declared warns, with a `ContradictedWarning`.

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

    What it waits for, whether fewer measurements are needed at an error rate of 0.2, and for which
    other questions that is worked out:

    >>> progress = study.progress(simulations=5)
    >>> progress.pair
    ('4 mg', '8 mg')
    >>> study.what_if(delta=0.2, simulations=5).more < progress.more
    True
    >>> [other.changed[0] for other in study.what_ifs(simulations=1)]
    ['delta', 'delta', 'm', 'tolerance', 'misspecification', 'misspecification']

    The vial of one measurement was broken, and the noise is larger than was thought. The log keeps
    what was before.

    >>> study.void(row=2, reason="broken vial")
    >>> study.redeclare(noise=0.4, reason="as the blanks scatter")
    >>> [row.row for row in study.observation_rows()]
    [0, 1, 3, 4, 5, 6, 7]
    >>> [type(event.fact).__name__ for event in study.events()][-3:]
    ['Told', 'Voided', 'Redeclared']

    Measured to the end. By the features, two of the doses are enough to tell of all.

    >>> study.optimize(lambda trial: robot[trial.arm])
    >>> study.result.answer
    ('8 mg',)
    >>> study.observations().groupby("arm").size().to_dict()
    {'1 mg': 16, '8 mg': 16}
    >>> [(row.label, round(row.lower, 2), round(row.upper, 2)) for row in study.estimate_rows()]
    [('1 mg', -0.31, 0.51), ('2 mg', -0.24, 0.67), ('4 mg', 0.05, 0.84), ('8 mg', 0.49, 1.31)]

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
        n: int | Literal["phase"],
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
        n: int | Literal["phase"] | None = None,
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
            batch is spread over arms. "phase" asks for all that is left of what the rule has
            planned, for rules that plan many measurements at once, such as "rage".
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

        Raises
        ------
        ProblemError
            If an argument is not allowed, or no batch of n trials keeps the limits; if both a
            worker and a key are given, or the key is that of another call; or if n is "phase" and
            the rule has no phases, or waits for open trials before it plans the next one.
        StorageError
            If the log cannot be read or written. An `UnknownOutcomeError` says that nobody knows
            whether it was written: asking again with its `key` gives the same trials.
        """
        size = 1 if n is None else as_size(n)
        limits = _as_limits(size or 0, at_most, same_arm, replicates)
        _refuse_worker(worker, key)
        if lease is not None:
            lease = as_number(lease, "lease", low=0, high=LONGEST_LEASE, low_open=True)
        trial_ids: list[int] = []
        request = None
        if worker is None:
            request = request_of(key, "ask", size or n, lease, at_most, same_arm, replicates)

        def decide(replay: Replay, now: float) -> list[Fact]:
            expires = None if lease is None else now + lease
            count = size or phase_size(replay, limits, _again(replay, worker, now))
            if limits is not None:
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
            With `n`, the value is the mean of so many, whose sample standard deviation is `sd`.
            Without it, `sd` is the standard deviation that this value itself is known to have: it
            counts as (noise / sd)^2 measurements, rounded down.
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
        known = self._now()
        candidates, all_arms = _nameable(known, key)
        places, values = as_history(observations, candidates, known.settings.reward_range)
        refuse_all_outside(values, known.settings)
        arms = tuple(all_arms[place] for place in places)
        if arms:
            request = request_of(key, "observe", arms, values)
            self._write_news(lambda _replay, _now: [Observed(arms, values)], request=request)

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
            the values themselves: within a `reward_range` it does.
        StorageError
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
        show_progress_bar
            Whether to show on stderr how far the evidence has come.
        worker, lease
            As in `ask`; with several jobs, their numbers are put behind the worker's name.

        Raises
        ------
        ProblemError
            If an argument is not allowed, or `measure` gives what is no number.
        MissingPackageError
            If a progress bar is wanted and tqdm is not installed.
        StorageError
            As in `ask` and `tell`.
        Exception
            Whatever `measure` raises that is not in `catch`, and whatever callbacks raise.
        """
        from mislid.study.optimize import Loop

        Loop(self, measure, n_trials, timeout, catch, callbacks, worker, lease).run(
            n_jobs, show_progress_bar=show_progress_bar
        )


def _again(replay: Replay, worker: str | None, now: float) -> int:
    """How many open trials are handed out again: the worker's own, and expired ones."""
    state, elapsed = replay.state, replay.state.elapsed_at(now)
    trials = [state.trials[trial_id] for trial_id in state.waiting]
    own = [trial for trial in trials if worker is not None and trial.worker == worker]
    return len(own) + sum(trial.is_expired(elapsed) for trial in trials if trial not in own)


def _as_limits(n: int, at_most: Any, same_arm: Any, replicates: Any) -> Limits | None:
    """What a batch has to fit; None where any does."""
    single = type(replicates) is int and replicates == 1
    if single and at_most is None and same_arm is None:
        return None
    return as_limits(n, at_most, same_arm, replicates)


def _hand_out(
    replay: Replay,
    n: int,
    limits: Limits | None,
    worker: str | None,
    now: float,
    expires: float | None,
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
    if limits is None:
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
    if _makes_constant(replay.tallies, arm, value) and state.settings.noise_model in UNDECLARED:
        return [constant_words(REPEATED)]
    expected = plausible_range(replay.tallies, noise, arm)
    if expected is None or expected[0] <= value <= expected[1]:
        return []
    words = (
        f"{value:g} for {label!r} is far from what was measured before, which lets one expect "
        f"{expected[0]:.3g} to {expected[1]:.3g}; it counts. If it is a mistake: "
        f"study.correct({trial_id}, VALUE), or `mislid study correct NAME {trial_id} VALUE`"
    )
    return [words]


def _makes_constant(tallies: Tallies, arm: int, value: float) -> bool:
    """Whether this value is the first to look as if there were no noise."""
    if tallies.counts.max() != REPEATED - 1 or tallies.counts[arm] != REPEATED - 1:
        return False
    return value == tallies.means[arm] and not tallies.squares.any()


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
