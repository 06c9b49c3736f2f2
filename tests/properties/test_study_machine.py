"""Whatever happens to a study, it says what a plain list of what happened says."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import mislid
from helpers.engines import assert_same, numbers_of
from helpers.rows import rows_of
from mislid.errors import ConflictingTellError, UnknownTrialError
from mislid.study import Study
from mislid.study.storage import MemoryStorage, Storage, as_storage

# Values are what they like.
pytestmark = pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")

LABELS = ("a", "b", "c")
WORKERS = st.sampled_from([None, "lab-1", "lab-2"])
LEASES = st.sampled_from([None, 10.0, 1000.0])
VALUES = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 3.0])
HISTORIES = st.lists(st.tuples(st.sampled_from(LABELS), VALUES), max_size=4)
CHOICE = st.integers(0, 1_000_000)


@dataclass
class Plain:
    """A trial, as anybody would note it down."""

    arm: str
    worker: str | None
    expires: float
    open: bool = True
    told: tuple[str, float | None] | None = None


class Machine(RuleBasedStateMachine):
    """Two handles on one study, which take turns, crash and come back."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 4e9
        self.trials: list[Plain] = []
        self.values: list[tuple[int | None, str, float]] = []
        self.answer: tuple[Any, ...] | None = None
        self.open_storage()
        mislid.create_study(
            study_name="s",
            candidates={"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]},
            intercept=False,
            m=1,
            misspecification=0.5,
            noise=0.3,
            algorithm=self.algorithm,
            storage=self.storages[0],
        )
        self.handles = [self.loaded(0), self.loaded(1)]

    algorithm = "mislid"
    storages: list[Storage]

    def open_storage(self) -> None:
        self.storages = [MemoryStorage()] * 2

    def loaded(self, which: int) -> Study:
        study = mislid.load_study(study_name="s", storage=self.storages[which])
        study._session.clock = lambda: self.now
        return study

    def waiting(self) -> list[int]:
        return [number for number, trial in enumerate(self.trials) if trial.open]

    @rule(which=st.integers(0, 1), n=st.integers(1, 4), worker=WORKERS, lease=LEASES)
    def ask(self, which: int, n: int, worker: str | None, lease: float | None) -> None:
        until = np.inf if lease is None else self.now + lease
        own = [k for k in self.waiting() if worker and self.trials[k].worker == worker][:n]
        lapsed = [k for k in self.waiting() if k not in own and self.trials[k].expires <= self.now]
        lapsed = lapsed[: n - len(own)]
        first = len(self.trials)
        found = self.handles[which].ask(n, worker=worker, lease=lease)
        assert [trial.id for trial in found] == [*own, *range(first, first + n - len(own))]
        for number in own:
            self.trials[number].expires = until
        for number, trial in zip(lapsed, found[len(own) :], strict=False):
            self.trials[number].open = False
            assert trial.arm == self.trials[number].arm
        self.trials += [Plain(str(trial.arm), worker, until) for trial in found[len(own) :]]
        assert all(trial.arm == self.trials[trial.id].arm for trial in found)

    @precondition(lambda self: self.trials)
    @rule(which=st.integers(0, 1), choice=CHOICE, value=st.none() | VALUES)
    def tell(self, which: int, choice: int, value: float | None) -> None:
        number = choice % len(self.trials)
        trial, told = self.trials[number], ("fail" if value is None else "complete", value)
        if trial.told not in (None, told):
            with pytest.raises(ConflictingTellError):
                self.handles[which].tell(number, value, state=told[0])
            return
        self.handles[which].tell(number, value, state=told[0])
        if trial.told is None and value is not None:
            self.values.append((number, trial.arm, value))
        trial.open, trial.told = False, told

    @rule(which=st.integers(0, 1))
    def tell_of_an_unknown_trial(self, which: int) -> None:
        with pytest.raises(UnknownTrialError):
            self.handles[which].tell(len(self.trials), 0.5)

    @rule(
        which=st.integers(0, 1),
        rows=st.lists(st.tuples(st.sampled_from(LABELS), VALUES), max_size=4),
    )
    def add_observations(self, which: int, rows: list[tuple[str, float]]) -> None:
        self.handles[which].add_observations(rows)
        self.values += [(None, arm, value) for arm, value in rows]

    @rule(seconds=st.sampled_from([1.0, 9.0, 10.0, 500.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(which=st.integers(0, 1))
    def crash(self, which: int) -> None:
        lost = self.handles[which]
        lost.status  # noqa: B018  # it catches up, so that both have seen the same
        self.handles[which] = self.loaded(which)
        self.agree(lost, self.handles[which])

    def agree(self, one: Study, other: Study) -> None:
        assert one._now() == other._now()
        assert one._session.diverged == other._session.diverged == 0
        first, second = one._session.engine, other._session.engine
        for name in ("counts", "sums", "means", "weights", "estimate", "incumbents"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        assert_same(*(numbers_of(engine.copy()._rules.sampler) for engine in (first, second)))

    @invariant()
    def says_what_happened(self) -> None:
        for study in self.handles:
            assert [row[2:5] for row in rows_of(study)] == self.values
            assert [trial.id for trial in study.pending] == self.waiting()

    @invariant()
    def keeps_its_decision(self) -> None:
        results = [study.result for study in self.handles]
        answers = [None if result is None else result.answer for result in results]
        assert answers[0] == answers[1]
        assert self.answer in (None, answers[0])
        self.answer = answers[0]

    def teardown(self) -> None:
        self.agree(*self.handles)
        for storage in self.storages:
            storage.close()


class GameMachine(Machine):
    """With a rule that learns at every proposal."""

    algorithm = "mislid-paper"


class SQLiteMachine(Machine):
    def open_storage(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name) / "lab.db"
        self.storages = [as_storage(place), as_storage(place)]

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


TestInMemory = Machine.TestCase
TestInMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestGame = GameMachine.TestCase
TestGame.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
TestSQLite = SQLiteMachine.TestCase
TestSQLite.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)
