"""Which means are possible: linear in the features, up to the declared misspecification."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid.verification._reading import Arms, Failure, Matrix

# What may be lost to rounding in a feature, relative to the largest of its column.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Model:
    """All means X b + eta with |eta_k| <= eps.

    X (K, d) are the features in coordinates of the spanner's arms: entries are at most one, and b
    lists the linear values at those arms.
    """

    X: Matrix
    eps: float


def model_of(features: Matrix, columns: Arms, spanner: Arms, eps: float) -> Model:
    """The model of features (K, n), of which `columns` (d,) suffice, at arms `spanner` (d,)."""
    if spanner.size != columns.size:
        raise Failure(f"model.spanner must have {columns.size} arms, as many as model.columns")
    scale = np.max(np.abs(features), axis=0)
    # By powers of two, which round nothing: collinear features would not forgive it.
    scaled = np.ldexp(features, -np.frexp(scale)[1])
    X = _coordinates(scaled[:, columns], spanner)
    if not np.max(np.abs(X)) <= 1.0 + ROUNDING:
        raise Failure(
            "model.spanner must be arms in which all others have coordinates of at most 1; "
            f"the largest is {np.max(np.abs(X)):.9g}"
        )
    # Columns left out must add nothing: X times their values at the spanner gives them again.
    missed = np.max(np.abs(features - X @ features[spanner]), axis=0)
    worst = int(np.argmax(missed - ROUNDING * scale))
    if not missed[worst] <= ROUNDING * scale[worst]:
        raise Failure(
            f"model.columns must span the features; column {worst} is missed by {missed[worst]:.3g}"
        )
    return Model(X, eps)


def _coordinates(A: Matrix, spanner: Arms) -> Matrix:
    """X with X A_B = A, to the last digits even where features are nearly collinear."""
    corner = A[spanner]
    try:
        inverse = np.linalg.inv(corner)
    except np.linalg.LinAlgError:
        raise Failure("model.spanner must be arms with independent features") from None
    X: Matrix = A @ inverse
    for _ in range(10):
        change = _residual(A, X, corner) @ inverse
        X = X + change
        X[spanner] = np.eye(spanner.size)
        if np.max(np.abs(change)) <= 1e-15:
            break
    return X


def _residual(A: Matrix, X: Matrix, B: Matrix) -> Matrix:
    """A - X B with every entry rounded once: exact products, summed exactly."""
    residual = np.empty_like(A)
    for k in range(A.shape[0]):
        product = X[k][:, None] * B
        terms = np.vstack([A[k], -product, -_rounded_off(X[k][:, None], B, product)])
        residual[k] = [math.fsum(column) for column in terms.T.tolist()]
    return residual


def _rounded_off(a: Matrix, b: Matrix, product: Matrix) -> Matrix:
    """a b - product, exactly, from halves of 26 bits (Dekker)."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    rest: Matrix = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    return rest


def _halves(a: Matrix) -> tuple[Matrix, Matrix]:
    big = 134217729.0 * a
    high = big - (big - a)
    return high, a - high
