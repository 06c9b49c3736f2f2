"""A study's own rules, run on from its data with made-up measurements.

What the means are is drawn anew for every run: around the empirical ones, as uncertain as the data
leave them, and projected onto the model. Then the rules choose, measurements are drawn, and the
stopping rule is tested.

One measurement at a time would take too long. An arm that is proposed is measured several times at
once: a small share of what it has had and of what the run has added, so that the number of rounds
grows with the logarithm of the measurements, and a short way to go is not rounded away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mislid._validation import Vector
from mislid.study.decisions import Decider
from mislid.study.settings import Candidates, Settings

# Repeats of a proposal: at most these shares of the arm's measurements, and of those of the run.
# With many arms, more of an arm's: the number of rounds grows with them, too.
ARM_SHARE, RUN_SHARE, MANY_ARMS = 0.2, 0.05, 100
_NEVER = 1 << 62


class Habits(NamedTuple):
    """What the rules remember besides the data."""

    memory: tuple[NDArray[np.generic], ...]
    rounds: int
    queued: int


class Evidence(NamedTuple):
    """What a stopping test found for the pair (challenger, incumbent) that limits it."""

    statistic: float
    threshold: float
    pair: tuple[int, int]


class Data(NamedTuple):
    """Counts (K,) and sums (K,) of the measurements, more is better; the arms of open trials."""

    counts: Vector
    sums: Vector
    waiting: Sequence[int]

    @property
    def samples(self) -> int:
        """Measurements in all."""
        return int(self.counts.sum())

    @property
    def means(self) -> Vector:
        """Empirical means (K,), 0 where nothing was measured."""
        means: Vector = self.sums / np.maximum(self.counts, 1.0)
        return means


def data_of(decider: Decider, waiting: Sequence[int]) -> Data:
    """A copy of what a study has measured."""
    return Data(decider.state.counts.copy(), decider.state.sums.copy(), tuple(waiting))


def habits_of(decider: Decider) -> Habits:
    """A copy of what a study's rules remember."""
    from mislid.rules._state import QUEUED, ROUNDS

    clock = decider.state.clock
    memory = tuple(array.copy() for array in decider.sampler.memory)
    return Habits(memory, int(clock[ROUNDS]), int(clock[QUEUED]))


class Forward:
    """The rules for one question, begun with given data.

    Without `habits` it is as if a new study had been given the data as its history.
    """

    def __init__(
        self, settings: Settings, candidates: Candidates, data: Data, habits: Habits | None = None
    ) -> None:
        self._decider = Decider(settings, candidates)
        self.data = data
        self._deviations = np.sqrt(self._decider.setting.variance)
        self._habits = habits or habits_of(self._decider)

    @property
    def missing(self) -> int:
        """Arms of the first design that have no measurement."""
        return int(np.sum(self.data.counts[self._decider.design] == 0.0))

    def begin(self) -> bool:
        """Go back to the data; whether they decide."""
        from mislid.rules._state import QUEUED, ROUNDS, begin_with

        state = self._decider.state
        begin_with(self._decider.setting, state, self.data.counts, self.data.sums)
        state.clock[ROUNDS], state.clock[QUEUED] = self._habits.rounds, self._habits.queued
        for array, kept in zip(self._decider.sampler.memory, self._habits.memory, strict=True):
            array[...] = kept
        return self._judge()

    @property
    def evidence(self) -> Evidence | None:
        """That of the last test, if there was one."""
        from mislid.rules._state import CHALLENGER, INCUMBENT, STATISTIC, TESTS, THRESHOLD

        state = self._decider.state
        if state.clock[TESTS] == 0:
            return None
        statistic, threshold = state.evidence[STATISTIC], state.evidence[THRESHOLD]
        pair = int(state.evidence[CHALLENGER]), int(state.evidence[INCUMBENT])
        return Evidence(float(statistic), float(threshold), pair)

    @property
    def estimate(self) -> Vector:
        """The projected means (K,) at the last look."""
        projected: Vector = self._decider.state.projected.copy()
        return projected

    def best(self) -> tuple[int, ...]:
        """The m arms that the estimate prefers, best first."""
        return self._decider.best()

    def run(self, rng: Generator, horizon: int) -> float:
        """Measurements to go until a decision; infinite where there would be more than `horizon`.

        In the middle of the last repeats, because any of them may have been enough.
        """
        from mislid.rules._state import QUEUED, SAMPLES

        means = self._possible_means(rng)
        state, repeats = self._decider.state, 1
        arm_share = min(1.0, max(ARM_SHARE, means.size / MANY_ARMS))
        # Noise of its own for each arm keeps runs for different questions alike.
        noise = rng.spawn(means.size)
        if self.begin():
            return 0
        for arm in self.data.waiting:
            self._measure(arm, 1, means[arm], noise[arm])
        while state.clock[QUEUED] > 0 or not self._judge():
            done = int(state.clock[SAMPLES]) - self.data.samples
            if done > horizon:
                return math.inf
            arm = self._propose(rng.random())
            repeats = max(1, int(min(arm_share * state.counts[arm], RUN_SHARE * done)))
            self._measure(arm, repeats, means[arm], noise[arm])
        return int(state.clock[SAMPLES]) - self.data.samples - (repeats - 1) // 2

    def _possible_means(self, rng: Generator) -> Vector:
        """Means (K,) of a model, drawn as the data leave them uncertain."""
        self.begin()
        counts = self.data.counts
        error = self._deviations / np.sqrt(np.maximum(counts, 1.0))
        drawn = self.data.means + error * rng.standard_normal(counts.size)
        self._decider.state.means[:] = np.where(counts > 0.0, drawn, 0.0)
        self._judge(patience=_NEVER)
        return self.estimate

    def _judge(self, patience: int | None = None) -> bool:
        from mislid.rules._stopping import estimate_and_test

        stopping = self._decider.stopping
        if patience is not None:
            stopping = stopping._replace(patience=patience)
        return bool(estimate_and_test(self._decider.setting, stopping, self._decider.state))

    def _propose(self, uniform: float) -> int:
        from mislid.rules._propose import next_arm

        decider = self._decider
        rivals = decider.rivals
        return int(next_arm(decider.setting, decider.sampler, decider.state, uniform, rivals))

    def _measure(self, arm: int, times: int, mean: float, rng: Generator) -> None:
        """Take in the sum of several measurements, as `observe` does with one."""
        from mislid.rules._state import SAMPLES

        state, setting = self._decider.state, self._decider.setting
        noise = self._deviations[arm] * math.sqrt(times) * rng.standard_normal()
        state.clock[SAMPLES] += times
        state.counts[arm] += times
        state.sums[arm] += times * mean + noise
        state.weights[arm] = (state.counts[arm] + setting.phantom) / setting.variance[arm]
        state.means[arm] = state.sums[arm] / state.counts[arm]
