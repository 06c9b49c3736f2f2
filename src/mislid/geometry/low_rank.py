"""Newton steps where few arms beyond the spanner touch a wall.

In spanner coordinates the Hessian is a diagonal D, from the spanner's arms and the proximal term,
plus one term for each other arm that touches. With n of those, X_n their rows and h_n their
curvatures, their multipliers after the step solve an n x n system instead of a d x d one:

    (1 / h_n + X_n D^-1 X_n') z+ = z_n / h_n - X_n D^-1 g,   p = D^-1 (g + X_n' z+),

g being what the spanner's arms and the proximal term pull. A pinned pair is one more row,
x_i - x_j, with infinite curvature. Rows are kept divided by the root of D.
"""

from __future__ import annotations

import math

from mislid._jit import Matrix, Vector, inner_loop, kernel_loop
from mislid.geometry.linalg import cholesky, cholesky_solve, dot, times
from mislid.geometry.problem import NewtonSpace

# Spanner arms that do not touch leave 1 / proximity in the system. Where it cancels, that many
# digits are lost: beyond the first number the step is refined, beyond the second not taken.
LOSS, MOST_LOSS = 1e3, 1e14


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
    """Replace the scaled pull and the right-hand side by what the step leaves of them."""
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
    """Make pin'p = 0 to the last digit, where the system left it a few short; row = root * pin."""
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
