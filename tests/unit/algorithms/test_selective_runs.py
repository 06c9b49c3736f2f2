"""Sampling that leaves out what is settled, against plain versions, and what it spares."""

import numpy as np
import pytest

from mislid import Model
from mislid.algorithms import (
    BestResponse,
    FrankWolfe,
    LazyTrackAndStop,
    LinGapE,
    LinGIFA,
    MisLid,
    Selective,
    TopTwo,
)
from mislid.engine import Engine
from mislid.question import Question
from oracles.elimination import PlainPairs, PlainRatioTest, selective_lingape
from oracles.paper_thresholds import heuristic_threshold
from oracles.rivals import Data

ELIMINATION = "glr-selective"
GAME = MisLid("empirical", gap=0.01, sampling="tracking", every_arm=True)
PLANS = [FrankWolfe(), LazyTrackAndStop(), TopTwo()]
RULES = [LinGapE(), LinGIFA(), GAME, BestResponse(), *PLANS]


@pytest.mark.parametrize("m", [1, 3])
def test_lingape_measures_for_the_pairs_that_are_left(m: int) -> None:
    different = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, m])
        K, d = 7, 3
        features, noise = rng.normal(size=(K, d)), np.ones(K)
        means = features @ rng.normal(size=d)
        question = Question(Model(features, 0.0), m, noise=noise, delta=0.1)
        engine = Engine(question, Selective(LinGapE()), ELIMINATION)
        everything = Engine(question, LinGapE(), ELIMINATION)
        plain = PlainRatioTest(PlainPairs(K, m), True, 0.1)
        for t in range(600):
            arm = t
            if t >= K:
                data = Data(features, noise, engine.counts.astype(float), engine.sums, m)
                if plain.judge(data)[0]:
                    break
                verdict = engine.judge()
                assert not verdict.decided
                everything.reset(engine.counts, engine.sums)
                everything.judge()
                arm = engine.propose()
                beta = max(heuristic_threshold(t, 0.1), verdict.threshold)
                assert arm == selective_lingape(data, beta, plain.pairs)
                different += arm != everything.propose()
            engine.observe(arm, float(means[arm] + rng.normal()))
    assert different > 0


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("m", [1, 2])
def test_the_same_arms_until_a_pair_is_settled(rule: object, m: int) -> None:
    """The whole search is the search among all pairs, for as long as all are left."""
    rng = np.random.default_rng(m)
    features = rng.normal(size=(6, 3))
    means = features @ rng.normal(size=3)
    question = Question(Model(features, 0.0), m, noise=1.0, delta=0.05)
    plain, selective = (
        Engine(question, one, ELIMINATION, every_arm=True) for one in (rule, Selective(rule))
    )
    for t in range(3000):
        arm = t
        if t >= 6:
            assert plain.judge().decided == selective.judge().decided
            if selective.settled():
                break
            arm = plain.propose()
            assert selective.propose() == arm
        value = float(means[arm] + rng.normal())
        for engine in (plain, selective):
            engine.observe(arm, value)
    assert t > 9
    assert selective.settled()
