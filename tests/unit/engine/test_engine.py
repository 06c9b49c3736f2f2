"""An engine takes in measurements, proposes and judges, whatever rules it has."""

import math
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mislid
from mislid.algorithms import ALGORITHMS
from mislid.engine import Engine, Verdict, View
from mislid.errors import ProblemError
from mislid.question import Question

FEATURES = np.array([[0.93, -0.21], [0.41, 0.77], [0.17, -0.29], [-0.34, 0.38], [-0.71, 0.19]])
MEANS = np.array([1.02, 0.63, 0.11, -0.28, -0.74])
NOISE = np.array([0.731, 0.547, 0.613, 0.689, 0.571])
INSTANCE = mislid.Instance(mislid.Model(FEATURES, 0.5), MEANS, noise=NOISE)
QUESTION = Question(INSTANCE.model, 1, noise=NOISE, mean_bound=2.0)
EVERY = [name for name in ALGORITHMS if name != "oracle"]


def engine_of(algorithm: object = "mislid", stopping: object = "guaranteed", **options) -> Engine:
    return Engine(QUESTION, algorithm, stopping, truth=INSTANCE, **options)


def measure(engine: Engine, count: int, seed: int = 0) -> list[int]:
    """So many measurements as the engine proposes them, design first; the arms."""
    generator, arms = np.random.default_rng(seed), []
    for _ in range(count):
        if engine.samples < len(engine.design):
            arm = int(engine.design[engine.samples])
        else:
            if not engine.is_midround:
                engine.judge()
            arm = engine.propose()
        engine.observe(arm, MEANS[arm] + NOISE[arm] * generator.standard_normal())
        arms.append(arm)
    return arms


class Laggard:
    """The arm with the fewest measurements, of several the first: `uniform` in Python."""

    def propose(self, view: View) -> int:
        return int(np.argmin(view.counts))


class Heuristic:
    """The threshold of `heuristic` in Python."""

    name = "lab"

    def judge(self, view: View) -> Verdict:
        near = view.closest_alternative
        threshold = math.log((1.0 + math.log(view.samples + 1.0)) / view.question.delta)
        return Verdict(near.cost > threshold, near.cost, threshold, near.pair)


class Says:
    """A rule that says what it was told to."""

    def __init__(self, said: object) -> None:
        self.said = said

    def propose(self, view: View) -> object:
        return self.said

    def judge(self, view: View) -> object:
        return self.said


class TestMeasurements:
    def test_they_add_up(self) -> None:
        engine = engine_of()
        engine.observe(1, 0.5)
        engine.observe(1, 0.25)
        engine.observe(3, 2.0, times=4)
        assert engine.samples == 6
        assert_array_equal(engine.counts, [0, 2, 0, 4, 0])
        assert_array_equal(engine.sums, [0.0, 0.75, 0.0, 2.0, 0.0])
        assert_array_equal(engine.means, [0.0, 0.375, 0.0, 0.5, 0.0])
        assert_array_equal(engine.weights, engine.counts / NOISE**2)

    def test_what_is_given_away_is_a_copy(self) -> None:
        engine = engine_of()
        for name in ("counts", "sums", "means", "weights", "estimate"):
            getattr(engine, name)[:] = 7
            assert_array_equal(getattr(engine, name), np.zeros(5))


class TestJudging:
    def test_the_estimate_is_the_nearest_model(self) -> None:
        engine = engine_of()
        assert not engine.is_estimated
        measure(engine, 12)
        engine.judge(test=False)
        nearest = mislid.project(INSTANCE.model, engine.means, engine.weights)
        np.testing.assert_allclose(engine.estimate, nearest.means, atol=1e-12)
        assert engine.incumbents == (int(np.argmax(nearest.means)),)
        assert engine.is_estimated
        assert engine.last_judged == 12


class TestViews:
    def test_a_view_has_what_is_known_and_stays(self) -> None:
        engine = engine_of()
        measure(engine, 12)
        engine.judge()
        view = engine.view()
        known = view.samples, view.counts.tolist(), view.means.tolist(), view.estimate.tolist()
        measure(engine, 5)
        engine.judge()
        assert known == (12, view.counts.tolist(), view.means.tolist(), view.estimate.tolist())
        assert_array_equal(view.weights, view.counts / NOISE**2)
        assert view.question is QUESTION
        view.counts[:] = 0
        assert engine.counts.sum() == 17

    def test_random_numbers_belong_to_seed_and_position(self) -> None:
        def number(seed: int, position: int | None) -> float:
            return float(engine_of(seed=seed).view(position).rng.random())

        assert number(0, 3) == number(0, 3)
        assert len({number(0, 3), number(0, 4), number(1, 3)}) == 3
        assert number(0, None) == number(0, 0)


class TestMixedRules:
    def test_python_rules_do_what_compiled_ones_do(self) -> None:
        """A whole run: the same arms, the same end."""
        for pair in (("uniform", Heuristic()), (Laggard(), "heuristic"), (Laggard(), Heuristic())):
            assert not engine_of(*pair).is_compiled
            for seed in range(3):
                plain, mixed = (
                    mislid.identify(INSTANCE, 1, algorithm=rule, stopping=stopping, seed=seed)
                    for rule, stopping in (("uniform", "heuristic"), pair)
                )
                assert (mixed.samples, mixed.answer) == (plain.samples, plain.answer)
                assert_array_equal(mixed.means, plain.means)
        assert engine_of("uniform", "heuristic").is_compiled


class TestReset:
    @pytest.mark.parametrize("algorithm", EVERY)
    def test_it_equals_having_observed_the_same(self, algorithm: str) -> None:
        """The next verdict and the next arm, to the last bit."""
        counts = np.array([7, 5, 3, 2, 4])
        seen, told = engine_of(algorithm), engine_of(algorithm)
        for arm, count in enumerate(counts):
            seen.observe(arm, 0.3 * count + arm, times=int(count))
        told.reset(seen.counts, seen.sums)
        assert seen.judge() == told.judge()
        assert_array_equal(seen.estimate, told.estimate)
        assert seen.propose() == told.propose()


class TestCopy:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_copies_go_on_alike_and_apart(self, algorithm: str) -> None:
        engine = engine_of(algorithm)
        measure(engine, 20)
        copy = engine.copy()
        ahead = measure(copy, 30, seed=1)
        assert engine.samples == 20
        assert measure(engine, 30, seed=1) == ahead
        assert_array_equal(engine.sums, copy.sums)
        assert engine.judge() == copy.judge()


class TestWrongRules:
    @pytest.mark.parametrize("arm", [5, -1, 1.0, True, None, "0", np.array([1, 2])])
    def test_no_arm(self, arm: object) -> None:
        engine = engine_of(Says(arm))
        with pytest.raises(ProblemError, match=r"^Says\.propose must return an arm, 0 to 4; got "):
            engine.propose()

    def test_no_verdict(self) -> None:
        engine = engine_of(stopping=Says(True))
        with pytest.raises(ProblemError, match=r"^Says\.judge must return a .*Verdict; got True$"):
            engine.judge(test=True)

    @pytest.mark.parametrize("answer", [(5,), (0, 1), (), 2, (0.0,), (True,), ("a",)])
    def test_no_answer(self, answer: object) -> None:
        engine = engine_of(stopping=Says(Verdict(True, answer=answer)))
        message = r"^Says\.judge .* answer is None or 1 of the arms 0 to 4, each once; got "
        with pytest.raises(ProblemError, match=message):
            engine.judge(test=True)


class Locked:
    """A rule that cannot be copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def propose(self, view: View) -> int:
        return 0

    def judge(self, view: View) -> Verdict:
        return Verdict(False)


@pytest.mark.parametrize("argument", ["algorithm", "stopping"])
def test_a_rule_that_cannot_be_copied_is_refused(argument: str) -> None:
    with pytest.raises(ProblemError, match=f"^{argument} must be an object that copy.deepcopy can"):
        engine_of(**{argument: Locked()})
