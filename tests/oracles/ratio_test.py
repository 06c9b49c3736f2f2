"""The likelihood ratio test from its definition."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oracles.rivals import Data, best, regression

Pairs = set[tuple[int, int]]


def pairs_of(incumbents: Sequence[int], K: int) -> Pairs:
    """Every challenger with every incumbent."""
    return {(i, j) for i in range(K) for j in incumbents if i not in incumbents}


def ratio_test(data: Data, delta: float, tolerance: float) -> tuple[bool, float, float]:
    """Whether it stops, the least statistic of a pair, and the threshold."""
    _, means, squares = regression(data)
    threshold = math.log((np.sum(data.counts) + 1.0) / delta)
    least = min(
        max(means[j] - means[i] + tolerance, 0.0) ** 2 / (2.0 * squares[i, j])
        for i, j in pairs_of(best(means, data.m), len(means))
    )
    return least > threshold, least, threshold
