"""Which means are possible: those that are linear in the features up to the misspecification.

Features A (K, d) are doubles and taken as they are. The coordinates X = A A_B^-1, in which arm k is
sum_b x_kb times arm b of the spanner B, are rational numbers. They are found between bounds that do
not grow where features are nearly collinear: with C near A_B^-1, the product P = A C is added up
without rounding, P_B = A_B C is near the identity, and X = P P_B^-1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mislid.verification.intervals import STEP, TINY, Interval, above, below, exactly, product
from mislid.verification.reading import Arms, Failure, Matrix, Vector

# Coordinates in a spanner are at most 1, up to this.
ROUNDING = 1e-9
# Parts of a matrix that are multiplied without rounding; what is left is bounded.
PARTS = 4


@dataclass(frozen=True, eq=False)
class Model:
    """All means A theta + eta with |eta_k| <= eps; A theta = X b, b the values at the spanner."""

    A: Matrix
    inverse: Matrix  # near A_B^-1
    spanner: Arms
    X: Interval  # (K, d)
    eps: float
    late: tuple[int, ...] = ()  # arms without a part in the coordinates of the others

    @cached_property
    def _whole(self) -> tuple[NDArray[np.object_], int]:
        return _integers(self.A)

    def linear(self, theta: Vector) -> list[Fraction]:
        """A theta (K,), exactly."""
        (left, denominator), (right, other) = self._whole, _integers(theta)
        return [Fraction(one, denominator * other) for one in (left @ right).tolist()]


def _integers(values: Vector) -> tuple[NDArray[np.object_], int]:
    """Doubles as integers over one denominator."""
    ratios = [value.as_integer_ratio() for value in values.ravel().tolist()]
    denominator = max(one[1] for one in ratios)  # powers of two
    whole = np.empty(len(ratios), dtype=object)
    whole[:] = [top * (denominator // bottom) for top, bottom in ratios]
    return whole.reshape(values.shape), denominator


def level_only(K: int, eps: float) -> Model:
    """Without features: a common level."""
    ones = np.ones((K, 1))
    return Model(ones, np.ones((1, 1)), np.array([0]), exactly(ones), eps)


def model_of(
    features: Matrix, columns: Arms, spanner: Arms, eps: float, late: Arms | None = None
) -> Model:
    """The model of features (K, n), of which `columns` (d,) suffice, at arms `spanner` (d,).

    Arms that came `late` have no part in the coordinates of the others, and may have larger ones.
    """
    if spanner.size != columns.size:
        raise Failure(f"model.spanner must have {columns.size} arms, as many as model.columns")
    # By powers of two, which round nothing unless numbers are as far apart as doubles can be.
    powers = np.frexp(np.max(np.abs(features), axis=0))[1]
    scaled = np.ldexp(features, -powers)
    if np.any(np.ldexp(scaled, powers) != features):
        raise Failure("candidates.features must not be so far apart within a column")
    A = np.ascontiguousarray(scaled[:, columns])
    inverse, X = _coordinates(A, spanner)
    known = np.setdiff1d(np.arange(len(A)), [] if late is None else late)
    largest = float(np.max(X.size[known], initial=0.0))
    if not largest <= 1.0 + ROUNDING:
        raise Failure(
            "model.spanner must be arms in which all others have coordinates of at most 1; "
            f"the largest is {largest:.9g}"
        )
    own = np.isin(spanner, [] if late is None else late)
    if np.any(X.size[np.ix_(known, own)] > ROUNDING):
        raise Failure("model.late must be arms without a part in the coordinates of the others")
    _refuse_left_out(scaled, columns, spanner, X)
    return Model(A, inverse, spanner, X, eps, () if late is None else tuple(late.tolist()))


def _refuse_left_out(scaled: Matrix, columns: Arms, spanner: Arms, X: Interval) -> None:
    """Refuse to leave out a column that says something of its own, beyond rounding.

    What is rounding is judged as when a model is made: against K and the number of columns n.
    """
    K, n = scaled.shape
    rounding = min(10 * max(K, n) * float(np.finfo(np.float64).eps), 1e-11)
    filled = np.flatnonzero(np.max(np.abs(scaled), axis=0))
    if columns.size == filled.size and np.all(columns == filled):
        return
    columns_of_one_size = scaled[:, filled] / np.max(np.abs(scaled[:, filled]), axis=0)
    if filled.size <= K:
        singular = np.linalg.svd(columns_of_one_size, compute_uv=False)
        if singular[-1] > rounding * singular[0]:
            raise Failure("model.columns must be all that are not 0: none depends on the others")
    # X times the values at the spanner gives a column again.
    missed = np.max((exactly(scaled) - product(X, scaled[spanner])).size, axis=0)
    lengths = 1.0 + float(np.max(np.sum(X.size, axis=1)))
    allowed = rounding * lengths * math.sqrt(K * n)
    worst = int(np.argmax(missed))
    if not missed[worst] <= allowed:
        raise Failure(
            f"model.columns must span the features; column {worst} is missed by "
            f"{missed[worst]:.3g} of its size"
        )


def _coordinates(A: Matrix, spanner: Arms) -> tuple[Matrix, Interval]:
    """C near A_B^-1, and X between bounds."""
    dependent = Failure("model.spanner must be arms with independent features")
    try:
        inverse = np.asarray(np.linalg.inv(A[spanner]), np.float64)
    except np.linalg.LinAlgError:
        raise dependent from None
    P = exact_product(A, inverse)
    # |r (I + F)^-1| <= |r| / (1 - f) for a row r, in the largest entry, f the columns' sums of F.
    d = spanner.size
    F = P[spanner] - np.eye(d)
    f = float(np.max(F.size.sum(axis=0))) * (1.0 + STEP * (d + 2))
    if not f <= 0.5:  # where it is more, A_B may be singular
        raise dependent
    X = np.asarray(np.linalg.solve(P.middle[spanner].T, P.middle.T).T, np.float64)
    X[spanner] = np.eye(d)
    # X - X' is (P - X' P_B) P_B^-1, and (A - X' A_B) C P_B^-1: nothing where X' is exact.
    one = (P - product(X, P[spanner])).size
    exact = exact_product(X, A[spanner])
    missed = np.where((exact.low == A) & (exact.high == A), 0.0, (exactly(A) - exact).size)
    other = np.where(missed.any(axis=1, keepdims=True), product(missed, np.abs(inverse)).high, 0.0)
    rest = np.minimum(np.max(one, axis=1), np.max(other, axis=1))
    radius = np.where(rest > 0.0, above(rest / (1.0 - f) * (1.0 + 8 * STEP)), 0.0)[:, None]
    radius = np.where(np.isin(np.arange(len(X)), spanner)[:, None], 0.0, radius)
    return inverse, Interval(
        np.where(radius > 0.0, below(X - radius), X), np.where(radius > 0.0, above(X + radius), X)
    )


def exact_product(A: Matrix, B: Matrix) -> Interval:
    """A B, hardly rounded: parts with few digits have products that round nothing."""
    bits = (52 - math.ceil(math.log2(A.shape[1] + 1))) // 2
    left, left_rest = _parts(A, 1, bits)
    right, right_rest = _parts(B, 0, bits)
    total, carried = np.zeros((len(A), B.shape[1])), np.zeros((len(A), B.shape[1]))
    size = np.zeros_like(total)
    for one in left:
        for other in right:
            term = one @ other
            after = total + term
            back = after - total
            lost = (total - (after - back)) + (term - back)
            total, carried, size = after, carried + lost, size + np.abs(lost)
    terms = PARTS * PARTS + A.shape[1] + 8
    missed = np.abs(left_rest) @ np.abs(B) + 2.0 * np.abs(A) @ np.abs(right_rest)
    missed = (1.0 + STEP * terms) * missed + STEP * terms * size + terms * TINY
    found = total + carried
    # Where nothing was rounded, and nothing may have been too small, that is the product.
    whole = (size == 0.0) & (missed <= terms * TINY * 1.1) & _is_normal(A) & _is_normal(B)
    low, high = below(found - missed), above(found + missed)
    return Interval(np.where(whole, total, low), np.where(whole, total, high))


def _is_normal(A: Matrix) -> bool:
    """Whether products of two such numbers are far from being too small."""
    sizes = np.abs(A[A != 0.0])
    return bool(np.min(sizes, initial=1.0) > 1e-100)


def _parts(A: Matrix, axis: int, bits: int) -> tuple[list[Matrix], Matrix]:
    """Matrices of whole multiples, up to 2^bits, of one unit for each row or column; and the rest.

    They add up to A without rounding.
    """
    found, rest = [], A
    for _ in range(PARTS):
        largest = np.max(np.abs(rest), axis=axis, keepdims=True)
        unit = np.ldexp(1.0, np.frexp(largest)[1] - bits)
        part = np.rint(rest / unit) * unit
        found.append(part)
        rest = rest - part
    return found, rest
