"""Rows that are equal are one candidate, measured several times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector

Rows = NDArray[np.intp]


def key_of(row: Vector) -> bytes:
    """The same for equal rows."""
    # Adding zero turns -0.0 into 0.0.
    return (row + 0.0).tobytes()


def numbered(rows: Matrix) -> Rows:
    """The candidate of every row (n, p), numbered in the order in which they come.

    >>> numbered(np.array([[5.0, 1.0], [2.0, 0.0], [5.0, 1.0], [2.0, -0.0]])).tolist()
    [0, 1, 0, 1]
    """
    found: dict[bytes, int] = {}
    return np.array([found.setdefault(key_of(row), len(found)) for row in rows], dtype=np.intp)
