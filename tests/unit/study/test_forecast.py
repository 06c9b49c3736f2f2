"""Forecasts: what they say, and that they leave the study alone."""

import json
import math

import numpy as np
import pytest

import mislid
from helpers.engines import assert_same, numbers_of
from mislid import Model, characteristic_time
from mislid.engine import Verdict, View
from mislid.errors import ContradictedWarning, ProblemError
from mislid.forecast.progress import ASKED, FEW_SIMULATIONS, SIMULATIONS, summed_up
from mislid.forecast.simulate import MANY_ROUNDS
from mislid.study import Study
from mislid.study.session import Session

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
    def test_what_it_says(self, study: Study) -> None:
        said = study.progress(simulations=FEW)
        assert said.samples == SEEN
        assert said.more is not None
        assert said.more_high is not None
        assert 0 < said.more_low <= said.more <= said.more_high
        assert said.best_now == ("c",)
        assert said.pair is not None
        assert said.pair[1] == "c"
        assert said.statistic is not None
        assert said.threshold is not None
        assert 0.0 < said.statistic < said.threshold
        assert said.note == ""

    def test_the_lower_bound_is_that_of_the_estimates(self, study: Study) -> None:
        estimate = study._session.replay.engine.estimate
        model = Model(list(FEATURES.values()), 0.2)
        time = characteristic_time(model, estimate, 1, noise=0.5, rtol=1e-6)
        bound = study.progress(simulations=1).lower_bound
        assert bound == pytest.approx(time.samples(0.05), rel=0.01)

    def test_the_same_in_another_process(self, study: Study) -> None:
        said = study.progress(simulations=FEW)
        again = Study(Session(study.study_name, study._session.key, study._session.storage))
        assert again.progress(simulations=FEW) == said == study.progress(simulations=FEW)
        assert again.what_if(delta=0.01, simulations=FEW) == study.what_if(
            delta=0.01, simulations=FEW
        )

    @pytest.mark.parametrize("algorithm", ["mislid", "mislid-paper"])
    def test_the_study_does_not_notice(self, algorithm: str) -> None:
        watched, alone = (measured(new_study(algorithm=algorithm), 12) for _ in range(2))
        watched.ask(2), alone.ask(2)
        log = watched.events()
        for _ in range(3):
            watched.progress(simulations=2)
            watched.what_if(m=1, simulations=2)
            watched._snapshot().what_ifs(1)
            assert watched.ask(3) == alone.ask(3)
        assert [event.fact for event in watched.events()] == [
            event.fact for event in alone.events()
        ]
        assert watched.events()[: len(log)] == log
        assert_same(
            *(numbers_of(one._session.replay.engine.memory().sampler) for one in (watched, alone))
        )

    def test_open_trials_come_first(self) -> None:
        study = measured(new_study(), SEEN)
        study.ask(500)
        said = study.progress(simulations=FEW)
        assert said.more_low >= 500
        assert said.samples == SEEN

    def test_before_anything_is_measured(self) -> None:
        said = new_study().progress()
        assert (said.samples, said.more, said.more_low, said.more_high) == (0, None, 2, None)
        assert (said.pair, said.statistic, said.lower_bound, said.best_now) == (
            None,
            None,
            None,
            (),
        )
        assert said.note == "too early: 2 candidates of the first design not measured yet"

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
        assert (later.lower_bound, later.best_now) == (None, ("a",))
        for asked in study._snapshot().what_ifs(FEW):
            assert (asked.decided_now, asked.more) == (False, None)
            assert "no forecast: the data contradict" in asked.note

    def test_a_misspecification_that_the_data_allow_has_a_forecast(self) -> None:
        study = new_study(candidates=[[1, 0], [0, 1], [1, 1], [1, -1]], misspecification=0.01)
        with pytest.warns(ContradictedWarning):
            study.add_observations([(0, 0.0), (1, 0.0), (2, 3.0), (3, 2.0)] * 5)
        assert "contradict" in study.progress(simulations=FEW).note
        smaller, larger = (study.what_if(misspecification=x, simulations=FEW) for x in (0.1, 3.0))
        assert (smaller.decided_now, smaller.more) == (False, None)
        assert "contradict" in smaller.note
        assert larger.more is not None
        assert "contradict" not in larger.note

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

    def test_noise_that_is_refuted_leaves_no_forecast_at_all(self) -> None:
        study = new_study(candidates=["a", "b", "c"], misspecification=None, noise=0.1)
        with pytest.warns(ContradictedWarning):
            study.add_observations([("a", value) for value in (1, -1, 2, -2, 3, -3)])
        for said in (study.progress(), study.what_if(delta=0.1), study.overview().progress):
            assert (said.more, said.more_low) == (None, 0)
            assert said.note == "no forecast: the data contradict what was declared"

    def test_a_tie_has_no_end_in_sight(self) -> None:
        study = new_study(candidates=["a", "b"], misspecification=None)
        study.add_observations([("a", 0.5), ("b", 0.5)] * 20)
        said = study.progress()
        assert said.more_high is None
        assert "simulations went on for more than 4000 measurements" in said.note
        assert said.lower_bound == math.inf
        assert said.to_dict()["lower_bound"] == "inf"

    def test_refuses(self, study: Study) -> None:
        for call in (study.progress, study.what_if):
            with pytest.raises(ProblemError, match="simulations"):
                call(simulations=0)


class TestSummedUp:
    def test_one_more_run_is_in_the_range_in_four_fifths_of_all_cases(self) -> None:
        rng = np.random.default_rng(3)
        for count in (SIMULATIONS, FEW_SIMULATIONS):
            inside = 0
            for _ in range(4000):
                *runs, more = rng.permutation(count + 1)
                said = summed_up([float(run) for run in runs], count, 10**6)
                inside += said.more_low < more < float(said.more_high or 0)
            assert inside / 4000 == pytest.approx(0.8, abs=0.03)

    def test_most_beyond_the_horizon(self) -> None:
        beyond = [math.inf] * 10
        said = summed_up([5.0, *beyond], 19, 100)
        assert said == (
            None,
            5,
            None,
            "10 of 11 simulations went on for more than 100 measurements",
        )
        assert summed_up(beyond, 19, 100)[:3] == (None, 100, None)
        said = summed_up([*map(float, range(10)), *beyond[:9]], 19, 100)
        assert said[:3] == (9, 1, None)

    def test_fewer_where_they_are_dear(self) -> None:
        rng = np.random.default_rng(0)
        for K, count in ((499, SIMULATIONS), (500, FEW_SIMULATIONS)):
            arms = rng.normal(size=(K, 20))
            assert new_study(candidates=arms)._snapshot().simulations() == count
        bare = new_study(candidates=[str(k) for k in range(500)], misspecification=None)
        assert bare._snapshot().simulations() == SIMULATIONS


class TestLongRuns:
    def test_the_number_of_rounds_does_not_grow_with_the_arms(self) -> None:
        """So many equal arms would each need rounds of their own."""
        K, d = 400, 3
        rng = np.random.default_rng(1)
        study = new_study(candidates=rng.normal(size=(K, d)), misspecification=0.5, noise=1.0)
        means = np.where(np.arange(K) < 1, 0.6, 0.5)
        study.add_observations([(arm, means[arm]) for arm in range(K)])
        now = study._snapshot()
        forward, rounds = now._forward(now.settings), []
        repeats = forward._repeats
        forward._repeats = lambda *given: rounds.append(given) or repeats(*given)  # type: ignore[assignment,func-returns-value,method-assign]
        assert forward.run(np.random.default_rng(5), 100 * K) == math.inf
        assert MANY_ROUNDS < len(rounds) < MANY_ROUNDS + math.log(100) / math.log(1.04)


class TestAnyStudy:
    def test_minimizing_is_maximizing_the_negative(self, study: Study) -> None:
        mirror = measured(new_study(direction="minimize"), SEEN)
        assert mirror.progress(simulations=FEW) == study.progress(simulations=FEW)
        assert mirror._snapshot().what_ifs(1) == study._snapshot().what_ifs(1)

    def test_noise_of_each_arm(self, study: Study) -> None:
        alike = measured(new_study(noise=[0.5] * 5), SEEN)
        assert alike.progress(simulations=FEW) == study.progress(simulations=FEW)
        # Arms that are known well need nothing more; the unsteady ones do.
        noisy = new_study(noise=[0.5, 2.0, 2.0, 0.5, 0.5])
        noisy.add_observations([(arm, MEANS[arm]) for arm in MEANS] * 12)
        quiet = new_study()
        quiet.add_observations([(arm, MEANS[arm]) for arm in MEANS] * 12)
        assert noisy.progress(simulations=FEW).more_low > quiet.progress(simulations=FEW).more_low

    @pytest.mark.parametrize("candidates", [FEATURES, list(FEATURES)])
    def test_without_structure(self, candidates: object) -> None:
        study = new_study(candidates=candidates, misspecification=math.inf)
        said = measured(study, SEEN).progress(simulations=FEW)
        assert said.more is not None
        assert said.best_now == ("c",)
        changed = {name for row in study._snapshot().what_ifs(1) for name in row.changed}
        assert changed == {"delta", "m", "tolerance"}

    @pytest.mark.parametrize("algorithm", ["lucb", "uniform"])
    def test_algorithms(self, algorithm: str) -> None:
        study = measured(new_study(algorithm=algorithm, stopping="heuristic"), 12)
        assert study.progress(simulations=3).samples == study.samples


class TestWhatIf:
    def test_the_studys_own_question(self, study: Study) -> None:
        said, same = study.progress(simulations=FEW), study.what_if(simulations=FEW)
        assert (same.more, same.more_low, same.more_high) == (
            said.more,
            said.more_low,
            said.more_high,
        )
        assert (same.changed, same.decided_now, same.answer_now) == ((), False, ("c",))
        assert list(same.question) == list(ASKED)

    def test_another_question(self, study: Study) -> None:
        said = study.what_if(m=2, delta=0.2, tolerance=0.1, misspecification=0.4, simulations=FEW)
        assert said.question == {"m": 2, "delta": 0.2, "tolerance": 0.1, "misspecification": 0.4}
        assert said.changed == ASKED
        assert set(said.answer_now) == {"b", "c"}
        assert json.loads(json.dumps(said.to_dict(), allow_nan=False))["changed"] == list(ASKED)

    def test_decided_now_is_what_a_new_study_with_this_history_decides(self, study: Study) -> None:
        history = [row[3:5] for row in study.observation_rows()]
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

    def test_a_decided_study_can_be_asked_more(self) -> None:
        study = measured(new_study(), 10**6)
        said = study.what_if(delta=1e-6, simulations=FEW)
        assert not said.decided_now
        assert said.more is not None
        assert said.more > 0

    @pytest.mark.parametrize(
        ("argument", "value"),
        [("m", 0), ("m", 5), ("delta", 1.0), ("tolerance", -1.0), ("misspecification", -0.1)],
    )
    def test_refuses(self, study: Study, argument: str, value: float) -> None:
        with pytest.raises(ProblemError, match=rf"^{argument} must"):
            study.what_if(**{argument: value})  # type: ignore[arg-type]

    @pytest.mark.slow
    def test_smaller_error_rates_need_more_and_larger_tolerances_fewer(self) -> None:
        names = {"delta": (0.2, 0.05, 0.001), "tolerance": (0.3, 0.1, 0.0)}
        for name, values in names.items():
            totals = np.zeros(3)
            for seed in range(4):
                study = measured(new_study(), 40, seed=seed)
                for at, value in enumerate(values):
                    said = study.what_if(**{name: value}, simulations=FEW)  # type: ignore[arg-type]
                    totals[at] += said.more_low
            assert totals[0] < totals[1] < totals[2], (name, totals)


class TestWhatIfs:
    def test_the_table(self, study: Study) -> None:
        rows = study._snapshot().what_ifs(1)
        asked = [(row.changed[0], getattr(row, row.changed[0])) for row in rows]
        gap = asked[3][1]
        assert asked == [
            ("delta", 0.1),
            ("delta", 0.01),
            ("m", 2),
            ("tolerance", gap),
            ("misspecification", 0.1),
            ("misspecification", 0.4),
        ]
        estimate = dict(zip(FEATURES, study._session.replay.engine.estimate, strict=True))
        pair = study.progress(simulations=1).pair
        assert pair is not None
        assert gap == pytest.approx(estimate[str(pair[1])] - estimate[str(pair[0])], rel=0.05)

    def test_impossible_rows_are_left_out(self) -> None:
        study = new_study(algorithm="lingame", misspecification=0.0, delta=0.1)
        rows = measured(study, 12)._snapshot().what_ifs(1)
        assert [row.changed for row in rows] == [("delta",), ("tolerance",)]


class AtTheThirtieth:
    """Stops when it has been asked so often, which only it remembers."""

    def __init__(self) -> None:
        self.looks = 0

    def judge(self, view: View) -> Verdict:
        self.looks += 1
        return Verdict(self.looks >= 30)


def test_every_simulation_begins_with_what_a_rule_remembers_now() -> None:
    rule = AtTheThirtieth()
    study = mislid.create_study(candidates=["a", "b", "c"], m=1, noise=1.0, stopping=rule)
    for arm in "abc" * 3:
        study.add_observations([(arm, 0.1)])
    looks = study._session.replay.engine.stopping.judge.__self__.looks
    assert 0 < looks < 12
    found = study.progress(simulations=20)
    # A simulation looks at the present data once more, and may measure one arm several times.
    assert found.more_low >= 29 - looks - 1
    assert study._session.replay.engine.stopping.judge.__self__.looks == looks
