"""Pairs (challenger, incumbent): what an answer could have wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector

Pairs = NDArray[np.int64]


def top_arms(means: Vector, m: int) -> NDArray[np.int64]:
    """The m best arms in increasing order; the lower index wins a tie.

    Examples
    --------
    >>> top_arms(np.array([0.5, 0.1, 0.5, 0.9]), 2).tolist()
    [0, 3]
    """
    return np.sort(np.argsort(-means, kind="stable")[:m]).astype(np.int64)


def all_pairs(K: int, incumbents: NDArray[np.int64]) -> Pairs:
    """Every pair (challenger, incumbent) of K arms, sorted, (m (K - m), 2).

    Examples
    --------
    >>> all_pairs(4, np.array([0, 3])).tolist()
    [[1, 0], [1, 3], [2, 0], [2, 3]]
    """
    challengers = np.setdiff1d(np.arange(K), incumbents)
    grid = np.meshgrid(challengers, incumbents, indexing="ij")
    return np.stack([arms.ravel() for arms in grid], axis=1).astype(np.int64)
