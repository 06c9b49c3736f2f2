"""Rules that measure in phases against their plain versions, and designs against solvers."""

import numpy as np
import pytest
from numpy.random import Generator

from helpers.rival_runs import Floats
from mislid import Model
from mislid.algorithms import RAGE, XYAdaptive, XYStatic
from mislid.algorithms.phases import Phased
from mislid.engine import Engine
from mislid.question import Question
from oracles.phases import PlainPhases, PlainRAGE, PlainXYAdaptive, PlainXYStatic

PLAIN: dict[type, type[PlainPhases]] = {
    RAGE: PlainRAGE,
    XYAdaptive: PlainXYAdaptive,
    XYStatic: PlainXYStatic,
}
ALL: tuple[Phased, ...] = (
    RAGE(),
    RAGE(fresh=False),
    XYAdaptive(),
    XYAdaptive(fresh=False),
    XYStatic(),
)


def assert_decides_like(rule: Phased, question: Question, means: Floats, rng: Generator) -> int:
    """Arm for arm until the rule's own test is satisfied; the number of phases."""
    engine = Engine(question, rule, "heuristic")
    plain = PLAIN[type(rule)](question)
    for name, value in vars(rule).items():
        setattr(plain, name, value)
    sums = np.zeros(question.K)
    for t in range(400_000):
        planned = t < len(engine.design)
        arm = int(engine.design[t]) if planned else engine.propose()
        if not planned:
            assert arm == plain.propose(engine.counts.astype(float), sums)
        reward = means[arm] + question.noise[arm] * rng.normal()
        engine.observe(arm, reward)
        sums[arm] += reward
        if not planned and engine.own_test():
            assert plain.decides(engine.counts.astype(float), sums)
            assert sorted(plain.accepted) == sorted(engine.incumbents)
            return plain.number
        if not planned:
            assert not plain.decides(engine.counts.astype(float), sums)
    raise AssertionError("the rule does not end")


def question_of(
    rng: Generator, shape: tuple[int, int], m: int, eps: float
) -> tuple[Question, Floats]:
    """Features, and means within the tube that take a few phases to tell apart."""
    while True:
        features = rng.normal(size=shape)
        deviations = rng.uniform(-1, 1, shape[0]) * min(eps, 0.3)
        means = features @ rng.normal(size=shape[1]) + deviations
        ordered = np.sort(means)[::-1]
        if 0.1 < ordered[m - 1] - ordered[m] < 0.25:
            break
    noise = rng.uniform(0.5, 1.5, shape[0])
    return Question(Model(features, eps), m, noise=noise, delta=0.1), means


@pytest.mark.parametrize("rule", ALL, ids=str)
@pytest.mark.parametrize("eps", [0.0, 0.05, np.inf])
@pytest.mark.parametrize(("K", "d", "m"), [(7, 3, 1), (7, 3, 3), (5, 4, 4), (12, 4, 5)])
def test_decides_like_the_plain_rule(
    rng: Generator, K: int, d: int, m: int, eps: float, rule: Phased
) -> None:
    question, means = question_of(rng, (K, d), m, eps)
    assert assert_decides_like(rule, question, means, rng) >= 1
