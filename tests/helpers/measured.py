"""Measured data for the rules: a model, counts and means, as the compiled rules take them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid.engine import Engine
from mislid.engine.engine import begin_with, new_setting, new_state
from mislid.model import Model
from mislid.question import Question
from mislid.stopping.state import Setting, State

Floats = NDArray[np.float64]


class Data(NamedTuple):
    """A model, noise (K,), how often each arm was measured (K,) and with what means (K,)."""

    model: Model
    noise: Floats
    counts: Floats
    means: Floats
    m: int
    tol: float = 0.0
    delta: float = 0.05

    @property
    def weights(self) -> Floats:
        return self.counts / self.noise**2

    @property
    def question(self) -> Question:
        return Question(self.model, self.m, noise=self.noise, delta=self.delta, tolerance=self.tol)


def engine_of(data: Data, stopping: str, **options: float) -> Engine:
    """An engine that has taken in the data."""
    engine = Engine(data.question, "uniform", stopping, **options)
    engine.reset(data.counts, data.counts * data.means)
    return engine


def setting_of(data: Data) -> Setting:
    return new_setting(data.question, None)


def state_of(data: Data) -> State:
    setting = setting_of(data)
    state = new_state(setting)
    begin_with(setting, state, data.counts, data.counts * data.means)
    return state


def random_data(
    rng: np.random.Generator, eps: float | None = None, size: float | None = None
) -> Data:
    """Few arms, uneven counts and noise; about as much evidence as decisions need."""
    K = int(rng.integers(3, 9))
    d = int(rng.integers(1, min(K, 4)))
    if eps is None:
        eps = float(rng.choice([0.0, 0.05, 0.5, math.inf]))
    features = rng.normal(size=(K, d))
    width = min(eps, 1.0)
    truth = features @ rng.normal(size=d) + rng.uniform(-width, width, size=K)
    noise = rng.choice([0.5, 1.0, 2.0], size=K)
    size = 10.0 ** rng.uniform(1, 6) if size is None else size
    counts = np.ceil(size * rng.uniform(0.2, 1.0, size=K))
    means = truth + noise * rng.normal(size=K) / np.sqrt(counts)
    tol = float(rng.choice([0.0, 0.1]))
    return Data(Model(features, eps), noise, counts, means, int(rng.integers(1, K)), tol)


def samples(seed: int, count: int, eps: float | None = None) -> Iterator[Data]:
    for n in range(count):
        yield random_data(np.random.default_rng([seed, n]), eps)
