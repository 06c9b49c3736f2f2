"""Barycentric spanners: d arms from which every other arm is a small combination."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mislid.errors import CertificateError
from mislid.model import Model

Array = NDArray[np.float64]
Arms = NDArray[np.intp]

_SLACK = 1e-10


def spanner(features: Model | ArrayLike) -> Arms:
    """Indices, increasing, of a barycentric spanner of the arms.

    Finds d arms B such that every row of the features A (K, d) is `phi_k = sum_b x_kb phi_b` with
    `|x_kb| <= 1` (Awerbuch and Kleinberg, 2008; the paper's initialization phase).  Features that
    do not span their columns are first reduced as `Model` does, so d is their rank.  The answer
    depends on the arms only, not on the coordinates they are written in (A -> A R).

    Parameters
    ----------
    features
        A model, or features (K, d) with one row per arm.

    Returns
    -------
    ndarray of int
        Indices of the arms (d,).

    Raises
    ------
    ProblemError
        The features are no matrix of finite numbers.
    CertificateError
        The features are so nearly collinear that no spanner could be proved.

    Examples
    --------
    >>> spanner([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.9, 0.3]]).tolist()
    [0, 2]
    """
    model = features if isinstance(features, Model) else Model(features, 0.0)
    return spanner_coordinates(model.features)[0]


def spanner_coordinates(features: Array) -> tuple[Arms, Array]:
    """Spanner arms B (d,) and the coordinates X (K, d) of all arms in them, A = X A_B.

    X[B] is exactly the identity and |X| <= 1.  X spans what A does and has singular values
    between 1 and sqrt(K d), however nearly collinear the features (K, d) are.
    `CertificateError` where they are so nearly collinear that no spanner could be proved.

    Examples
    --------
    >>> import numpy as np
    >>> basis, X = spanner_coordinates(np.array([[2.0, 0.0], [0.0, 1e-8], [1.0, 1e-8]]))
    >>> basis.tolist(), X.tolist()
    ([0, 1], [[1.0, 0.0], [0.0, 1.0], [0.5, 1.0]])
    """
    # A power of two, so that scaling a column rounds nothing.
    scaled = np.ldexp(features, -np.frexp(np.max(np.abs(features), axis=0))[1])
    basis, X = _largest_volume_start(scaled)
    for _ in range(50):
        _swap_until_small(X, basis)
        X = _refined(scaled, X, basis)
        if np.max(np.abs(X)) <= 1.0 + _SLACK:
            order = np.argsort(basis)
            return basis[order], np.ascontiguousarray(X[:, order])
    raise CertificateError(
        f"no spanner was certified: the largest coefficient is "
        f"{np.max(np.abs(X))!r}; features are collinear to rounding"
    )


def coordinates_in(features: Array, basis: Arms) -> Array:
    """The coordinates X (K, d) of all arms in d of them, A = X A_B; X[basis] is the identity."""
    scaled = np.ldexp(features, -np.frexp(np.max(np.abs(features), axis=0))[1])
    rows = np.linalg.qr(scaled)[0]
    return _refined(scaled, np.linalg.solve(rows[basis].T, rows.T).T, basis)


def _largest_volume_start(features: Array) -> tuple[Arms, Array]:
    """Greedy choice of d arms: each the farthest from the span of those before it."""
    d = features.shape[1]
    # Distances in an orthonormal basis of the span do not change when A becomes A R.
    rows = np.linalg.qr(features)[0]
    rest = rows.copy()
    basis = np.empty(d, dtype=np.intp)
    for i in range(d):
        basis[i] = _first_largest(np.einsum("kj,kj->k", rest, rest))
        direction = rest[basis[i]] / np.linalg.norm(rest[basis[i]])
        rest -= np.outer(rest @ direction, direction)
    return basis, np.linalg.solve(rows[basis].T, rows.T).T


def _swap_until_small(X: Array, basis: Arms) -> None:
    """Exchange arms while some |x_kb| exceeds 1; each exchange multiplies |det A_B| by it."""
    d = X.shape[1]
    while True:
        size = np.abs(X)
        k, b = divmod(_first_largest(size.ravel()), d)
        if size[k, b] <= 1.0 + _SLACK:
            return
        column = X[:, b] / X[k, b]
        row = X[k].copy()
        row[b] -= 1.0
        X -= np.outer(column, row)
        basis[b] = k


def _first_largest(values: Array) -> int:
    """The first index whose value is largest up to rounding: ties do not depend on rounding."""
    return int(np.argmax(values >= (1.0 - _SLACK) * np.max(values)))


def _refined(features: Array, X: Array, basis: Arms) -> Array:
    """The solution of X A_B = A to working accuracy, by iterative refinement."""
    corner = features[basis]
    inverse = np.linalg.inv(corner)
    for _ in range(20):
        change = _exact_residual(features, X, corner) @ inverse
        X = X + change
        # Adding 0.0 removes the sign of -0.0.
        X[basis] = np.eye(basis.size)
        if np.max(np.abs(change)) <= 4 * np.finfo(np.float64).eps * max(1.0, np.max(np.abs(X))):
            return X + 0.0
    raise CertificateError(
        f"the coordinates in arms {basis.tolist()} do not converge: the last change is "
        f"{np.max(np.abs(change))!r}; features are collinear to rounding"
    )


def _exact_residual(A: Array, X: Array, B: Array) -> Array:
    """A - X B (K, d) as if computed with twice the digits and then rounded.

    X and B are cut into slices so short that their products and sums are exact; the rounding
    errors of subtracting the products are added up separately.
    """
    bits = (53 - math.ceil(math.log2(X.shape[1] + 1))) // 2
    right = _slices(B, 0, bits)
    residual, carried = A, np.zeros_like(A)
    for left in _slices(X, 1, bits):
        for piece in right:
            term = -(left @ piece)
            total = residual + term
            back = total - residual
            carried += (residual - (total - back)) + (term - back)
            residual = total
    return residual + carried


def _slices(matrix: Array, axis: int, bits: int) -> list[Array]:
    """Matrices that add up to the given one, each with that many bits along the axis."""
    slices: list[Array] = []
    rest = matrix
    while np.any(rest) and len(slices) < 5:
        exponent = np.frexp(np.max(np.abs(rest), axis=axis, keepdims=True))[1]
        anchor = np.ldexp(0.75, exponent + 54 - bits)
        top = (rest + anchor) - anchor
        slices.append(top)
        rest = rest - top
    return slices
