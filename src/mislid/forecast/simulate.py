"""A study's own rules, run on from its data with made-up measurements.

What the means are is drawn anew for every run: around the empirical ones, as uncertain as the data
leave them, and projected onto the model. Then the rules choose, measurements are drawn, and the
stopping rule is tested.

One measurement at a time would take too long. An arm that is proposed is measured several times at
once: a small share of what it has had and of what the run has added, so that the number of rounds
grows with the logarithm of the measurements, and a short way to go is not rounded away. With many
arms that is still slow, so that a run with many rounds behind it takes larger steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from mislid._validation import Vector
from mislid.engine import Engine, Verdict
from mislid.engine.engine import Memory
from mislid.study.settings import BERNOULLI, EQUAL, KNOWN, Settings

# Repeats of a proposal: at most these shares of the arm's measurements, and of those of the run.
# With many arms, more of an arm's: the number of rounds grows with them, too.
ARM_SHARE, RUN_SHARE, MANY_ARMS = 0.2, 0.05, 100
# After so many rounds of a run, at least this share of all measurements.
MANY_ROUNDS, LEAST_SHARE = 300, 0.05
# Values of an average arm that an arm's own standard deviation is mixed with.
FEW = 3.0
# Random numbers of decisions are at positions below this.
_POSITIONS = 1 << 62


class Measured(NamedTuple):
    """Counts, sums and scatter (K,) of the measurements, more is better; arms of open trials."""

    counts: Vector
    sums: Vector
    scatter: Vector
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


def data_of(engine: Engine, waiting: Sequence[int]) -> Measured:
    """A copy of what a study has measured."""
    counts = engine.counts.astype(np.float64)
    return Measured(counts, engine.sums, engine.scatter, tuple(waiting))


def likely_deviations(settings: Settings, data: Measured) -> Vector:
    """Standard deviations (K,): those that were declared or else, likely ones by the data.

    An arm's own where it has values enough, drawn towards that of all arms where it has few.
    """
    if settings.noise_model == KNOWN:
        return settings.deviations(data.counts.size)
    if settings.noise_model == BERNOULLI:
        rates = (data.sums + 0.5) / (data.counts + 1.0)
        return np.asarray(np.sqrt(rates * (1.0 - rates)), np.float64)
    freedom = np.maximum(data.counts - 1.0, 0.0)
    together = float(data.scatter.sum()) / max(float(freedom.sum()), 1.0)
    if together <= 0.0:
        together = float(settings.deviations(1)[0]) ** 2
    if settings.noise_model == EQUAL:
        return np.full(data.counts.size, math.sqrt(together))
    mixed = (data.scatter + FEW * together) / (freedom + FEW)
    return np.asarray(np.sqrt(mixed), np.float64)


class Noise(dict[int, Generator]):
    """Noise of its own for each arm, which keeps runs for different questions alike.

    Of many arms a run measures few, so that generators are made when they are needed.
    """

    def __init__(self, rng: Generator) -> None:
        super().__init__()
        self._root: Any = rng.bit_generator.seed_seq

    def __missing__(self, arm: int) -> Generator:
        key = (*self._root.spawn_key, arm)
        self[arm] = default_rng(SeedSequence(self._root.entropy, spawn_key=key))
        return self[arm]


class Forward:
    """An engine for one question, begun with given data again and again.

    Without a memory it is as if a new study had been given the data as its history.
    """

    def __init__(
        self, settings: Settings, engine: Engine, data: Measured, memory: Memory | None = None
    ) -> None:
        self._first = self._engine = engine
        self.data = data
        self._settings = settings
        self._noise = likely_deviations(settings, data)
        self._memory = memory or engine.memory()

    @property
    def missing(self) -> int:
        """Arms of the first design that have no measurement."""
        return int(np.sum(self.data.counts[self._engine.design] == 0.0))

    def begin(self) -> bool:
        """Go back to the data; whether they decide."""
        counts, sums, scatter, _ = self.data
        if not self._first.is_compiled:  # rules that are objects remember what they saw
            self._engine = self._first.copy()
        self._engine.reset(counts, sums, self._memory, scatter=scatter)
        return self._engine.judge().decided

    @property
    def verdict(self) -> Verdict | None:
        """That of the last test, if there was one."""
        return self._engine.verdict if self._engine.tests else None

    @property
    def estimate(self) -> Vector:
        """The projected means (K,) at the last look."""
        return self._engine.estimate

    def best(self) -> tuple[int, ...]:
        """The m arms that the estimate prefers, best first."""
        return self._engine.incumbents

    def run(self, rng: Generator, horizon: int) -> float:
        """Measurements to go until a decision; infinite where there would be more than `horizon`.

        In the middle of the last repeats, because any of them may have been enough.
        """
        means, rounds, repeats, noise = self._possible_means(rng), 0, 1, Noise(rng)
        if self.begin():
            return 0
        engine = self._engine
        counts = self.data.counts.copy()
        for arm in self.data.waiting:
            self._measure(arm, 1, means[arm], noise[arm])
            counts[arm] += 1
        while engine.is_midround or not engine.judge().decided:
            done = engine.samples - self.data.samples
            if done > horizon:
                return math.inf
            arm = engine.propose(int(rng.integers(_POSITIONS)))
            repeats = self._repeats(counts[arm], done, rounds)
            self._measure(arm, repeats, means[arm], noise[arm])
            counts[arm] += repeats
            rounds += 1
        return engine.samples - self.data.samples - (repeats - 1) // 2

    def spent(self, costs: Vector) -> float:
        """What the measurements of the last run cost."""
        return float(costs @ (self._engine.counts - self.data.counts))

    def _repeats(self, count: float, done: int, rounds: int) -> int:
        """How often to measure an arm that is proposed and has been measured `count` times."""
        arm_share = min(1.0, max(ARM_SHARE, self.data.counts.size / MANY_ARMS))
        least = LEAST_SHARE * self._engine.samples if rounds > MANY_ROUNDS else 1.0
        return max(1, int(least), int(min(arm_share * count, RUN_SHARE * done)))

    def _possible_means(self, rng: Generator) -> Vector:
        """Means (K,) of a model, drawn as the data leave them uncertain."""
        counts = self.data.counts
        error = self._noise / np.sqrt(np.maximum(counts, 1.0))
        drawn = self.data.means + error * rng.standard_normal(counts.size)
        if self._range is not None:
            drawn = np.clip(drawn, *self._range)
        sums = drawn * counts
        if self._settings.noise_model == BERNOULLI:
            sums = np.round(sums)
        self._engine.reset(counts, sums, self._memory, scatter=self.data.scatter)
        self._engine.judge(test=False)
        return self.estimate

    @property
    def _range(self) -> tuple[float, float] | None:
        return self._engine.question.reward_range

    def _measure(self, arm: int, times: int, mean: float, rng: Generator) -> None:
        """Take in several measurements, by their sum and their scatter."""
        noise_model, spread = self._settings.noise_model, self._noise[arm]
        if noise_model == KNOWN:
            noise = spread * math.sqrt(times) * rng.standard_normal()
            self._engine.observe(arm, times * mean + noise, times)
        elif noise_model == BERNOULLI:
            successes = rng.binomial(times, min(max(mean, 0.0), 1.0))
            self._engine.observe(arm, float(successes), times)
        else:
            values = mean + spread * rng.standard_normal(times)
            if self._range is not None:
                values = np.clip(values, *self._range)
            apart = float(np.sum((values - values.mean()) ** 2)) if times > 1 else 0.0
            self._engine.observe(arm, float(values.sum()), times, apart)
