"""Possible means, and lower bounds on their distance from given means, with rounding bounded.

Possible means are linear in the features up to the misspecification.

Features A (K, d) are doubles and taken as they are. The coordinates X = A A_B^-1, in which arm k is
sum_b x_kb times arm b of the spanner B, are rational numbers. They are found between bounds that do
not grow where features are nearly collinear: with C near A_B^-1, the product P = A C is added up
without rounding, P_B = A_B C is near the identity, and X = P P_B^-1.

Let lambda = X b + eta be any model with lambda_i >= lambda_j + tol, mu given means, w weights,
|x|_w^2 = sum_k w_k x_k^2, and z (K,), alpha >= 0 any numbers; v = z + alpha (e_j - e_i). Then

    v'(mu - lambda) = v'mu - z'lambda + alpha (lambda_i - lambda_j)
                   >= v'mu + alpha tol - eps |z|_1 - |rho'b|,            rho = X'z,

and by Cauchy and Schwarz v'(mu - lambda) <= |v/w|_w |mu - lambda|_w. The best z have rho = 0;
numbers of a computer leave something. With V = X'WX and h = |rho|_(V^-1),

    |rho'b|  <=  h |X b|_w  <=  h ( |mu|_w + |mu - lambda|_w + eps |1|_w ),

so that |mu - lambda|_w >= ( v'mu + alpha tol - eps |z|_1 - h (|mu|_w + eps |1|_w) )_+
/ (|v/w|_w + h). It does not matter where z and alpha come from: none prove more than the truth.

Only differences from linear means count. So a linear model near the data is taken off them first,
exactly: what is left has all its digits, whatever the level of the means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid.verification import intervals as iv
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

    Arms that came `late` have no part in the coordinates, and theirs may be larger.
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
    if late is not None and np.isin(spanner, late).any():
        raise Failure("model.late must be arms without a part in the coordinates")
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


# How often what is left of the data is fitted once more.
FITS = 3

Pair = tuple[int, int]


class Witness(NamedTuple):
    """What leads to a proof: linear values (d,) at the spanner's arms, and alpha >= 0.

    The best are those of the closest alternative. For a projection alpha is 0.
    """

    values: Vector
    alpha: float = 0.0


class Frame:
    """Directions that V = X'WX spans, and lengths by its inverse.

    Q (d, d) are nearly eigenvectors of V, D is the diagonal of Q'VQ, and rows of Q'Q - I add up to
    at most `q`. With Y = W^1/2 X Q, let all rows of D^-1/2 Y'Y D^-1/2 - I add up to at most e. Then
    V^-1 = Q (Y'Y)^-1 Q' gives |rho|^2_(V^-1) <= sum_l (Q'rho)_l^2 / (D_l (1 - e)).
    """

    def __init__(self, X: Interval, weights: Interval) -> None:
        scaled = np.sqrt(weights.middle)[:, None] * X.middle
        if not np.all(np.isfinite(scaled)):
            raise OverflowError("weights are too large")
        K, d = scaled.shape
        self.Q: Matrix = np.asarray(np.linalg.svd(scaled, full_matrices=d > K)[2].T, np.float64)
        self.Y = iv.product(X, self.Q) * iv.sqrt(weights)[:, None]
        self.D = self.Y.square.sum(axis=0)
        self.q = _largest_row((iv.product(self.Q.T, self.Q) - np.eye(d)).size)
        if not self.q <= 0.5:
            raise np.linalg.LinAlgError("the directions of the features cannot be told")
        roots = np.sqrt(self.D.low) * (1.0 - 4 * iv.STEP)
        cross = iv.product(Interval(self.Y.low.T, self.Y.high.T), self.Y).size
        np.fill_diagonal(cross, 0.0)
        self.e = _largest_row(cross / np.outer(roots, roots))
        if not (np.all(self.D.low > 0.0) and self.e <= 0.5):
            raise np.linalg.LinAlgError("the arms that were measured do not span the features")

    def volume(self, square: Interval) -> Interval:
        """ln det(I + s^2 V), at most, for s^2 (n,).

        By Hadamard's inequality det Q'(I + s^2 V) Q <= prod_l (|q_l|^2 + s^2 D_l), and
        det Q'Q >= (1 - q)^d.
        """
        lengths = exactly(self.Q).square.sum(axis=0)
        factors = lengths[None, :] + square[:, None] * self.D[None, :]
        lost = iv.log(exactly(1.0) - self.q) * float(len(self.Q))
        return iv.log(factors).sum(axis=1) - lost

    def length(self, rho: Interval) -> Interval:
        """At least |rho|_(V^-1), of rows rho (n, d)."""
        along = iv.product(rho, self.Q).square / self.D / (exactly(1.0) - self.e)
        return exactly(iv.sqrt(along.sum(axis=-1)).high)

    @cached_property
    def least(self) -> float:
        """At most the least eigenvalue of V: |v|^2 <= (1 + q) |Q^-1 v|^2."""
        found = self.D * (exactly(1.0) - self.e) / (exactly(1.0) + self.q)
        return float(np.min(found.low))


def _largest_row(sizes: Matrix) -> float:
    """The largest sum of a row of numbers at least 0, rounded up."""
    return float(np.max(np.sum(sizes, axis=1))) * (1.0 + iv.STEP * (len(sizes) + 4))


class Centred:
    """Means (K,), of which rounding may have taken `lost` (K,), less a linear model near them.

    `linear` (K,) is that model, exactly, and `off` (K,) what is left; 0 where a weight is 0.
    """

    def __init__(
        self,
        model: Model,
        means: list[Fraction],
        weights: Vector,
        lost: list[Fraction] | None = None,
    ) -> None:
        self.model, self.means = model, means
        heavy = weights > 0.0
        root = np.sqrt(weights / np.max(weights))
        self.linear = [Fraction(0)] * len(means)
        for _ in range(FITS):
            rest = np.array([_nearly(y - x) for y, x in zip(means, self.linear, strict=True)])
            rest = np.where(heavy, rest, 0.0)
            if not np.all(np.isfinite(rest)):
                raise OverflowError("means are too far apart")
            values = np.linalg.lstsq(root[:, None] * model.X.middle, root * rest, rcond=None)[0]
            more = model.linear(model.inverse @ values)
            self.linear = [x + y for x, y in zip(self.linear, more, strict=True)]
        radius = [Fraction(0)] * len(means) if lost is None else lost
        self.off = iv.stack([
            iv.within(y - x, r) if one else exactly(0.0)
            for y, x, r, one in zip(means, self.linear, radius, heavy.tolist(), strict=True)
        ])  # fmt: skip

    def gap(self, pair: Pair, tol: float) -> Interval:
        """tol, from where the linear model is taken off: the null has lambda_i >= lambda_j + it."""
        i, j = pair
        return iv.of_fraction(Fraction(tol) + self.linear[j] - self.linear[i])

    def values(self, values: Vector) -> Interval:
        """Linear values (d,) at the spanner's arms, from where the linear model is taken off."""
        spanner = self.model.spanner.tolist()
        return iv.stack([
            iv.of_fraction(Fraction(value) - self.linear[k])
            for value, k in zip(values.tolist(), spanner, strict=True)
        ])  # fmt: skip


def _nearly(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True, eq=False)
class Duality:
    """Bounds for one model, one set of weights (K,) and means that are `off` (K,) linear ones."""

    model: Model
    weights: Interval
    off: Interval

    @cached_property
    def frame(self) -> Frame:
        """Of these weights."""
        return Frame(self.model.X, self.weights)

    @cached_property
    def far(self) -> Interval:
        """|mu|_w + eps |1|_w."""
        size, all_weights = (self.weights * self.off.square).sum(), self.weights.sum()
        return iv.sqrt(size) + iv.sqrt(all_weights) * self.model.eps

    def distance(
        self,
        z: Vector,
        alpha: float = 0.0,
        pair: Pair | None = None,
        gap: Interval | None = None,
    ) -> Interval:
        """1/2 |mu - lambda|_w^2 at least, by the bound above for any z (K,) and alpha."""
        size = max(float(np.max(np.abs(z))), alpha)
        if not 0.0 < size < math.inf:
            return exactly(0.0)
        z, alpha = z / size, alpha / size  # only their ratios matter
        v, moved = exactly(z), z.copy()
        if pair is not None:
            push = np.zeros(z.size)
            push[[*pair]] = -alpha, alpha
            v, moved = v + push, moved + push
        measured = self.weights.low > 0.0
        if np.any(moved[~measured] != 0.0):
            return exactly(0.0)  # an arm that was never measured proves nothing
        v = v.where(measured, 0.0)
        h = self.frame.length(self._imbalance(z))[0]
        value = (v * self.off).sum() - exactly(np.abs(z)).sum() * self.model.eps - h * self.far
        if gap is not None:
            value = value + gap * alpha
        shares = v.square / self.weights.where(measured, 1.0)
        spread = iv.sqrt(shares.sum()) + h
        if not spread.low > 0.0:
            return exactly(0.0)
        return (value.positive / spread).square * 0.5

    def _imbalance(self, z: Vector) -> Interval:
        """X'z as a row (1, d), where most of it cancels."""
        X = self.model.X
        missed = iv.product(exactly(np.abs(z))[None, :], X.radius).high
        return exact_product(z[None, :], X.middle) + Interval(-missed, missed)

    def balanced(self, z: Vector) -> Vector:
        """The z with X'z = 0, nearly, that is nearest to the given one, in sum_k dz_k^2 / w_k."""
        X, root = self.model.X.middle, np.sqrt(self.weights.middle)
        for _ in range(2):
            move = np.linalg.lstsq((root[:, None] * X).T, X.T @ z, rcond=None)[0]
            z = z - root * move
        return z

    def pair_distance(self, values: Vector, alpha: float, pair: Pair, gap: Interval) -> Interval:
        """What the closest alternative's values (d,) and alpha prove of a pair.

        Values are less those of the linear model that was taken off.
        """
        given = self.off.middle
        near = nearest(self.model, self.weights.middle, given, Witness(values, alpha), pair)
        z = self.weights.middle * (given - near)
        z[pair[0]] += alpha
        z[pair[1]] -= alpha
        return self.distance(self.balanced(z), alpha, pair, gap)


def nearest(
    model: Model, weights: Vector, given: Vector, witness: Witness, pair: Pair | None = None
) -> Vector:
    """Minimises the cost minus alpha (lambda_i - lambda_j) over means around linear values."""
    pushed, linear = given.copy(), model.X.middle @ witness.values
    for arm, push in zip(pair or (), (witness.alpha, -witness.alpha), strict=False):
        if push != 0.0:
            weight = float(weights[arm])
            pushed[arm] += push / weight if weight > 0.0 else math.copysign(math.inf, push)
    return np.clip(pushed, linear - model.eps, linear + model.eps)


def rounding(eps: float, weights: Vector, given: Vector, amount: float) -> float:
    """What rounding of the means' level may add to, or take from, an amount that is stated."""
    heaviest, last_digit = float(np.max(weights)), 1e-14 * float(np.max(np.abs(given)))
    tube = eps if math.isfinite(eps) else 0.0
    return last_digit * (math.sqrt(2.0 * heaviest * amount) + heaviest * (tube + last_digit))
