"""Small dense linear algebra for the compiled kernels: no allocation, lower triangles, C order."""

from __future__ import annotations

import math

from mislid._jit import Indices, Matrix, Vector, inner_loop, kernel_loop


# Loops in place of `out[:] = x`: slice assignments take numba seconds to compile.
@inner_loop
def fill(out: Vector, value: float) -> None:
    """Set every entry of out to `value`."""
    for a in range(out.shape[0]):
        out[a] = value


@inner_loop
def copy(x: Vector, out: Vector) -> None:
    """out = x, vectors of one length."""
    for a in range(out.shape[0]):
        out[a] = x[a]


@inner_loop
def copy_matrix(X: Matrix, out: Matrix) -> None:
    """out = X, matrices of one shape."""
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[a, b] = X[a, b]


# X (K, d) has unit rows at the arms `spanner`, one for each column, and others at the arms `rest`.
@kernel_loop
def add_gram(X: Matrix, spanner: Indices, rest: Indices, h: Vector, out: Matrix) -> None:
    """Add X' diag(h) X to the lower triangle of `out` (d, d); rows with h = 0 cost nothing."""
    d = X.shape[1]
    for a in range(spanner.shape[0]):
        out[a, a] += h[spanner[a]]
    # Four rows at a time: one pass over `out` then serves four of them.
    block0 = block1 = block2 = block3 = 0
    filled = 0
    for r in range(rest.shape[0]):
        k = rest[r]
        if h[k] == 0.0:
            continue
        if filled == 0:
            block0 = k
        elif filled == 1:
            block1 = k
        elif filled == 2:
            block2 = k
        else:
            block3 = k
        filled += 1
        if filled == 4:
            filled = 0
            for a in range(d):
                t0 = h[block0] * X[block0, a]
                t1 = h[block1] * X[block1, a]
                t2 = h[block2] * X[block2, a]
                t3 = h[block3] * X[block3, a]
                for b in range(a + 1):
                    out[a, b] += (
                        t0 * X[block0, b]
                        + t1 * X[block1, b]
                        + t2 * X[block2, b]
                        + t3 * X[block3, b]
                    )
    for r in range(filled):
        k = block0 if r == 0 else (block1 if r == 1 else block2)
        for a in range(d):
            t0 = h[k] * X[k, a]
            for b in range(a + 1):
                out[a, b] += t0 * X[k, b]


@inner_loop
def gram(X: Matrix, spanner: Indices, rest: Indices, h: Vector, out: Matrix) -> None:
    """Lower triangle of X' diag(h) X into `out` (d, d)."""
    for a in range(X.shape[1]):
        for b in range(a + 1):
            out[a, b] = 0.0
    add_gram(X, spanner, rest, h, out)


@inner_loop
def cholesky(H: Matrix, d: int) -> None:
    """Replace the lower triangle of H[:d, :d] by its Cholesky factor, with inverted pivots.

    A pivot that rounding made non-positive is replaced by a huge one, which removes its direction
    from every solution; otherwise rounding would determine it.
    """
    for a in range(d):
        for b in range(a):
            s = H[a, b]
            for c in range(b):
                s -= H[a, c] * H[b, c]
            H[a, b] = s * H[b, b]
        s = H[a, a]
        for c in range(a):
            s -= H[a, c] * H[a, c]
        H[a, a] = 1.0 / math.sqrt(s) if s > 0.0 else 1e-150


@inner_loop
def is_above(H: Matrix, d: int, level: float) -> bool:
    """Whether H[:d, :d] - level I is positive definite; its factor overwrites H."""
    for a in range(d):
        H[a, a] -= level
    cholesky(H, d)
    smallest = math.inf
    for a in range(d):
        smallest = min(smallest, H[a, a])
    return smallest > 1e-150  # what `cholesky` puts for a pivot that is not positive


@inner_loop
def cholesky_solve(L: Matrix, d: int, rhs: Vector, out: Vector) -> None:
    """Solve L L' out = rhs, (d,), for the lower factor L[:d, :d] of `cholesky`."""
    for a in range(d):
        s = rhs[a]
        for c in range(a):
            s -= L[a, c] * out[c]
        out[a] = s * L[a, a]
    for a in range(d - 1, -1, -1):
        s = out[a] * L[a, a]
        out[a] = s
        for c in range(a):
            out[c] -= L[a, c] * s


@inner_loop
def symmetric_times(V: Matrix, x: Vector, out: Vector) -> None:
    """out = V x for the symmetric V (d, d) given by its lower triangle."""
    d = V.shape[0]
    for a in range(d):
        out[a] = 0.0
    for a in range(d):
        s = V[a, a] * x[a]
        for b in range(a):
            s += V[a, b] * x[b]
            out[b] += V[a, b] * x[a]
        out[a] += s


@inner_loop
def times(X: Matrix, spanner: Indices, rest: Indices, theta: Vector, out: Vector) -> None:
    """out = X theta, (K, d) by (d,)."""
    d = X.shape[1]
    for a in range(spanner.shape[0]):
        out[spanner[a]] = theta[a]
    for r in range(rest.shape[0]):
        k = rest[r]
        s = 0.0
        for a in range(d):
            s += X[k, a] * theta[a]
        out[k] = s


@inner_loop
def transposed_times(X: Matrix, spanner: Indices, rest: Indices, z: Vector, out: Vector) -> None:
    """out = X' z, (d, K) by (K,); arms with z = 0 cost nothing."""
    d = X.shape[1]
    fill(out, 0.0)
    for a in range(spanner.shape[0]):
        out[a] = z[spanner[a]]
    for r in range(rest.shape[0]):
        k = rest[r]
        zk = z[k]
        if zk != 0.0:
            for a in range(d):
                out[a] += zk * X[k, a]


@inner_loop
def weighted_square(w: Vector, x: Vector) -> float:
    """sum_k w_k x_k^2."""
    s = 0.0
    for k in range(x.shape[0]):
        s += w[k] * x[k] * x[k]
    return s


@inner_loop
def dot(x: Vector, y: Vector) -> float:
    """Inner product of two vectors of one length."""
    s = 0.0
    for a in range(x.shape[0]):
        s += x[a] * y[a]
    return s
