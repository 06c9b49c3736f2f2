"""An engine whose arms share a noise that nobody knows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mislid
from mislid.engine import Engine
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs
from mislid.question import Question
from mislid.stopping.equal import Spread
from mislid.stopping.evidence import by_features, by_two_arms, families_of

X = np.vstack([np.eye(2), np.random.default_rng(0).uniform(-1, 1, size=(4, 2))])
FREE = Question(mislid.Model(np.eye(6), math.inf), 2, noise="unknown-equal")
LINEAR = Question(mislid.Model(X, 0.05), 2, noise="unknown-equal", tolerance=0.01)


def data(rng: np.random.Generator, sigma: float = 0.7) -> tuple[np.ndarray, ...]:
    n = rng.integers(2, 300, size=6)
    means = X @ rng.normal(size=2) + 0.05 * rng.uniform(-1, 1, size=6)
    values = [mean + sigma * rng.normal(size=count) for mean, count in zip(means, n, strict=True)]
    scatter = [np.sum((one - one.mean()) ** 2) for one in values]
    return n, np.array([one.sum() for one in values]), np.array(scatter)


@pytest.mark.parametrize("question", [FREE, LINEAR], ids=["free", "linear"])
def test_pairs_are_settled_when_the_definition_says_so(question: Question) -> None:
    rng, some = np.random.default_rng(1), 0
    families = families_of(6, 2, question.structured, question.delta, np.ones(6))
    for _ in range(25):
        n, sums, scatter = data(rng)
        engine = Engine(question)
        engine.reset(n, sums, scatter=scatter)
        decided = engine.judge(test=True).decided
        counts, spread = n.astype(float), Spread(n.astype(float), scatter)
        pairs = all_pairs(6, np.sort(np.array(engine.incumbents)))
        i, j = pairs.T
        gap = engine.means[j] - engine.means[i] + question.tolerance
        found = by_two_arms(families.two_arms, gap, counts[i], counts[j], spread)
        if question.structured:
            at = coordinates(question.model).matrix
            given = at, counts, engine.means, 0.05, question.tolerance, pairs
            found = np.maximum(found, by_features(families.linear, *given, spread))
        expected = {(a, b) for a, b in pairs[found >= families.level].tolist()}
        if question.structured:  # all arms may settle the rest
            assert set(engine.settled()) >= expected
        else:
            assert set(engine.settled()) == expected
        assert not decided or len(engine.settled()) == 8
        some += 0 < len(expected) < 8
    assert some >= 5
