"""Newton steps that survive weights spread over many orders of magnitude.

Normal equations square the spread of the weights and forget the light arms. Here the step is a
weighted least-squares problem instead, its rows rotated into a triangle one by one, heavy before
light, so that every row keeps its own digits.
"""

from __future__ import annotations

import math

from mislid._jit import Matrix, Vector, inner_loop, kernel
from mislid.geometry.linalg import fill
from mislid.geometry.order import heapify, pop
from mislid.geometry.problem import NewtonSpace


@inner_loop
def _rotate_in(R: Matrix, y: Vector, row: Vector, rhs: float) -> None:
    """Update the triangle R (upper, d x d) and y (d,) by one more equation row'p = rhs."""
    d = R.shape[0]
    for a in range(d):
        if row[a] == 0.0:
            continue
        length = math.hypot(R[a, a], row[a])
        c, s = R[a, a] / length, row[a] / length
        R[a, a] = length
        for b in range(a + 1, d):
            kept = R[a, b]
            R[a, b] = c * kept + s * row[b]
            row[b] = c * row[b] - s * kept
        kept = y[a]
        y[a] = c * kept + s * rhs
        rhs = c * rhs - s * kept


@inner_loop
def _pinned_row(X: Matrix, k: int, root: float, c: Vector, pivot: int, row: Vector) -> None:
    """root * x_k, with the coordinate `pivot` eliminated by c'p = 0 unless pivot < 0."""
    d = X.shape[1]
    for a in range(d):
        row[a] = root * X[k, a]
    if pivot >= 0:
        share = row[pivot] / c[pivot]
        for a in range(d):
            row[a] -= share * c[a]
        row[pivot] = 0.0


@kernel
def graded_step(proximity: float, pinned: bool, space: NewtonSpace) -> None:
    """Fill step = p, the minimiser of sum_k h_k (x_k'p - z_k / h_k)^2 + a proximal term.

    The proximal term is proximity * sum_k w_k (x_k'(p + drift))^2 and, smaller still, a multiple of
    |p + drift|^2. Pinned, p also satisfies c'p = 0.
    """
    X, z, h, w = space.X, space.multipliers, space.curvature, space.w
    c, drift, step = space.difference, space.drift, space.step
    R, y, row, order, keys = space.hessian, space.gradient, space.work, space.order, space.keys
    K, d = X.shape
    pivot = -1
    if pinned:
        pivot = 0
        for a in range(d):
            if abs(c[a]) > abs(c[pivot]):
                pivot = a
    for a in range(d):
        fill(R[a], 0.0)
    fill(y, 0.0)
    for proximal in (False, True):
        rows = 0
        for k in range(K):
            weight = w[k] if proximal else h[k]
            if weight > 0.0:
                order[rows] = k
                keys[k] = -weight
                rows += 1
        heapify(order, int(rows), keys)
        for left in range(rows, 0, -1):
            k = pop(order, left, keys)
            if proximal:
                root = math.sqrt(proximity * w[k])
                rhs = 0.0
                for a in range(d):
                    rhs -= root * X[k, a] * drift[a]
            else:
                root = math.sqrt(h[k])
                rhs = z[k] / root
            _pinned_row(X, k, root, c, pivot, row)
            _rotate_in(R, y, row, rhs)
    lightest = math.inf
    for k in range(K):
        if w[k] > 0.0:
            lightest = min(lightest, w[k])
    root = 1e-3 * math.sqrt(proximity * lightest)
    for b in range(d):
        fill(row, 0.0)
        row[b] = root
        _rotate_in(R, y, row, -root * drift[b])
    for a in range(d - 1, -1, -1):
        s = y[a]
        for b in range(a + 1, d):
            s -= R[a, b] * step[b]
        step[a] = s / R[a, a]
    if pinned:
        s = 0.0
        for a in range(d):
            if a != pivot:
                s += c[a] * step[a]
        step[pivot] = -s / c[pivot]
