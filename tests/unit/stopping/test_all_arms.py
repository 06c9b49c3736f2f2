"""When sampling aims at all arms: the game against exact characteristic times, and the choice."""

import math

import numpy as np
import pytest

from helpers.measured import Data, engine_of, random_data
from mislid import Model, characteristic_time
from mislid.engine import Engine
from mislid.geometry.coordinates import search_space
from mislid.paper.demo import demo_instance
from mislid.question import Question
from mislid.stopping.aims import lagging_arm
from mislid.stopping.all_arms import ROUNDS, begin_with_gaps, nats_a_sample
from mislid.stopping.state import ALL_ARMS, TWO_ARMS

play, begin, lagging = nats_a_sample, begin_with_gaps, lagging_arm
M = 3


def rate_of(data: Data, walls: bool) -> float:
    """Of a game at the projected means of the data."""
    engine = engine_of(data, "guaranteed")
    engine.judge(False)
    rules, at = engine._rules, engine._state.projected
    best = np.isin(np.arange(data.model.K), engine.incumbents)
    gaps = np.where(best, at - at[~best].max(), at[best].min() - at) + data.tol
    weights = np.empty(data.model.K)
    assert begin(rules.setting, 4.0 / gaps**2, float(ROUNDS) if not walls else 6.0, weights)
    setting = rules.setting
    space = search_space(setting.X, setting.basis, data.m)
    return play(setting, engine._state, walls, weights, space)


def exact_rate(data: Data, walls: bool) -> float:
    engine = engine_of(data, "guaranteed")
    engine.judge(False)
    model = data.model if walls else Model(data.model.features, math.inf)
    options = {"noise": data.noise, "tolerance": data.tol}
    time = characteristic_time(model, engine._state.projected, data.m, **options)
    return 1.0 / time.value


@pytest.mark.parametrize("walls", [True, False])
def test_a_game_comes_near_the_best_allocation(walls: bool) -> None:
    ratios = []
    for n in range(40):
        data = random_data(np.random.default_rng([n, 11]), (0.05, 0.5)[n % 2], size=1e5)
        ratios.append(rate_of(data, walls) / exact_rate(data, walls))
    assert max(ratios) < 1.002
    assert min(ratios) > 0.6
    assert np.median(ratios) > 0.85


def demo_engine(eps: float | None = None, algorithm: str = "mislid", times: int = 40) -> Engine:
    """An engine that has seen every compound of the demonstration so often, exactly."""
    instance = demo_instance()
    model = instance.model if eps is None else Model(instance.model.features, eps)
    engine = Engine(Question(model, M, noise=instance.noise, delta=0.05), algorithm)
    counts = np.full(instance.K, times)
    engine.reset(counts, counts * instance.means)
    engine.judge()
    return engine


def test_walls_make_all_arms_the_aim() -> None:
    """The demonstration's deviations are at the walls; with others further away they are not."""
    assert demo_engine()._state.aim == ALL_ARMS
    for eps in (0.6, 5.0, math.inf):
        assert demo_engine(eps)._state.aim == TWO_ARMS
