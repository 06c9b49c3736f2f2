"""Lazy Track-and-Stop and its own test against their plain versions."""

import math

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from helpers.plan_runs import Run, Shape, every_shape, new_engine, random_instance
from mislid import Instance, Model, closest_alternative
from mislid.algorithms import LazyTrackAndStop
from mislid.geometry.spanner import spanner
from oracles.plans import Floats, alternatives, lazy_is_forced, lazy_plan, lazy_threshold


def in_spanner(instance: Instance) -> tuple[Floats, float, list[int]]:
    """Features in spanner coordinates, the least precision of its arms, and these."""
    arms = [int(arm) for arm in spanner(Model(instance.model.features, 0.0))]
    features = instance.model.features
    unit = float(np.min(instance.noise[arms] ** -2.0))
    return features @ np.linalg.inv(features[arms]), unit, arms


@every_shape
def test_decides_like_the_plain_rule(rng: Generator, shape: Shape) -> None:
    run, K = shape.run(rng, LazyTrackAndStop()), shape.K
    engine, (spanned, unit, arms) = run.engine, in_spanner(run.instance)
    plan, sums, turn = np.full(K, 1 / K), np.zeros(K), 0
    for arm in run.proposals(70):
        t, counts = engine.samples + 1, engine.counts
        if t in (2, 4, 8, 16, 32, 64):
            # Ties of alternatives on the way make plans differ in the last digits of their steps.
            plan = engine.copy()._rules.sampler.plan
        sums += plan
        if lazy_is_forced(spanned, engine.weights, unit, t):
            assert arm == arms[turn]
            turn = (turn + 1) % shape.d
        else:
            behind = sums - counts
            assert behind[arm] >= behind.max() - 1e-9
        assert_allclose(engine.copy()._rules.sampler.plan, plan)


@pytest.mark.parametrize(
    "shape", [Shape(7, 3, 0.0, 3), Shape(6, 2, 0.4, 1), Shape(5, 2, math.inf, 1)]
)
def test_plans_are_as_good_as_the_plain_ones(rng: Generator, shape: Shape) -> None:
    """And nearly optimal: Frank-Wolfe errs by the number of its steps."""
    run, K = shape.run(rng, LazyTrackAndStop()), shape.K
    engine = run.engine
    counts = rng.integers(5, 20, K)
    counts[0] += 255 - counts.sum()
    engine.reset(counts, counts * run.instance.means)
    engine.judge(test=False)
    engine.propose()
    known, plan = run.known(), engine.copy()._rules.sampler.plan
    expected = lazy_plan(known, np.full(K, 1 / K))
    costs = [min(one.cost for one in alternatives(known, w)) for w in (plan, expected)]
    assert_allclose(costs[0], costs[1], rtol=0.02)
    even = min(one.cost for one in alternatives(known, np.full(K, 1 / K)))
    assert costs[0] > even


@pytest.mark.parametrize("eps", [0.0, 0.3, math.inf])
def test_its_own_test_is_the_plain_one(rng: Generator, eps: float) -> None:
    drawn = random_instance(rng, 6, 2, eps)
    scale = 1.0 if eps == 0.0 else 0.4
    instance = Instance(drawn.model, drawn.means, noise=scale * drawn.noise)
    spanned, unit, _ = in_spanner(instance)
    engine = new_engine(instance, 2, LazyTrackAndStop())
    decided = set()
    for _ in Run(engine, instance, rng).proposals(150):
        found = engine.own_test()
        threshold = lazy_threshold(spanned, engine.weights, unit, 0.05)
        cost = closest_alternative(instance.model, engine.estimate, engine.weights, 2).cost
        state = engine._rules.state
        assert_allclose([state.statistic, state.threshold], [cost, threshold], rtol=1e-8)
        assert found == (cost > threshold)
        decided.add(found)
    assert decided == {False, True}
