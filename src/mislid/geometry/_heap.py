"""A binary heap of integers ordered by keys, smallest first, in arrays that the caller owns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mislid._validation import Vector
from mislid.geometry._compile import inner

Indices = npt.NDArray[np.int64]
ROOT = 0


@inner
def sift_down(heap: Indices, size: int, keys: Vector, at: int) -> None:
    """Restore the order below position `at` after its key grew."""
    item = heap[at]
    key = keys[item]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[heap[child]] >= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item


@inner
def heapify(heap: Indices, size: int, keys: Vector) -> None:
    """Order the first `size` entries of `heap`."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, keys, at)


@inner
def pop(heap: Indices, size: int, keys: Vector) -> int:
    """Remove the first entry; it moves to position size - 1, so popping all of them sorts."""
    first: int = heap[0]
    heap[0] = heap[size - 1]
    heap[size - 1] = first
    if size > 2:
        sift_down(heap, size - 1, keys, int(ROOT))
    return first
