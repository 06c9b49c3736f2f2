"""AdaHedge against its definition."""

import numpy as np
import pytest

from mislid import Model
from mislid._jit import Matrix, kernel
from mislid.algorithms import MisLid
from mislid.algorithms.game import Game, allocate, learn
from mislid.algorithms.registry import compile_sampling
from mislid.engine.engine import new_setting
from mislid.question import Question
from mislid.stopping.rules import Setup
from oracles.draws import AdaHedge


@kernel
def play(game: Game, gains: Matrix, omegas: Matrix) -> None:
    for t in range(gains.shape[0]):
        allocate(game, 0)
        for k in range(gains.shape[1]):
            omegas[t, k] = game.omega[k]
            game.gains[k] = gains[t, k]
        learn(game, 0)


def played(gap: float, gains: np.ndarray) -> np.ndarray:
    question = Question(Model(np.eye(gains.shape[1]), 0.0), 1)
    rule = MisLid(gap=gap)
    sampler = compile_sampling(rule, Setup(new_setting(question, rule), question))
    assert sampler is not None
    omegas = np.zeros_like(gains)
    play(sampler.struct, gains, omegas)
    return omegas


@pytest.mark.parametrize("gap", [0.0, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_adahedge_is_its_definition(seed: int, gap: float) -> None:
    gains = np.random.default_rng(seed).exponential(size=(300, 4 + seed))
    learner = AdaHedge(4 + seed)
    learner.gap = gap
    for shares, gain in zip(played(gap, gains), gains, strict=True):
        np.testing.assert_allclose(shares, learner.play(), rtol=1e-7, atol=1e-12)
        learner.learn(gain)
