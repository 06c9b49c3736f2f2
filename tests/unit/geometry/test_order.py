"""The m largest of K values are found without sorting them."""

import numpy as np
from numpy.random import Generator
from numpy.testing import assert_array_equal

from mislid._jit import Indices, Vector, kernel
from mislid.geometry.order import list_top, nth_largest
from oracles.rivals import best


@kernel
def select(values: Vector, heap: Indices, flags: Vector, out: Indices) -> float:
    list_top(values, heap, flags, out)
    return nth_largest(values, out.shape[0], heap)


def test_the_largest_are_the_first_of_equal_ones(rng: Generator) -> None:
    for _ in range(300):
        K = int(rng.integers(1, 30))
        m = int(rng.integers(1, K + 1))
        values = rng.integers(0, 5, K).astype(np.float64)
        values[rng.random(K) < 0.1] = -np.inf
        out = np.full(m, -1)
        last = select(values, np.zeros(K, np.int64), np.zeros(K), out)
        assert_array_equal(out, best(values, m))
        assert last == np.sort(values)[-m]
