"""Small zero-sum games against a general linear program."""

import numpy as np
import pytest
from numpy.random import Generator
from numpy.testing import assert_allclose

from mislid._jit import for_python
from mislid.algorithms.frank_wolfe import best_mixture as kernel_mixture
from mislid.algorithms.frank_wolfe import new_zero_sum
from oracles.plans import Floats, best_mixture


def solved(payoffs: Floats, room: int = 0) -> Floats:
    n, K = payoffs.shape
    shares = np.zeros(K)
    game = new_zero_sum(n + room, K)
    assert for_python(kernel_mixture)(np.ascontiguousarray(payoffs), n, game, shares)
    return shares


def assert_best(payoffs: Floats) -> None:
    shares = solved(payoffs)
    assert shares.min() >= 0.0
    assert_allclose(shares.sum(), 1.0, rtol=1e-12)
    _, value = best_mixture(payoffs)
    assert_allclose((payoffs @ shares).min(), value, atol=1e-8 * np.abs(payoffs).max())


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (2, 9), (5, 3), (9, 40), (40, 9)])
def test_random_payoffs(rng: Generator, shape: tuple[int, int]) -> None:
    for _ in range(20):
        assert_best(rng.normal(size=shape) * 10.0 ** rng.integers(-6, 6))


def test_whole_numbers_with_many_ties(rng: Generator) -> None:
    for _ in range(200):
        n, K = rng.integers(1, 8, size=2)
        assert_best(rng.integers(-2, 3, size=(n, K)).astype(float))
