"""One Newton step on F in three ways, and the multipliers that it predicts.

Dense: normal equations, d x d.

Low rank, where few arms beyond the spanner touch a wall. In spanner coordinates the Hessian is a
diagonal D, from the spanner's arms and the proximal term, plus one term for each other arm that
touches. With n of those, X_n their rows and h_n their curvatures, their multipliers after the step
solve an n x n system:

    (1 / h_n + X_n D^-1 X_n') z+ = z_n / h_n - X_n D^-1 g,   p = D^-1 (g + X_n' z+),

where g is the pull of the spanner's arms and of the proximal term. A pinned pair is one more row,
x_i - x_j, with infinite curvature. Rows are kept divided by the root of D.

Graded, for weights over many orders of magnitude. Normal equations square this range and lose the
light arms. Rotations take the rows of a weighted least-squares problem into a triangle, heavy rows
before light ones, so that each row keeps its digits.
"""

from __future__ import annotations

import math

from mislid._jit import Matrix, Vector, inner, inner_loop, kernel, kernel_loop
from mislid.geometry.descent import is_pinned
from mislid.geometry.linalg import (
    add_gram,
    cholesky,
    cholesky_solve,
    dot,
    fill,
    gram,
    symmetric_times,
    times,
    transposed_times,
    weighted_square,
)
from mislid.geometry.order import heapify, pop
from mislid.geometry.problem import NewtonSpace

# The low-rank step is cheaper if the arms beyond the spanner that touch are fewer than this share
# of d.
FEW = 0.6
# Spanner arms that do not touch leave 1 / proximity in the system, and digits are lost where it
# cancels. Beyond a loss of LOSS the step is refined, beyond MOST_LOSS it is not taken.
LOSS, MOST_LOSS = 1e3, 1e14


@inner
def forget_information(space: NewtonSpace) -> None:
    """Reset the sums of `newton_step`."""
    fill(space.summed, 0.0)
    for a in range(space.step.shape[0]):
        fill(space.information[a], 0.0)


@inner_loop
def _sum_information(space: NewtonSpace) -> None:
    """X' diag(h) X: arms that touch a wall since the last step are added.

    Once an arm has left, everything is summed again: subtraction would leave its rounding.
    """
    X, h, summed = space.X, space.curvature, space.summed
    left = False
    for k in range(h.shape[0]):
        left = left or (summed[k] != 0.0 and summed[k] != h[k])
        space.change[k] = h[k] - summed[k]
        summed[k] = h[k]
    if left:
        gram(X, space.spanner, space.rest, h, space.information)
    else:
        add_gram(X, space.spanner, space.rest, space.change, space.information)


@inner_loop
def _dense_step(proximity: float, whole: bool, pinned: bool, space: NewtonSpace) -> None:
    """Fill step (d,) and step_x (K,) by the normal equations."""
    X = space.X
    d = X.shape[1]
    H, V, information = space.hessian, space.metric, space.information
    g, p = space.gradient, space.step
    c, work = space.difference, space.work
    transposed_times(X, space.spanner, space.rest, space.multipliers, g)
    _sum_information(space)
    for a in range(d):
        g[a] -= proximity * space.pull[a]
        for b in range(a):
            H[a, b] = information[a, b] + (proximity * V[a, b] if whole else 0.0)
        H[a, a] = information[a, a] + proximity * V[a, a]
    cholesky(H, d)
    cholesky_solve(H, d, g, p)
    if pinned:
        cholesky_solve(H, d, c, work)
        shift = dot(c, p) / dot(c, work)
        for a in range(d):
            p[a] -= shift * work[a]
    times(X, space.spanner, space.rest, p, space.step_x)


@inner_loop
def touching_rest(most: int, space: NewtonSpace) -> int:
    """List up to `most` arms beyond the spanner that touch a wall in `order`; return how many."""
    n = 0
    for r in range(space.rest.shape[0]):
        k = space.rest[r]
        if space.curvature[k] != 0.0:
            space.order[n] = k
            n += 1
            if n == most:
                break
    return n


@inner_loop
def _add_row(row: Vector, root: Vector, n: int, softness: float, U: Matrix, S: Matrix) -> None:
    """Append a row of X to U, scaled, and its products with all before to S = U U' + 1 / h."""
    d = row.shape[0]
    for a in range(d):
        U[n, a] = row[a] * root[a]
    for m in range(n + 1):
        s = 0.0
        for a in range(d):
            s += U[n, a] * U[m, a]
        S[n, m] = s
    S[n, n] += softness


@inner_loop
def _solve_small(U: Matrix, S: Matrix, n: int, y: Vector, rhs: Vector, out: Vector) -> None:
    """Solve S out = rhs - U y and add U' out to y; overwrites rhs."""
    d = U.shape[1]
    for m in range(n):
        s = rhs[m]
        for a in range(d):
            s -= U[m, a] * y[a]
        rhs[m] = s
    cholesky_solve(S, n, rhs, out)
    for m in range(n):
        for a in range(d):
            y[a] += out[m] * U[m, a]


@inner_loop
def _scale(proximity: float, space: NewtonSpace) -> None:
    """Fill the roots of 1 / D and the scaled pull, `work`."""
    h, z = space.curvature, space.multipliers
    root, y = space.roots, space.work
    for a in range(root.shape[0]):
        k = space.spanner[a]
        tiny = proximity * space.metric[a, a]
        root[a] = 1.0 / math.sqrt(h[k] + tiny)
        y[a] = (z[k] - tiny * space.drift[a]) * root[a]


@inner_loop
def _unbalanced(proximity: float, n: int, size: int, pin: Vector, space: NewtonSpace) -> None:
    """Replace the scaled pull and the right-hand side by their residuals after the step."""
    h, z, sx = space.curvature, space.multipliers, space.step_x
    root, y = space.roots, space.work
    for a in range(y.shape[0]):
        k = space.spanner[a]
        tiny = proximity * space.metric[a, a]
        y[a] = z[k] - h[k] * sx[k] - tiny * (space.step[a] + space.drift[a])
    for m in range(n):
        k = space.order[m]
        left = z[k] - h[k] * sx[k]
        space.keys[m] = 0.0
        for a in range(y.shape[0]):
            y[a] += left * space.X[k, a]
    if size > n:
        space.keys[n] = -dot(pin, space.step)
        for a in range(y.shape[0]):
            y[a] += space.change[n] * pin[a]
    for a in range(y.shape[0]):
        y[a] *= root[a]


@inner_loop
def _stay_pinned(pin: Vector, row: Vector, root: Vector, p: Vector) -> None:
    """Correct p so that pin'p = 0 to the last digit; row = root * pin."""
    shift = dot(pin, p) / dot(row, row)
    for a in range(p.shape[0]):
        p[a] -= shift * row[a] * root[a]


@inner_loop
def _factor(S: Matrix, size: int, diagonal: Vector) -> float:
    """Cholesky factor of S; returns the largest factor by which a pivot fell below its diagonal."""
    for m in range(size):
        diagonal[m] = S[m, m]
    cholesky(S, size)
    loss = 0.0
    for m in range(size):
        loss = max(loss, diagonal[m] * S[m, m] * S[m, m])
    return loss


@kernel_loop
def low_rank_step(proximity: float, pinned: bool, n: int, space: NewtonSpace) -> bool:
    """Fill step (d,) and step_x (K,) for the n arms listed by `touching_rest`.

    Returns whether the system had enough digits for that.
    """
    h, z = space.curvature, space.multipliers
    root, y, p = space.roots, space.work, space.step
    U, S = space.rows, space.hessian
    rhs, plus = space.keys, space.change
    _scale(proximity, space)
    for m in range(n):
        k = space.order[m]
        _add_row(space.X[k], root, m, 1.0 / h[k], U, S)
        rhs[m] = z[k] / h[k]
    size = n
    if pinned:
        _add_row(space.difference, root, n, 0.0, U, S)
        rhs[n] = 0.0
        size += 1
    loss = _factor(S, size, plus)
    if loss > MOST_LOSS:
        return False
    _solve_small(U, S, size, y, rhs, plus)
    for a in range(p.shape[0]):
        p[a] = y[a] * root[a]
    if loss > LOSS:
        times(space.X, space.spanner, space.rest, p, space.step_x)
        _unbalanced(proximity, n, size, space.difference, space)
        _solve_small(U, S, size, y, rhs, plus)
        for a in range(p.shape[0]):
            p[a] += y[a] * root[a]
    if pinned:
        _stay_pinned(space.difference, U[n], root, p)
    times(space.X, space.spanner, space.rest, p, space.step_x)
    return True


@kernel_loop
def newton_step(
    proximity: float, state: int, whole: bool, space: NewtonSpace
) -> tuple[float, float, float]:
    """Fill step (d,) and step_x (K,); return the slope along them, and the proximal term's part.

    The third number is that term's curvature. Its metric is `metric` if `whole`, else the diagonal
    of that, with which few touching arms make a smaller system.
    """
    d, pinned, V = space.X.shape[1], is_pinned(state), space.metric
    p, drift, pull = space.step, space.drift, space.pull
    if whole:
        symmetric_times(V, drift, pull)
    else:
        for a in range(d):
            pull[a] = V[a, a] * drift[a]
    most = 0 if whole or space.spanner.shape[0] < d else int(FEW * d)
    n = touching_rest(most, space) if most > 0 else 0
    if n >= most or not low_rank_step(proximity, pinned, n, space):
        _dense_step(proximity, whole, pinned, space)
    part, growth = proximity * dot(pull, p), 0.0
    for a in range(d):
        growth += V[a, a] * p[a] * p[a]
    if whole:
        growth = weighted_square(space.w, space.step_x)
    return part - dot(space.multipliers, space.step_x), part, proximity * growth


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


@inner
def graded_newton_step(
    proximity: float, state: int, space: NewtonSpace
) -> tuple[float, float, float]:
    """`newton_step` for weights over too many orders of magnitude for the normal equations."""
    symmetric_times(space.metric, space.drift, space.pull)
    graded_step(proximity, is_pinned(state), space)
    times(space.X, space.spanner, space.rest, space.step, space.step_x)
    drift = proximity * dot(space.pull, space.step)
    growth = proximity * weighted_square(space.w, space.step_x)
    return -dot(space.multipliers, space.step_x), drift, growth


@inner_loop
def half_space_multiplier(space: NewtonSpace) -> float:
    """The alpha with X'z + alpha c = 0 in a pinned state, read where c is largest."""
    c = space.difference
    transposed_times(space.X, space.spanner, space.rest, space.multipliers, space.work)
    pivot = 0
    for a in range(c.shape[0]):
        if abs(c[a]) > abs(c[pivot]):
            pivot = a
    return -space.work[pivot] / c[pivot]


@inner
def refine_multipliers(alpha: float, space: NewtonSpace) -> float:
    """Bring X'z closer to zero by the step's own prediction; theta stays. Returns alpha."""
    w, i, j = space.w, space.i, space.j
    z, h, step = space.multipliers, space.curvature, space.step_x
    for k in range(z.shape[0]):
        z[k] -= h[k] * step[k]
    if i < 0:
        return alpha
    if h[j] == 0.0 and h[i] == w[i] + w[j]:
        return alpha - w[j] * step[i]
    if h[i] == 0.0 and h[j] == w[i] + w[j]:
        return alpha + w[i] * step[j]
    return alpha
