"""The rival rules, choice by choice beside their plain versions, and whole runs of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from mislid import Model
from mislid.algorithms import Algorithm
from mislid.algorithms.registry import CompiledSampling, compile_sampling
from mislid.engine.engine import new_setting, new_state
from mislid.question import Question
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State, observe_sum
from oracles.paper_thresholds import heuristic_threshold
from oracles.rivals import Choice, Data

Floats = NDArray[np.float64]


class Run(NamedTuple):
    """All that a run reads and writes."""

    setting: Setting
    state: State
    sampler: CompiledSampling

    def choose(self) -> int:
        """The arm that the rule measures next."""
        arm = self.sampler.propose(self.setting, self.sampler.struct, self.state, 0.0)
        return int(arm)

    def measure(self, arm: int, reward: float) -> None:
        observe_sum(self.setting, self.state, arm, 1, float(reward), 0.0)

    def answer(self) -> list[int]:
        """What the rule would answer if its index were at most the tolerance; else it goes on."""
        rule, test, limit = self.sampler.struct, self.sampler.own_test, self.setting.tol
        assert test is not None
        index, rule.index = rule.index, math.nextafter(limit, math.inf)
        assert not test(self.setting, rule, self.state)
        rule.index = limit
        assert test(self.setting, rule, self.state)
        rule.index = index
        return [int(arm) for arm in self.state.incumbents]


def new_run(
    features: Floats,
    m: int,
    algorithm: Algorithm,
    *,
    noise: float | Floats = 1.0,
    tolerance: float = 0.0,
) -> Run:
    question = Question(Model(features, 0.0), m, noise=noise, tolerance=tolerance)
    setting = new_setting(question, algorithm)
    sampler = compile_sampling(algorithm, Setup(setting, question))
    assert sampler is not None
    return Run(setting, new_state(setting), sampler)


def measured(run: Run, features: Floats) -> Data:
    """What the run has measured, for the references."""
    setting, state = run.setting, run.state
    noise = np.sqrt(setting.variance)
    return Data(features, noise, state.counts.copy(), state.sums.copy(), setting.m)


class Step(NamedTuple):
    """A decision of a run and what it was based on."""

    choice: Choice
    data: Data
    beta: float


def steps(
    run: Run, features: Floats, means: Floats, rng: Generator, rounds: int, *, stray: float = 0.0
) -> Iterator[Step]:
    """Every arm once, then the rule's choices; with probability `stray` another arm is measured.

    Rewards are the means plus the run's noise. The choices' answers are taken at the same data.
    """
    noise = np.sqrt(run.setting.variance)
    for t in range(rounds):
        arm = t
        if t >= len(means):
            arm = run.choose()
            choice = Choice(arm, run.sampler.struct.index, run.answer())
            yield Step(choice, measured(run, features), heuristic_threshold(t, run.setting.delta))
            if rng.random() < stray:
                arm = int(rng.integers(len(means)))
        run.measure(arm, means[arm] + noise[arm] * rng.normal())


def assert_decides_like(
    plain: Callable[[Data, float], Choice],
    algorithm: Algorithm,
    shape: tuple[int, int],
    m: int,
    rng: Generator,
    *,
    stray: float = 0.0,
    accuracy: float = 1e-10,
) -> None:
    """Arms, answers and indices along a run with features of this shape are the plain rule's."""
    features, means = rng.normal(size=shape), rng.normal(size=shape[0])
    noise = rng.uniform(0.5, 2.0, shape[0])
    run = new_run(features, m, algorithm, noise=noise, tolerance=0.1)
    for choice, data, beta in steps(run, features, means, rng, 300, stray=stray):
        expected = plain(data, beta)
        assert (choice.arm, choice.answer) == (expected.arm, expected.answer)
        assert_allclose(choice.index, expected.index, rtol=accuracy, atol=accuracy)
