"""The m largest of K values without sorting them, in arrays that the caller owns."""

from __future__ import annotations

from mislid._validation import Vector
from mislid.geometry._compile import inner
from mislid.geometry._heap import ROOT, Indices, heapify, sift_down


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


@inner
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
