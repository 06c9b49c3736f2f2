"""Studies whose noise is not known, on every storage; aggregates and counts."""

from collections.abc import Callable

import numpy as np
import pytest

import mislid
from helpers.rows import rows_of
from mislid.errors import ProblemError
from mislid.study import Study
from mislid.study.storage import Storage

RATES = {"a": 0.1, "b": 0.4, "c": 0.8}
MODELS: dict[str, dict[str, object]] = {
    "unknown": {"noise": "unknown"},
    "unknown-equal": {"noise": "unknown-equal"},
    "bounded": {"noise": (0.0, 1.0)},
    "bernoulli": {"noise": "bernoulli"},
}


def draw(model: str, rng: np.random.Generator, rate: float) -> float:
    if model.startswith("unknown"):
        return float(rate + 0.2 * rng.normal())
    if model == "bounded":
        return float(rng.beta(9.0 * rate, 9.0 * (1.0 - rate)))
    return float(rng.random() < rate)


def new_study(model: str, storage: Storage | None = None, **changes: object) -> Study:
    given = {"study_name": "s", "candidates": list(RATES), "m": 1, "storage": storage}
    return mislid.create_study(**{**given, **MODELS[model], **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("model", MODELS)
def test_to_the_end_and_again(model: str, opener: Callable[[], Storage]) -> None:
    study, rng = new_study(model, opener()), np.random.default_rng(1)
    study.optimize(lambda trial: draw(model, rng, RATES[trial.arm]))
    assert (study.status, study.result.answer, study.result.proven) == ("decided", ("c",), True)
    again = mislid.load_study(storage=opener())
    assert again.settings == study.settings
    assert (again.status, again.result.answer) == ("decided", ("c",))
    assert again._session.diverged == 0
    assert again.ask().arm == mislid.load_study(storage=opener()).pending[-1].arm
    assert new_study(model, opener(), load_if_exists=True).settings.noise_model == model


@pytest.mark.parametrize("model", MODELS)
def test_forecasts_and_corrections(model: str) -> None:
    study, rng = new_study(model, delta=1e-4), np.random.default_rng(3)
    study.optimize(lambda trial: draw(model, rng, RATES[trial.arm]), n_trials=40)
    assert study.status == "running"
    said = study.progress()
    assert said.more is None or said.more > 0
    assert study.what_if(delta=0.3).delta == 0.3
    before = study.samples
    study.void(3, reason="dropped")
    assert study.samples == before - 1
    right = new_study(model, delta=1e-4)
    for row in rows_of(study):
        right.add_observations([(row.arm, row.value)])
    engines = [one._session.engine for one in (study, right)]
    np.testing.assert_array_equal(engines[0].scatter, engines[1].scatter)


class TestCounts:
    @pytest.mark.parametrize("model", ["unknown", "known"])
    def test_the_mean_of_several_is_all_of_them(self, model: str) -> None:
        noise = {"noise": "unknown"} if model == "unknown" else {"noise": 0.3}
        rng = np.random.default_rng(4)
        values = {arm: rate + 0.2 * rng.normal(size=9) for arm, rate in RATES.items()}
        studies = [mislid.create_study(candidates=list(RATES), m=1, **noise) for _ in range(3)]
        by_mean, by_counts, by_value = studies
        for trial in by_mean.ask(3):
            told = values[trial.arm]
            by_mean.tell(trial, told.mean(), n=9, sd=float(np.std(told, ddof=1)))
        for arm, told in values.items():
            by_counts.add_counts(arm, 9, told.sum(), float(told @ told))
            by_value.add_observations([(arm, value) for value in told])
        for one in (by_mean, by_counts):
            engine, other = one._session.engine, by_value._session.engine
            np.testing.assert_array_equal(engine.counts, other.counts)
            np.testing.assert_allclose(engine.sums, other.sums)
            np.testing.assert_allclose(
                one._session.tallies.squares, by_value._session.tallies.squares
            )
        assert by_mean.samples == 27
        by_mean.tell(0, values["a"].mean(), n=9, sd=float(np.std(values["a"], ddof=1)))  # again
        assert by_mean.samples == 27
        by_mean.void(0)
        assert by_mean.samples == 18
        with pytest.raises(ProblemError, match="told 9 at once"):
            by_mean.correct(0, 0.5)

    @pytest.mark.parametrize(
        ("model", "call", "words"),
        [
            ("bernoulli", lambda s: s.add_counts("a", 10, 11), "whole number of ones from 0 to 10"),
            ("bernoulli", lambda s: s.add_observations([("a", 0.5)]), "0 or 1"),
            ("bounded", lambda s: s.tell(s.ask(), 0.5, n=3, sd=0.1), "one by one"),
            ("unknown", lambda s: s.add_counts("a", 10, 50, 3.0), "sumsq must be at least"),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, model: str, call: Callable[[Study], object], words: str
    ) -> None:
        study = new_study(model)
        with pytest.raises(ProblemError, match=words):
            call(study)
        assert study.samples == 0
