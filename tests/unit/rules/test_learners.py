"""Learners on the simplex, against plain versions and their regret bounds."""

import math

import numpy as np
import pytest
from mislid._kernels.plan import Memory, Plan, new_memory, new_plan

from mislid._kernels.compile import kernel
from mislid._kernels.learners import allocate, learn
from mislid.rules import _plan as rules


@kernel
def play(plan: Plan, memory: Memory, gains: np.ndarray, omegas: np.ndarray) -> None:
    for t in range(gains.shape[0]):
        allocate(plan, memory, 0)
        for k in range(gains.shape[1]):
            omegas[t, k] = memory.omega[k]
            memory.gains[k] = gains[t, k]
        learn(plan, memory, 0)


def plan_of(learner: int, K: int, size: float = 1.0) -> Plan:
    return new_plan(K, sampler=rules.GAME, learner=learner, range=size)


def played(learner: int, gains: np.ndarray, gap: float = 0.0, size: float = 1.0) -> np.ndarray:
    omegas = np.zeros_like(gains)
    play(plan_of(learner, gains.shape[1], size), new_memory(gains.shape[1], 1, gap), gains, omegas)
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
        played(rules.ADAHEDGE, gains, gap), plain_adahedge(gains, gap), rtol=1e-7, atol=1e-12
    )


def hard_gains(rng: np.random.Generator, K: int, T: int) -> np.ndarray:
    """Random walks, alternations and one good arm, at a random scale."""
    base = rng.uniform(size=(T, K)) * (rng.uniform(size=K) < 0.7)
    base[:, 0] += 0.5 * (np.arange(T) % 2)
    base[T // 2 :, 1] += 1.0
    return base * 10.0 ** rng.uniform(-3, 3)


@pytest.mark.parametrize("seed", range(20))
def test_the_regret_of_adahedge_is_bounded(seed: int) -> None:
    """2 s sqrt(t ln K) + 16 s (2 + ln K / 3) for gains of range s (the paper's appendix)."""
    rng = np.random.default_rng(seed)
    K, T = int(rng.integers(2, 30)), int(rng.integers(10, 800))
    gains = hard_gains(rng, K, T)
    earned = np.sum(played(rules.ADAHEDGE, gains) * gains)
    spread = float(np.max(np.ptp(gains, axis=1)))
    bound = 2 * spread * math.sqrt(T * math.log(K)) + 16 * spread * (2 + math.log(K) / 3)
    assert np.max(gains.sum(axis=0)) - earned <= bound


@pytest.mark.parametrize("seed", range(20))
def test_the_regret_of_exponential_weights_is_bounded(seed: int) -> None:
    """2 B sqrt(t ln K / 2) + B sqrt(ln K / 8) for gains in [0, B] (Cesa-Bianchi and Lugosi)."""
    rng = np.random.default_rng(seed)
    K, T = int(rng.integers(2, 30)), int(rng.integers(10, 800))
    gains = hard_gains(rng, K, T)
    size = float(gains.max())
    earned = np.sum(played(rules.EXPONENTIAL_WEIGHTS, gains, size=size) * gains)
    bound = 2 * size * math.sqrt(T * math.log(K) / 2) + size * math.sqrt(math.log(K) / 8)
    assert np.max(gains.sum(axis=0)) - earned <= bound


def test_followers_follow_and_share() -> None:
    gains = np.array([[1.0, 1.0, 0.0], [0.0, 0.5, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    omegas = played(rules.FOLLOW_THE_LEADER, gains)
    np.testing.assert_array_equal(
        omegas, [[1 / 3] * 3, [0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    )


@pytest.mark.parametrize("learner", [rules.ADAHEDGE, rules.FOLLOW_THE_LEADER])
def test_the_scale_of_gains_does_not_matter(learner: int) -> None:
    gains = np.random.default_rng(1).exponential(size=(200, 6))
    np.testing.assert_allclose(played(learner, gains), played(learner, 1e6 * gains), atol=1e-9)
