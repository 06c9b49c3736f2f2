"""A binary heap of integers ordered by keys, and the m largest of K values without sorting them.

All of it works in arrays that the caller owns.
"""

from __future__ import annotations

from mislid._jit import Indices, Vector, inner, kernel

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


@inner
def first_largest(values: Vector) -> int:
    """The position of the largest value, of equal ones the first."""
    best = 0
    for k in range(values.shape[0]):
        if values[k] > values[best]:
            best = k
    return best


@inner
def nth_largest(values: Vector, n: int, heap: Indices) -> float:
    """The n-th largest of the values (K,), n = 1 .. K, in O(K log n); heap (K,) is overwritten."""
    for k in range(n):
        heap[k] = k
    heapify(heap, int(n), values)
    for k in range(n, values.shape[0]):
        if values[k] > values[heap[0]]:
            heap[0] = k
            sift_down(heap, n, values, int(ROOT))
    return values[heap[0]]


@kernel
def mark_top(values: Vector, m: int, heap: Indices, flags: Vector) -> None:
    """Set flags (K,) to one at the m largest values, of equal ones the first; zero elsewhere."""
    last = nth_largest(values, m, heap)
    room = m
    for k in range(values.shape[0]):
        flags[k] = 1.0 if values[k] > last else 0.0
        if values[k] > last:
            room -= 1
    for k in range(values.shape[0]):
        if room > 0 and values[k] == last:
            flags[k] = 1.0
            room -= 1


@inner
def list_top(values: Vector, heap: Indices, flags: Vector, out: Indices) -> None:
    """The out.size largest values' positions, increasing; of equal ones the first."""
    mark_top(values, out.shape[0], heap, flags)
    place = 0
    for k in range(values.shape[0]):
        if flags[k] > 0.0:
            out[place] = k
            place += 1
