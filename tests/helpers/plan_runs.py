"""Runs of rules that plan, round by round beside their plain versions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mislid import Instance, Model, identify
from mislid.algorithms import Algorithm
from mislid.engine import Engine
from mislid.geometry.spanner import spanner
from mislid.question import Question
from oracles.draws import Measured, uniform
from oracles.plans import Known

Floats = NDArray[np.float64]
# Features, misspecification and m: lines, tubes and means without structure.
SHAPES = [
    (6, 2, 0.0, 1),
    (7, 3, 0.0, 3),
    (6, 2, 0.4, 1),
    (7, 3, 0.2, 2),
    (5, 2, float("inf"), 1),
    (5, 2, float("inf"), 3),
]


def random_instance(rng: Generator, K: int, d: int, eps: float) -> Instance:
    """Means in the tube, and uneven noise."""
    features, width = rng.normal(size=(K, d)), min(eps, 1.0)
    means = features @ rng.normal(size=d) + rng.uniform(-width, width, K)
    return Instance(Model(features, eps), means, noise=rng.uniform(0.5, 1.5, K))


def new_engine(instance: Instance, m: int, algorithm: Algorithm | str, **options: float) -> Engine:
    question = Question(instance.model, m, noise=instance.noise, **options)
    return Engine(question, algorithm, "heuristic")


def known_to(engine: Engine) -> Known:
    question = engine.question
    incumbents = sorted(engine.incumbents)
    return Known(question.model, engine.estimate, question.noise, incumbents, question.tolerance)


def known_to_selective(engine: Engine) -> Known:
    """Without the pairs about which nothing is open, unless that is all of them."""
    known, left = known_to(engine), engine._rules.state.left
    pairs = {(i, j) for i in range(known.model.K) for j in known.incumbents}
    pairs = {(i, j) for i, j in pairs if i not in known.incumbents}
    over = {(i, j) for i, j in pairs if left.dropped[i] or left.accepted[j]}
    settled = frozenset(over | set(engine.settled()))
    return known._replace(settled=settled if settled != pairs else frozenset())


def measured_by(engine: Engine) -> Measured:
    model = engine.question.model
    arms = spanner(Model(model.features, 0.0))
    spanned = model.features @ np.linalg.inv(model.features[arms])
    return Measured(known_to(engine), engine.means, engine.counts, spanned)


def number_of(engine: Engine) -> float:
    """The random number that the next decision sees."""
    return uniform(int(engine._rules.key), engine.samples)


def proposals(
    engine: Engine, instance: Instance, rng: Generator, rounds: int, *, test: bool = False
) -> Iterator[int]:
    """The first design, then what the rule proposes; it is measured when the next is asked for.

    With `test`, until a stopping test decides.
    """
    for arm in engine.design:
        engine.observe(int(arm), _reward(instance, int(arm), rng))
    for _ in range(rounds):
        if engine.judge(test=test).decided:
            return
        arm = engine.propose()
        yield arm
        engine.observe(arm, _reward(instance, arm, rng))


def _reward(instance: Instance, arm: int, rng: Generator) -> float:
    return float(instance.means[arm] + instance.noise[arm] * rng.normal())


def assert_right(
    algorithm: Algorithm, rng: Generator, K: int, d: int, eps: float, m: int, runs: int = 5
) -> None:
    """Runs at a small delta end with the right answer."""
    for seed in range(runs):
        instance = random_instance(rng, K, d, eps)
        while _lead(instance, m) < 0.5:
            instance = random_instance(rng, K, d, eps)
        found = identify(
            instance,
            m,
            delta=1e-4,
            algorithm=algorithm,
            stopping="heuristic",
            seed=seed,
            max_samples=20_000,
        )
        assert (found.status, found.correct) == ("stopped", True)


def _lead(instance: Instance, m: int) -> float:
    ordered = np.sort(instance.means)[::-1]
    return float(ordered[m - 1] - ordered[m])
