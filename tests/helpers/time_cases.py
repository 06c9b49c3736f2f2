"""Random questions about the characteristic time, from a seed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid import Model


class TimeCase(NamedTuple):
    """A model, means (K,), m, and the other arguments of `characteristic_time`."""

    model: Model
    means: NDArray[np.float64]
    m: int
    options: dict[str, Any]


def random_case(seed: int) -> TimeCase:
    """Features of 2 to 9 columns and up to 60 arms; tubes from none to ten gaps wide.

    Every third has means outside its tube, every fourth unequal noise, every fifth a tolerance.
    """
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 10))
    K = int(rng.integers(d + 2, 60))
    m = int(rng.integers(1, min(K - 1, 6)))
    features = rng.standard_normal((K, d))
    means = features @ rng.standard_normal(d)
    best = np.sort(means)[::-1]
    width = float(rng.choice([0.0, 0.1, 1.0, 10.0]) * (best[m - 1] - best[m]))
    deviation = 3.0 * width + 0.05 if seed % 3 == 0 else width
    means = means + deviation * rng.uniform(-1.0, 1.0, K)
    return TimeCase(
        Model(features, width),
        means,
        m,
        {
            "noise": rng.uniform(0.5, 2.0, K) if seed % 4 == 0 else 1.0,
            "tolerance": 0.1 if seed % 5 == 0 else 0.0,
        },
    )
