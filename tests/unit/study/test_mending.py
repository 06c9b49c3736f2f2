"""Corrections and other declarations, on every storage."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import mislid
from helpers.rows import rows_of
from mislid.errors import (
    ConflictingTellError,
    ContradictedWarning,
    ImplausibleValueWarning,
)
from mislid.forecast.evidence import estimate_rows
from mislid.study import Study
from mislid.study.events import (
    Chain,
    Contradicted,
    Decided,
    Redeclared,
    Voided,
    entry_of,
)
from mislid.study.storage import MemoryStorage, Storage

NAMES = ["a", "b", "c"]
TRUE = {"a": 0.91, "b": 0.5, "c": 0.3}
LINE = {f"x{k}": [1.0, 0.25 * k] for k in range(8)}


def tell_all(study: Study, values: dict[str, float], rounds: int) -> None:
    for trial in study.ask(len(values) * rounds):
        study.tell(trial, values[trial.arm])


def new_study(storage: Storage | None = None, **changes: object) -> Study:
    given = {"study_name": "s", "candidates": NAMES, "m": 1, "noise": 0.1, "storage": storage}
    return mislid.create_study(**{**given, **changes})  # type: ignore[arg-type]


def same(one: Study, other: Study) -> bool:
    """Whether two handles know the same, to the last bit."""
    seen = [
        (study.status, study.result, estimate_rows(study.overview()), rows_of(study))
        for study in (one, other)
    ]
    asked = [study._session.engine.copy().propose() for study in (one, other)]
    return seen[0] == seen[1] and asked[0] == asked[1]


class TestAnyStorage:
    def test_91_for_0_91(self, opener: Callable[[], Storage]) -> None:
        study = new_study(opener())
        trials = study.ask(3)
        for trial in trials[1:]:
            study.tell(trial, TRUE[trial.arm])
        with pytest.warns(ImplausibleValueWarning, match=r"correct\(0, VALUE\)"):
            study.tell(trials[0], 91.0)
        assert study.status == "decided"
        study.correct(trials[0], 0.91, reason="decimal point")
        assert study.status == "running"
        assert study.result is None
        other = mislid.load_study(storage=opener())
        assert same(study, other)
        (withdrawn,) = other.overview().withdrawn
        assert (withdrawn.decision.answer, withdrawn.cause) == ((0,), "trial 0 was corrected")
        study.optimize(lambda trial: TRUE[trial.arm])
        assert study.result.answer == ("a",)
        assert study.result.corrections == 1
        assert same(study, mislid.load_study(storage=opener()))

    def test_a_corrected_study_is_one_that_never_was_wrong(
        self, opener: Callable[[], Storage]
    ) -> None:
        """Also in what it has settled, and when."""
        rng = np.random.default_rng(3)
        values = [(arm, TRUE[arm] + 0.1 * rng.normal()) for _ in range(4) for arm in NAMES]
        study, right = new_study(opener()), new_study()
        for row, (arm, value) in enumerate(values):
            study.add_observations([(arm, value + (0.1 if row in (2, 7) else 0.0))])
            right.add_observations([(arm, value)])
        study.void(row=4)
        for row in (7, 2):
            study.correct(row=row, value=values[row][1])
        study.correct(row=4, value=values[4][1])  # counts again
        for one, other in (
            (study.result.answer, right.result.answer),
            (study.result.samples, right.result.samples),
            (study.result.statistic, right.result.statistic),
            (estimate_rows(study.overview()), estimate_rows(right.overview())),
            (study._session.engine.settled(), right._session.engine.settled()),
            (study.ask().arm, right.ask().arm),
        ):
            assert one == other
        assert [type(event.fact) for event in study.events()].count(Voided) == 1

    def test_a_void_measurement_does_not_count(self, opener: Callable[[], Storage]) -> None:
        study = new_study(opener())
        tell_all(study, TRUE, 2)
        study.void(1, reason="plate dropped")
        assert study.samples == 5
        assert 1 not in [row.trial for row in rows_of(study)]
        assert [row.row for row in rows_of(study)] == [0, 2, 3, 4, 5]
        before = len(study.events())
        study.void(1)
        study.correct(0, TRUE["a"])
        assert len(study.events()) == before  # nothing new
        with pytest.raises(ConflictingTellError, match="made void"):
            study.tell(1, 0.5)
        assert same(study, mislid.load_study(storage=opener()))

    def test_a_misspecification_that_is_refuted_and_declared_anew(
        self, opener: Callable[[], Storage]
    ) -> None:
        means = {name: row[1] for name, row in LINE.items()} | {"x3": 2.5}
        study = new_study(opener(), candidates=LINE, misspecification=0.01)
        rng = np.random.default_rng(0)
        with pytest.warns(ContradictedWarning, match="no linear model has all means within"):
            study.add_observations(
                [(name, means[name] + 0.1 * rng.normal()) for _ in range(5) for name in LINE]
            )
        found = study._now().contradictions["misspecification"]
        assert found.level == study.settings.delta
        assert found.statistic > found.threshold
        assert not any(isinstance(event.fact, Decided) for event in study.events())
        study.redeclare(misspecification=1.0)
        study.optimize(lambda trial: means[trial.arm] + 0.1 * rng.normal())
        assert (study.status, study.result.answer) == ("decided", ("x3",))
        assert same(study, mislid.load_study(storage=opener()))

    def test_a_misspecification_that_was_seen_to_be_enough(
        self, opener: Callable[[], Storage]
    ) -> None:
        study = new_study(opener(), candidates=LINE)
        assert study.settings.declared == "unknown"
        study.add_observations([("x0", 0.0), ("x3", 0.75), ("x7", 1.75)] * 4)
        found = study.sensitivity()
        assert 0.0 < found.largest < math.inf
        study.redeclare(misspecification=2.0 * found.largest)
        assert study.status == "running"
        for _ in range(2):  # the second time, it is the same call
            study.redeclare(misspecification=found.largest, reason="good enough", key="Monday")
        assert (study.status, study.result.answer) == ("decided", ("x7",))
        assert study.result.proven
        assert study.settings.misspecification == found.largest
        assert mislid.verify(study.result.certificate.to_dict()).proven
        kinds = [type(event.fact) for event in study.events()[-2:]]
        assert kinds == [Redeclared, Decided]
        assert same(study, mislid.load_study(storage=opener()))


def test_what_is_refuted_proves_nothing_when_declared() -> None:
    study = new_study(candidates=LINE, delta=1e-9)
    means = {name: row[1] for name, row in LINE.items()}
    study.add_observations([(name, means[name]) for name in ("x0", "x1", "x2", "x6", "x7")] * 9)
    study.add_observations([("x3", 9.0)])
    smallest = study.sensitivity().smallest
    assert study.status == "running"
    with pytest.warns(ContradictedWarning, match="contradict the declared misspecification"):
        study.redeclare(misspecification=0.5 * smallest)
    assert study.status == "contradicted"


def test_a_log_that_hides_a_contradiction_is_found_out() -> None:
    study = new_study(noise=0.01)
    study.optimize(lambda trial: TRUE[trial.arm])
    with pytest.warns(ContradictedWarning):
        study.add_observations([("a", 0.0), ("a", 5.0)] * 3)
    old = [event for event in study.events() if not isinstance(event.fact, Contradicted)]
    storage = MemoryStorage()
    entries = [entry_of(event)._replace(sequence=n) for n, event in enumerate(old, 1)]
    storage.create("s", Chain("s").seal(entries))
    read = mislid.load_study(storage=storage)
    assert read.status == "contradicted"
    assert not read.result.proven
    assert read.overview().contradictions
