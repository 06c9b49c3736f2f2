"""Alternatives at an allocation, with shares over many orders of magnitude, by exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from numpy.typing import NDArray

from mislid import Instance, Model, Question
from mislid.algorithms.best_response import LEAST_SHARE, closest_at_plan
from mislid.engine import Engine
from oracles.rational import fractions, solution

closest = closest_at_plan
Floats = NDArray[np.float64]


def moved(features: Floats, weights: Floats, means: Floats, i: int, j: int) -> Floats:
    """How far the closest alternative to linear means that reverses a pair is below them (K,)."""
    towards = features[j] - features[i]
    rows, shares = [fractions(row) for row in features], fractions(weights)
    columns = list(zip(*rows, strict=True))
    weighted = [[w * x for w, x in zip(shares, column, strict=True)] for column in columns]
    information = [
        [sum(map(mul, one, other), Fraction(0)) for other in columns] for one in weighted
    ]
    step = [float(x) for (x,) in solution(information, [[y] for y in fractions(towards)])]
    return features @ step * (means[j] - means[i]) / float(towards @ step)


def instance(seed: int) -> tuple[Instance, Floats]:
    """Few unit vectors that are nearly all of the allocation, and directions without a chance."""
    rng = np.random.default_rng(seed)
    theta = np.concatenate([np.linspace(1.0, 0.8, 10), rng.uniform(-1.0, 0.0, 10)])
    others = rng.uniform(-1.0, 1.0, size=(60, 20))
    others /= np.linalg.norm(others, axis=1)[:, None]
    features = np.vstack([np.eye(20)[:10], others[others @ theta < 0.5][:40]])
    shares = 10.0 ** -rng.uniform(14.0, 28.0, len(features))
    shares[:10] = rng.uniform(0.1, 1.0, 10)
    return Instance(Model(features, 0.0), features @ theta), shares / shares.sum()


@pytest.mark.parametrize("seed", range(12))
def test_arms_that_have_hardly_a_share_are_moved_as_in_exact_arithmetic(seed: int) -> None:
    given, shares = instance(seed)
    engine = Engine(Question(given.model, 1), "mislid-paper", "heuristic")
    engine.reset(np.ones(given.K), given.means)
    engine.judge(test=False)
    rules, weights = engine._rules, np.zeros(given.K)
    _, cost, i, j = closest(rules.setting, rules.state, shares, weights, False)
    assert (i, j) in [(k, 0) for k in range(1, given.K)]
    np.testing.assert_array_equal(weights, np.maximum(shares, LEAST_SHARE))
    expected = moved(given.model.features, weights, given.means, i, j)
    found = rules.state.play.below
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    assert cost == pytest.approx(0.5 * float(weights @ expected**2), rel=1e-6)
