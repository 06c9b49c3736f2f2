import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

import mislid
from mislid.errors import ProblemError
from mislid.forecast.evidence import estimate_rows

optuna.logging.set_verbosity(optuna.logging.ERROR)
X, KIND = FloatDistribution(0.0, 1.0), CategoricalDistribution(["a", "b", "c"])


def added(search, *trials):
    for trial in trials:
        search.add_trial(trial)
    return search


def at(value, x, state=TrialState.COMPLETE, **more):
    return create_trial(
        value=value, params={"x": x} | more, state=state,
        distributions={"x": X} | dict.fromkeys(more, KIND),
    )  # fmt: skip


def some_search(direction="maximize", values=(0.3, 0.9, 0.1, 0.7, 0.5), **where):
    search = optuna.create_study(direction=direction, **where)
    return added(search, *(at(value, k / 10) for k, value in enumerate(values)))


def test_minimising_takes_the_smallest():
    study = mislid.from_optuna(some_search("minimize"), top=3, m=2, noise=0.1, delta=0.2)
    assert study.candidates.labels == ("#2", "#0", "#4")
    assert study.settings.direction == "minimize"
    assert (study.settings.m, study.settings.delta, study.settings.noise) == (2, 0.2, (0.1,))


def test_values_of_the_search_are_no_evidence():
    """Only their order has a part: trials that won by luck have lucky values."""
    plain = some_search(values=(0.3, 0.9, 0.1, 0.7, 0.5))
    apart = some_search(values=(0.3, 1e6, -1e6, 0.7, 0.5))
    studies = [
        mislid.from_optuna(one, top=4, noise=1.0, study_name="same") for one in (plain, apart)
    ]
    rng = np.random.default_rng(3)
    values = rng.normal(size=40)
    asked = []
    for study in studies:
        assert study.samples == 0
        assert study.result_now().p_value == 1.0
        asked.append([])
        for value in values:
            trial = study.ask()
            asked[-1].append(trial.arm)
            study.tell(trial, value)
    assert asked[0] == asked[1]
    assert estimate_rows(studies[0].overview()) == estimate_rows(studies[1].overview())


def test_infeasible_trials_are_no_candidates():
    old = create_trial(
        value=9.0,
        params={"x": 0.9},
        distributions={"x": X},
        system_attrs={"constraints": [0.0, 1.0]},
    )
    kept = create_trial(
        value=8.0,
        params={"x": 0.8},
        distributions={"x": X},
        system_attrs={"constraints": [0.0, -1.0]},
    )
    assert mislid.from_optuna(added(some_search(), old, kept), top=2).candidates.labels == (
        "#6",
        "#1",
    )


def test_features_that_fit_anything_are_left_out():
    search = optuna.create_study(direction="maximize")
    added(search, *(at(k, k / 10, kind="abc"[k]) for k in range(3)))
    assert mislid.from_optuna(search).candidates.features is None
    with pytest.raises(ProblemError, match="misspecification must be left out: with 2 independent"):
        mislid.from_optuna(search, misspecification=0.1)
    with pytest.raises(ProblemError, match="left out: with 0 independent features"):
        mislid.from_optuna(search, misspecification=0.1, params=[])


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        ([at(0.1, 0.5, TrialState.PRUNED)] * 3, "finite value; got one of Optuna with 0"),
        ([at(0.1, 0.5), at(0.2, 0.5)], "at least 2 completed trials with different parameters"),
        (
            [at(float("inf"), 0.5)] * 2,
            "finite value; got one of Optuna with 0",
        ),
    ],
)
def test_searches_with_too_few_trials_are_refused(trials, words):
    with pytest.raises(ProblemError, match=words):
        mislid.from_optuna(added(optuna.create_study(), *trials))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"m": 5}, "m must be an integer from 1 to 4 with K=5 arms; got m=5"),
        ({"direction": "minimize"}, "direction must be left out"),
        ({"candidates": [1, 2]}, "candidates must be left out"),
        ({"params": ["y"]}, r"among 'x'; got \['y'\]"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(ProblemError, match=words):
        mislid.from_optuna(some_search(), **options)
