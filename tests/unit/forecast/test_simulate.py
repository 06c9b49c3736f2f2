"""Forecasts: what they say, and that they leave the study alone."""

import numpy as np
import pytest

import mislid
from helpers.engines import assert_same, numbers_of
from helpers.rows import rows_of
from mislid.errors import ContradictedWarning
from mislid.study import Study

FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [1.0, 0.5], "e": [0.5, 0.5]}
MEANS = {"a": 0.2, "b": 0.7, "c": 1.0, "d": 0.4, "e": 0.35}
FEW, SEEN = 9, 200


def new_study(**changes: object) -> Study:
    settings = {
        "candidates": FEATURES,
        "m": 1,
        "misspecification": 0.2,
        "noise": 0.5,
        "intercept": False,
    }
    return mislid.create_study(**{**settings, **changes})  # type: ignore[arg-type]


def measured(study: Study, n: int, scale: float = 1.0, seed: int = 4) -> Study:
    """The study after n measurements, the same in any direction and unit."""
    rng = np.random.default_rng(seed)
    scale *= study.settings.sign
    while study.samples < n and study.status == "running":
        trial = study.ask()
        study.tell(trial, scale * (MEANS[str(trial.arm)] + 0.5 * rng.standard_normal()))
    return study


@pytest.fixture(scope="module")
def study() -> Study:
    return measured(new_study(), SEEN)


class TestProgress:
    @pytest.mark.parametrize("algorithm", ["mislid", "mislid-paper"])
    def test_the_study_does_not_notice(self, algorithm: str) -> None:
        watched, alone = (measured(new_study(algorithm=algorithm), 12) for _ in range(2))
        watched.ask(2), alone.ask(2)
        log = watched.events()
        for _ in range(3):
            watched.progress(simulations=2)
            watched.what_if(m=1, simulations=2)
            assert watched.ask(3) == alone.ask(3)
        assert [event.fact for event in watched.events()] == [
            event.fact for event in alone.events()
        ]
        assert watched.events()[: len(log)] == log
        assert_same(*(numbers_of(one._session.engine._rules.sampler) for one in (watched, alone)))

    def test_after_the_decision(self) -> None:
        study = measured(new_study(), 10**6)
        result, said = study.result, study.progress()
        assert result is not None
        assert (said.more, said.more_low, said.more_high) == (0, 0, 0)
        assert (said.statistic, said.threshold) == (result.statistic, result.threshold)
        assert (said.pair, said.best_now) == (result.pair, result.answer)
        with pytest.warns(ContradictedWarning):
            study.add_observations([("a", 5.0)] * 500)
        later = study.progress()
        assert (later.more, later.more_high, later.statistic, later.pair) == (None,) * 4
        assert later.note == "no forecast: the data contradict what was declared"
        assert later.best_now == ("a",)
        for question in ({"delta": 0.3}, {"misspecification": 0.4}):
            asked = study.what_if(**question, simulations=FEW)
            assert (asked.decided_now, asked.more) == (False, None)
            assert "no forecast: the data contradict" in asked.note

    def test_what_later_data_refute_is_not_decided(self) -> None:
        """Whether it was declared or not, and however early the contradiction was."""
        rows = [("1", 0.0), ("2", 0.2), ("3", 1.0), ("4", 0.95)]
        options = {"candidates": {str(x): [float(x)] for x in range(1, 5)}, "noise": 0.3}
        allowed = new_study(**options, misspecification=0.5)
        allowed.add_observations(rows * 40)
        assert allowed.status != "contradicted"
        smallest = allowed.sensitivity().smallest
        assert smallest > 0.05
        for eps in (0.0, 0.9 * smallest):
            asked = allowed.what_if(misspecification=eps, simulations=FEW)
            assert (asked.decided_now, asked.more) == (False, None)
        refuted = new_study(**options, misspecification=0.01)
        with pytest.warns(ContradictedWarning):
            refuted.add_observations(rows * 24)
        refuted.add_observations(rows * 300)
        assert not refuted.what_if(misspecification=0.02, simulations=FEW).decided_now
        left = 1.05 * refuted.sensitivity().smallest
        assert "contradict" not in refuted.what_if(misspecification=left, simulations=FEW).note


class TestWhatIf:
    def test_decided_now_is_what_a_new_study_with_this_history_decides(self, study: Study) -> None:
        history = [row[3:5] for row in rows_of(study)]
        decided = []
        for question in ({"tolerance": 2.0}, {"delta": 0.3}, {"m": 4}, {"m": 3, "tolerance": 0.6}):
            said = study.what_if(**question, simulations=1)  # type: ignore[arg-type]
            fresh = new_study(**question)
            fresh.add_observations(history)
            assert said.decided_now == (fresh.status == "decided")
            assert (said.more == 0) == said.decided_now
            decided.append(said.decided_now)
            if fresh.result is not None:
                assert said.answer_now == fresh.result.answer
            else:
                twin = fresh.progress(simulations=1)
                assert said.answer_now == twin.best_now
        assert set(decided) == {False, True}
