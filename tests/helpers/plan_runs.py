"""Runs of rules that plan, round by round beside their plain versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import Generator

from mislid import Instance, Model
from mislid.algorithms import Algorithm
from mislid.engine import Engine
from mislid.geometry.spanner import spanner
from mislid.question import Question
from oracles.draws import Measured, uniform
from oracles.plans import Known


class Run(NamedTuple):
    """An engine, and the instance that is measured where it says."""

    engine: Engine
    instance: Instance
    rng: Generator

    def proposals(self, rounds: int, *, test: bool = False) -> Iterator[int]:
        """The first design, then what the rule proposes; it is measured when the next is asked for.

        With `test`, until a stopping test decides.
        """
        for arm in self.engine.design:
            self._measure(int(arm))
        for _ in range(rounds):
            if self.engine.judge(test=test).decided:
                return
            arm = self.engine.propose()
            yield arm
            self._measure(arm)

    def _measure(self, arm: int) -> None:
        mean, noise = self.instance.means[arm], self.instance.noise[arm]
        self.engine.observe(arm, float(mean + noise * self.rng.normal()))

    def known(self) -> Known:
        question, incumbents = self.engine.question, sorted(self.engine.incumbents)
        return Known(
            question.model, self.engine.estimate, question.noise, incumbents, question.tolerance
        )

    def known_to_selective(self) -> Known:
        """Without the pairs about which nothing is open, unless that is all of them."""
        known, left = self.known(), self.engine._rules.state.settled
        pairs = {(i, j) for i in range(known.model.K) for j in known.incumbents}
        pairs = {(i, j) for i, j in pairs if i not in known.incumbents}
        over = {(i, j) for i, j in pairs if left.dropped[i] or left.accepted[j]}
        settled = frozenset(over | set(self.engine.settled()))
        return known._replace(settled=settled if settled != pairs else frozenset())

    def measured(self) -> Measured:
        model = self.engine.question.model
        arms = spanner(Model(model.features, 0.0))
        spanned = model.features @ np.linalg.inv(model.features[arms])
        return Measured(self.known(), self.engine.means, self.engine.counts, spanned)

    def number(self) -> float:
        """The random number that the next decision sees."""
        return uniform(int(self.engine._rules.key), self.engine.samples)


class Shape(NamedTuple):
    """Of a question: arms, features, misspecification, and how many best arms to find."""

    K: int
    d: int
    eps: float
    m: int

    def run(self, rng: Generator, algorithm: Algorithm, **options: float) -> Run:
        """A run on a random instance."""
        instance = random_instance(rng, self.K, self.d, self.eps)
        return Run(new_engine(instance, self.m, algorithm, **options), instance, rng)


# Lines, tubes and means without structure.
every_shape = pytest.mark.parametrize(
    "shape",
    [
        Shape(6, 2, 0.0, 1),
        Shape(7, 3, 0.0, 3),
        Shape(6, 2, 0.4, 1),
        Shape(7, 3, 0.2, 2),
        Shape(5, 2, float("inf"), 1),
        Shape(5, 2, float("inf"), 3),
    ],
    ids=lambda shape: "-".join(map(str, shape)),
)


def random_instance(rng: Generator, K: int, d: int, eps: float) -> Instance:
    """Means in the tube, and uneven noise."""
    features, width = rng.normal(size=(K, d)), min(eps, 1.0)
    means = features @ rng.normal(size=d) + rng.uniform(-width, width, K)
    return Instance(Model(features, eps), means, noise=rng.uniform(0.5, 1.5, K))


def new_engine(instance: Instance, m: int, algorithm: Algorithm | str, **options: float) -> Engine:
    question = Question(instance.model, m, noise=instance.noise, **options)
    return Engine(question, algorithm, "heuristic")
