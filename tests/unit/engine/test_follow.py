"""Compiled or step by step, a study's history leads to the same choices."""

import dataclasses

import numpy as np
import pytest

from helpers.small import PAIRINGS, SMALL, Small
from mislid.engine import Engine, EventBatch, Verdict, View
from mislid.question import Question


def in_python(engine: Engine) -> Engine:
    """The engine, whose events are to be taken in by the Python version of the replay."""
    engine.__class__ = InPython
    return engine


class InPython(Engine):
    """Compiled rules, driven step by step."""

    is_compiled = False


def engine_of(small: Small, algorithm: object, stopping: object = "guaranteed") -> Engine:
    instance, m = small
    bound = float(np.max(np.abs(instance.means)))
    question = Question(instance.model, m, noise=instance.noise, mean_bound=bound, delta=0.2)
    return Engine(question, algorithm, stopping, truth=instance, seed=3)


class History:
    """What happens to a study whose workers ask and tell at random; its choices, one by one."""

    def __init__(self, engine: Engine, small: Small, generator: np.random.Generator) -> None:
        self.engine, self.means = engine, small.instance.means
        self.noise, self.generator = small.instance.noise, generator
        self.script, self.chosen, self.open = EventBatch(), [], []
        self.verdict: Verdict | None = None

    def goes_on(self, steps: int) -> None:
        for _ in range(steps):
            kind = self.generator.random()
            if kind < 0.4 or not self.open:
                self.ask(int(self.generator.integers(1, 4)))
            elif kind < 0.9:
                arms = [self.take_open() for _ in range(self.generator.integers(1, 3))]
                self.tell([arm for arm in arms if arm is not None])
            else:
                self.tell([int(self.generator.integers(self.means.size))])

    def take_open(self) -> int | None:
        if not self.open:
            return None
        return self.open.pop(int(self.generator.integers(len(self.open))))

    def ask(self, n: int) -> None:
        step = EventBatch()
        for script in (step, self.script):
            script.ask(len(self.chosen), n, self.open)
        arms = self.follow(step)
        self.chosen += arms
        self.open += arms

    def tell(self, arms: list[int]) -> None:
        draws = self.generator.standard_normal(len(arms))
        values = [self.means[arm] + self.noise[arm] * z for arm, z in zip(arms, draws, strict=True)]
        step = EventBatch()
        for script in (step, self.script):
            script.tell(arms, values)
        self.follow(step)

    def follow(self, step: EventBatch) -> list[int]:
        verdict, arms = self.engine.follow(step)
        self.verdict = self.verdict or verdict
        return arms.tolist()


def same(one: Verdict | None, other: Verdict | None) -> bool:
    return (one is None) == (other is None) and (
        one is None or dataclasses.asdict(one) == dataclasses.asdict(other)
    )


@pytest.mark.parametrize(("algorithm", "stopping"), PAIRINGS)
def test_step_by_step_or_at_once_compiled_or_not(algorithm: str, stopping: str) -> None:
    """Choices, first verdict and measurements, to the last bit."""
    for seed, small in enumerate(SMALL.values()):
        if not small.allows(algorithm):
            continue
        generator = np.random.default_rng(seed)
        history = History(engine_of(small, algorithm, stopping), small, generator)
        history.goes_on(120)
        assert history.engine.is_compiled
        assert len(set(history.chosen)) > 1
        for engine in (
            engine_of(small, algorithm, stopping),
            in_python(engine_of(small, algorithm, stopping)),
        ):
            verdict, arms = engine.follow(history.script)
            assert arms.tolist() == history.chosen
            assert same(verdict, history.verdict)
            np.testing.assert_array_equal(engine.counts, history.engine.counts)
            np.testing.assert_array_equal(engine.sums, history.engine.sums)


def test_a_clear_history_is_decided() -> None:
    """So that the comparison above compares verdicts as well."""
    small = SMALL["tube"]
    history = History(engine_of(small, "mislid"), small, np.random.default_rng(0))
    history.goes_on(600)
    assert history.verdict is not None
    assert sorted(history.verdict.answer) == [0, 1]
    assert history.verdict.samples < history.engine.samples


class Counting:
    """A rule that remembers how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def propose(self, view: View) -> int:
        self.calls += 1
        return (self.calls + view.samples + int(view.rng.integers(2))) % view.question.K


def test_python_rules_follow_step_by_step_or_at_once() -> None:
    small = SMALL["tube"]
    history = History(engine_of(small, Counting()), small, np.random.default_rng(1))
    history.goes_on(200)
    engine = engine_of(small, Counting())
    verdict, arms = engine.follow(history.script)
    assert arms.tolist() == history.chosen
    assert same(verdict, history.verdict)
    assert engine.algorithm.calls == history.engine.algorithm.calls > 50
