"""Asking and telling, whatever the storage."""

import dataclasses
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import mislid
from helpers.rows import rows_of
from mislid.errors import (
    ConflictingTellError,
    ContradictedWarning,
    FullStorageError,
    ProblemError,
    UnknownStudyError,
    UnknownTrialError,
)
from mislid.study import Study, Trial
from mislid.study.session import Session
from mislid.study.storage import Collision, MemoryStorage, Storage

FRAME = pd.DataFrame({"x": [1.0, 0.0, 1.0], "y": [0.0, 1.0, 1.0]}, index=["a", "b", "c"])
START = 4e9  # after the study was created, by the clock on the wall
VALUES = {"a": 0.1, "b": 0.5, "c": 0.9}


def new_study(storage: Storage | None = None, **changes: object) -> Study:
    settings = {"study_name": "s", "candidates": FRAME, "m": 1, "misspecification": 0.1}
    settings["intercept"] = False
    return mislid.create_study(**{**settings, "noise": 0.1, "storage": storage, **changes})


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def study(clock: Clock) -> Study:
    study = new_study()
    study._session.clock = clock
    return study


class TestAnyStorage:
    def test_a_study_goes_on_where_another_handle_left_it(
        self, opener: Callable[[], Storage]
    ) -> None:
        first = new_study(opener())
        trials = first.ask(2, worker="lab")
        first.tell(trials[0], 0.25)
        second = mislid.load_study(study_name="s", storage=opener())
        assert [trial.id for trial in second.pending] == [1]
        second.tell(1, 0.75)
        assert [row[2:5] for row in rows_of(first)] == [(0, "a", 0.25), (1, "b", 0.75)]
        arms = [first.ask().arm, second.ask().arm, first.ask().arm]
        replica = new_study()
        for number, value in enumerate((0.25, 0.75)):
            assert replica.ask().id == number
            replica.tell(number, value)
        assert [replica.ask().arm for _ in range(3)] == arms

    def test_to_the_end_and_after_it(self, opener: Callable[[], Storage]) -> None:
        study = new_study(opener())
        study.optimize(lambda trial: VALUES[trial.arm])
        result = mislid.load_study(storage=opener()).result
        assert (result.answer, result.stopping, result.proven) == (("c",), "guaranteed", True)
        assert result.statistic >= result.threshold
        assert result.pair[1] == "c"
        assert result.agrees
        with pytest.warns(ContradictedWarning):
            study.add_observations([("a", 50.0)] * 2000)
        assert study.status == "contradicted"
        assert study.result.answer == ("c",)
        assert not study.result.proven
        assert study.result.best_now == ("a",)
        assert not study.result.agrees
        assert [event.fact for event in study.events()].count(
            mislid.load_study(storage=opener())._now().decision
        ) == 1

    def test_copies_go_on_apart(self, opener: Callable[[], Storage]) -> None:
        storage, memory = opener(), MemoryStorage()
        study = new_study(storage)
        study.tell(study.ask(), 0.3)
        mislid.copy_study(
            from_study_name="s", from_storage=storage, to_storage=storage, to_study_name="t"
        )
        mislid.copy_study(from_study_name="s", from_storage=storage, to_storage=memory)
        study.tell(study.ask(), 0.4)
        found = mislid.list_studies(storage=storage)
        assert [(line.name, line.observations) for line in found] == [("s", 2), ("t", 1)]
        copy = mislid.load_study(storage=memory)
        assert copy.events() == mislid.load_study(study_name="t", storage=storage).events()
        with pytest.raises(ProblemError, match="must be new; got 's'"):
            mislid.copy_study(from_study_name="s", from_storage=storage, to_storage=memory)
        mislid.delete_study(study_name="s", storage=storage)
        with pytest.raises(UnknownStudyError, match="deleted meanwhile"):
            study.ask()
        with pytest.raises(UnknownStudyError, match="'t'; got 's'"):
            mislid.load_study(study_name="s", storage=storage)
        new_study(storage)
        with pytest.raises(UnknownStudyError, match="deleted meanwhile"):
            study.tell(0, 0.3)


class TestTelling:
    def test_the_same_again_changes_nothing(self, study: Study) -> None:
        trial = study.ask()
        study.tell(trial, 0.5)
        events = study.events()
        study.tell(trial.id, np.float64(0.5))
        assert study.events() == events

    @pytest.mark.parametrize("trial", [-1, 0, 7])
    def test_a_trial_that_was_not_asked(self, trial: int) -> None:
        storage = MemoryStorage()
        new_study(storage)
        opened = mislid.load_study(study_name="s", storage=storage)
        with pytest.raises(UnknownTrialError, match=f"none so far; got {trial}"):
            opened.tell(trial, 0.5)

    @pytest.mark.parametrize("second", [0.6, None])
    def test_something_else_is_refused(self, study: Study, second: float | None) -> None:
        trial = study.ask()
        study.tell(trial, 0.5)
        events = study.events()
        with pytest.raises(ConflictingTellError, match=r"0 has been told the value 0\.5, which"):
            study.tell(trial, second, state="complete" if second else "fail")
        assert study.events() == events

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, "0.5", None, True, 1j, [0.5]])
    def test_what_is_no_value(self, study: Study, value: object) -> None:
        study.ask()
        with pytest.raises(ProblemError, match="value must be a finite number; got"):
            study.tell(0, value)  # type: ignore[arg-type]
        assert len(study.pending) == 1


class TestAsking:
    def test_a_worker_gets_its_trials_back(self, study: Study, clock: Clock) -> None:
        mine = study.ask(3, worker="lab-1", lease=60)
        other = study.ask(1, worker="lab-2")
        study.tell(mine[1], 0.5)
        clock.now += 30
        again = study.ask(4, worker="lab-1", lease=60)
        assert [trial.id for trial in again] == [0, 2, 4, 5]
        assert {trial.expires for trial in again} == {START + 90}
        assert study.ask(worker="lab-1", lease=60).id == 0
        assert study.ask(worker="lab-2").id == other[0].id

    def test_an_expired_trial_is_asked_again(self, study: Study, clock: Clock) -> None:
        lost = study.ask(2, worker="lab-1", lease=60)
        clock.now += 59
        assert study.ask(worker="lab-2").id == 2
        clock.now += 1
        found = study.ask(3, worker="lab-3", lease=10)
        assert [(trial.id, trial.arm) for trial in found[:2]] == [(3, "a"), (4, "b")]
        assert [trial.id for trial in study.pending] == [2, 3, 4, 5]
        study.tell(lost[0], 0.5)
        study.tell(found[0], 0.6)
        assert [row[2:5] for row in rows_of(study)] == [(0, "a", 0.5), (3, "a", 0.6)]
        assert study.ask(worker="lab-1").id == 6  # its own were given away

    def test_one_ask_by_a_clock_that_is_ahead_freezes_no_lease(
        self, study: Study, clock: Clock
    ) -> None:
        """Ten years, for one ask."""
        years = 10 * 365 * 86_400.0
        clock.now += years
        ahead = study.ask(worker="ahead", lease=60)
        clock.now -= years
        mine = study.ask(worker="mine", lease=60)
        clock.now += 59
        study.ask(worker="looking")
        assert mine.id in [trial.id for trial in study.pending]
        clock.now += 2
        found = study.ask(2, worker="other", lease=60)
        assert [trial.arm for trial in found] == [ahead.arm, mine.arm]
        assert {ahead.id, mine.id}.isdisjoint(trial.id for trial in study.pending)
        assert max(event.time for event in study.events()[-2:]) < START + 1000

    def test_any_process_judges_leases_in_the_same_way(self, study: Study, clock: Clock) -> None:
        for jump in (0.0, 1e8, -1e8, 30.0, 500.0, -500.0, 7.0):
            clock.now += jump
            study.ask(worker=f"w{jump}", lease=100)
        again = Study(Session("s", study._session.key, study._session.storage, clock))
        assert [trial.id for trial in again.pending] == [trial.id for trial in study.pending]
        assert again._session.state.elapsed == study._session.state.elapsed


class TestStrangers:
    def test_a_trial_of_another_study_is_refused(self, study: Study) -> None:
        other = new_study(study_name="other")
        mine, theirs = study.ask(), other.ask()
        assert mine.id == theirs.id
        for act in (
            lambda: study.tell(theirs, 0.5),
            lambda: study.tell(theirs, state="fail"),
            lambda: study.correct(theirs, 0.5),
            lambda: study.void(theirs),
        ):
            with pytest.raises(UnknownTrialError, match="got trial 0 of another study"):
                act()
        assert study.samples == 0
        study.tell(mine, 0.5)
        study.tell(mine.id, 0.5)

    def test_an_arm_that_is_not_the_trials(self, study: Study) -> None:
        trial = study.ask()
        with pytest.raises(UnknownTrialError, match="trial 0 is of 'a'; got 'b'"):
            study.tell(dataclasses.replace(trial, arm="b"), 0.5)
        with pytest.raises(UnknownTrialError, match="trial 0 is of 'a'; got 'c'"):
            study.tell(Trial(0, "c", None), 0.5)
        study.tell(Trial(0, "a", None), 0.5)  # made by hand
        assert study.samples == 1


class Failing(MemoryStorage):
    """Loses what is appended, as long as there are `problems`."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Exception] = []

    @contextmanager
    def locked(self, key):
        with super().locked(key) as log:
            yield log
            if self.problems:
                raise self.problems.pop()


class TestFailingStorage:
    def test_what_was_not_stored_did_not_happen(self) -> None:
        storage = Failing()
        study = new_study(storage)
        for trial in study.ask(4):
            study.tell(trial, VALUES[trial.arm])
        storage.problems = [FullStorageError("full")]
        with pytest.raises(FullStorageError):
            study.ask()
        trial = study.ask()
        storage.problems = [FullStorageError("full")]
        with pytest.raises(FullStorageError):
            study.tell(trial, 0.5)
        assert len(rows_of(study)) == 4
        study.tell(trial, 0.7)
        replica = new_study()
        for waiting in replica.ask(4):
            replica.tell(waiting, VALUES[waiting.arm])
        replica.tell(replica.ask(), 0.7)
        facts, others = ([event.fact for event in one.events()] for one in (study, replica))
        assert facts == others

    def test_a_transaction_that_was_undone_is_done_again(self) -> None:
        storage = Failing()
        study = new_study(storage)
        storage.problems = [Collision("undone") for _ in range(5)]
        study.tell(study.ask(), 0.5)
        assert len(study.events()) == 3
        storage.problems = [Collision("undone") for _ in range(100)]
        with pytest.raises(Collision):
            study.ask()


class TestOptimize:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_what_measure_raises_is_a_failure(self, n_jobs: int) -> None:
        study = new_study()

        def measure(trial: mislid.study.Trial) -> float:
            if trial.id == 2:
                raise OSError("no plate")
            return VALUES[trial.arm]

        with pytest.raises(OSError, match="no plate"):
            study.optimize(measure, n_jobs=n_jobs)
        assert study.pending == []
        assert len(rows_of(study)) >= 2
        study.optimize(measure, n_trials=3, catch=(OSError,))
