"""AdaHedge against its plain version and its regret bound."""

import math

import numpy as np
import pytest

from mislid import Model
from mislid._jit import Matrix, kernel
from mislid.algorithms import MisLid
from mislid.algorithms.game import Game, allocate, learn
from mislid.algorithms.registry import compile_sampling
from mislid.engine.setup import new_setting
from mislid.question import Question
from mislid.stopping.registry import Setup


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


def plain_adahedge(gains: np.ndarray, gap: float) -> np.ndarray:
    """AdaHedge on losses, from its definition."""
    losses, K = -gains, gains.shape[1]
    total, omegas = np.zeros(K), []
    for loss in losses:
        rate = math.log(K) / gap if gap > 0 else math.inf
        if math.isinf(rate):
            omega = (total == total.min()) / np.sum(total == total.min())
            mix = np.min(loss[omega > 0])
        else:
            omega = np.exp(-rate * (total - total.min()))
            omega /= omega.sum()
            mix = -np.log(np.sum(omega * np.exp(-rate * (loss - loss.min())))) / rate + loss.min()
        gap += max(float(omega @ loss) - mix, 0.0)
        total = total + loss
        omegas.append(omega)
    return np.array(omegas)


@pytest.mark.parametrize("gap", [0.0, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_adahedge_is_its_definition(seed: int, gap: float) -> None:
    gains = np.random.default_rng(seed).exponential(size=(300, 4 + seed))
    np.testing.assert_allclose(
        played(gap, gains), plain_adahedge(gains, gap), rtol=1e-7, atol=1e-12
    )


def hard_gains(rng: np.random.Generator, K: int, T: int) -> np.ndarray:
    """Random walks, alternations and one good arm, at a random scale."""
    base = rng.uniform(size=(T, K)) * (rng.uniform(size=K) < 0.7)
    base[:, 0] += 0.5 * (np.arange(T) % 2)
    base[T // 2 :, 1] += 1.0
    return base * 10.0 ** rng.uniform(-3, 3)


@pytest.mark.parametrize("seed", range(5))
def test_the_regret_of_adahedge_is_bounded(seed: int) -> None:
    """2 s sqrt(t ln K) + 16 s (2 + ln K / 3) for gains of range s (the paper's appendix)."""
    rng = np.random.default_rng(seed)
    K, T = int(rng.integers(2, 30)), int(rng.integers(10, 800))
    gains = hard_gains(rng, K, T)
    earned = np.sum(played(0.0, gains) * gains)
    spread = float(np.max(np.ptp(gains, axis=1)))
    bound = 2 * spread * math.sqrt(T * math.log(K)) + 16 * spread * (2 + math.log(K) / 3)
    assert np.max(gains.sum(axis=0)) - earned <= bound
