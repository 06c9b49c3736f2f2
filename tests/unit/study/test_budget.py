"""A budget of measurements: what it can be expected to prove, and where loops end."""

import itertools
import time
from typing import Any

import pytest

import mislid
from mislid.study import Study

CLOSE = {"a": 0.0, "b": 0.01, "c": 0.02}


def study_of(budget: int | None = 20, **changes: Any) -> Study:
    given = {"candidates": list(CLOSE), "m": 1, "noise": 1.0, "budget": budget, **changes}
    return mislid.create_study(**given)


@pytest.mark.parametrize("jobs", [1, 4])
def test_loops_end_with_the_budget(jobs: int) -> None:
    study = study_of()
    study.add_observations([("a", 0.0), ("b", 0.1)])

    def measure(trial: mislid.Trial) -> float:
        time.sleep(0.002)
        return CLOSE[trial.arm]

    study.optimize(measure, n_jobs=jobs)
    assert (study.samples, study.budget_left, study.status) == (20, 0, "running")
    study.optimize(measure)
    assert study.samples == 20
    assert len(study.result_now().answer) == 1
    study.tell(study.ask(), 0.5)  # nobody is kept from measuring more
    assert (study.samples, study.budget_left) == (21, 0)


def test_failures_cost_nothing_of_it() -> None:
    study, calls = study_of(5), []

    def measure(trial: mislid.Trial) -> float:
        calls.append(trial)
        if len(calls) % 2:
            raise OSError
        return 0.0

    study.optimize(measure, catch=(OSError,))
    assert (study.samples, len(calls)) == (5, 10)


class TestCheck:
    def test_what_it_says_happens(self) -> None:
        """At the gap that it says, evenly measured candidates are told apart: noise is 0 here."""
        check = study_of(300).budget_check()
        for factor, status in ((1.001, "decided"), (0.99, "running")):
            study = study_of(300)
            best = factor * check.without
            study.add_observations([("a", 0.0), ("b", 0.0), ("c", best)] * 100)
            assert study.status == status


def test_a_failed_trial_leaves_its_measurement_to_another_thread() -> None:
    """The others wait for a trial that may fail, when the rest of the budget is under way."""
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=1.0, budget=10)
    calls = itertools.count(1)

    def measure(trial: mislid.Trial) -> float:
        if next(calls) == 10:
            time.sleep(0.3)
            raise ValueError("broken")
        return 0.5

    study.optimize(measure, n_jobs=2, catch=(ValueError,))
    assert (study.samples, study.budget_left) == (10, 0)
