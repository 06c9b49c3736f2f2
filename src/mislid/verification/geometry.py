"""Linear means, and lower bounds on distances from them, with rounding bounded.

Features A (R, n) are doubles and taken as they are. X = A C T spans their columns. C (n, d) has
the singular directions of the first day's rows over the singular values, but for those that are
rounding; T is near I and such that G = (d/K) X_1'X_1 is near I over the first day's rows X_1. A C
is rounded once, so X is known to some 1e-15, however collinear features are.

Let lambda = X b + eta, |eta_k| <= eps, be any model with lambda_i >= lambda_j + tol, mu given
means, w weights, |x|_w^2 = sum_k w_k x_k^2, and z (R,), alpha >= 0 any numbers; v = z + alpha
(e_j - e_i). Then

    v'(mu - lambda) = v'mu - z'lambda + alpha (lambda_i - lambda_j)
                   >= v'mu + alpha tol - eps |z|_1 - |rho'b|,            rho = X'z,

and by Cauchy and Schwarz v'(mu - lambda) <= |v/w|_w |mu - lambda|_w. The best z have rho = 0;
doubles miss that. With V = X'WX and h = |rho|_(V^-1),

    |rho'b|  <=  h |X b|_w  <=  h ( |mu|_w + |mu - lambda|_w + eps |1|_w ),

so that |mu - lambda|_w >= ( v'mu + alpha tol - eps |z|_1 - h (|mu|_w + eps |1|_w) )_+
/ (|v/w|_w + h), whatever z and alpha are.

Only differences from linear means count. So a linear model A theta near the data is taken off them
first, in rational numbers; the rest has all its digits, whatever the level of the means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.intervals import STEP, Interval, exactly, product
from mislid.verification.reading import Failure, Matrix, Vector
from mislid.verification.record import integers

# How far features of later arms may be from the columns that count, relatively.
LATE = 1e-9
# How often the rest of the data is fitted once more; what is added where V may be singular.
FITS, DAMPING = 3, 1e-11

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Model:
    """Means X b + eta with |eta_k| <= eps; A `back` is about X."""

    A: Matrix  # (R, n)
    back: Matrix  # (n, d)
    X: Interval  # (R, d)
    off: float  # rows of G - I add up to at most this
    eps: float

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.back.shape[1])


def model_of(features: Matrix, K: int, eps: float) -> Model:
    """The model of features (R, n) of which the first K rows are of the first day."""
    sizes = np.max(np.abs(features[:K]), axis=0)
    # By powers of two, which round nothing unless numbers are as far apart as doubles can be.
    powers = np.where(sizes > 0.0, np.frexp(sizes)[1], 0)
    A = np.ldexp(features, -powers)
    if np.any(np.ldexp(A, powers) != features):
        raise Failure("question.features must not be so far apart within a column")
    C = _basis(A, K)
    d, products = C.shape[1], exact_product(A, C)
    rounded = iv.of_fractions(products)
    P = Interval(rounded.low.reshape(-1, d), rounded.high.reshape(-1, d))
    try:
        T = np.linalg.inv(np.linalg.qr(P.middle[:K] * math.sqrt(d / K))[1])
    except np.linalg.LinAlgError:
        raise Failure("question.features must not be so much alike") from None
    X = product(P, T)
    first = X[:K]
    G = product(Interval(first.low.T, first.high.T), first) * (exactly(float(d)) / float(K))
    off = largest_row((G - np.eye(d)).size)
    if not off <= 0.1:
        raise Failure("question.features must not be so much alike")
    return Model(A, C @ T, X, off, eps)


def _basis(A: Matrix, K: int) -> Matrix:
    """C (n, d) such that A C spans the columns of the first K rows, up to rounding."""
    sizes = np.max(np.abs(A[:K]), axis=0)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    _, singular, directions = np.linalg.svd(A[:K] / sizes, full_matrices=False)
    rounding = min(10 * max(K, sizes.size) * float(np.finfo(np.float64).eps), 1e-11)
    d = int(np.sum(singular > rounding * singular[0]))
    if d == 0:
        raise Failure("question.features must not all be 0")
    known, late = directions[:d], A[K:] / sizes
    missed = np.abs(late - late @ known.T @ known)
    if d < sizes.size and np.any(missed > LATE * np.max(np.abs(late), axis=1, keepdims=True)):
        k = K + int(np.argmax(np.max(missed, axis=1)))
        raise Failure(f"changes must add candidates within the span of question.features; arm {k}")
    found: Matrix = (known / singular[:d, None] / sizes).T
    return found


def exact_product(A: Matrix, B: Matrix) -> list[Fraction]:
    """The entries of A B."""
    (left, p), (right, q) = (
        (np.array(whole, dtype=object).reshape(one.shape), unit)
        for one, (whole, unit) in ((A, integers(A)), (B, integers(B)))
    )
    return [Fraction(entry, p * q) for entry in (left @ right).ravel().tolist()]


class Frame:
    """Directions that V = X'WX spans, and lengths by its inverse.

    Q (d, d) are nearly eigenvectors of V, D is the diagonal of Q'VQ, and rows of Q'Q - I add up to
    at most `q`. With Y = W^1/2 X Q, let all rows of D^-1/2 Y'Y D^-1/2 - I add up to at most e < 1.
    By Gershgorin's theorem V^-1 = Q (Y'Y)^-1 Q' gives
    |rho|^2_(V^-1) <= sum_l (Q'rho)_l^2 / (D_l (1 - e)).
    """

    def __init__(self, X: Interval, weights: Interval) -> None:
        scaled = np.sqrt(weights.middle)[:, None] * X.middle
        if not np.all(np.isfinite(scaled)):
            raise np.linalg.LinAlgError("weights are too large")
        K, d = scaled.shape
        self.Q: Matrix = np.asarray(np.linalg.svd(scaled, full_matrices=d > K)[2].T, np.float64)
        Y = product(X, self.Q) * iv.sqrt(weights)[:, None]
        self.D = Y.square.sum(axis=0)
        self.q = largest_row((product(self.Q.T, self.Q) - np.eye(d)).size)
        roots = np.sqrt(self.D.low) * (1.0 - 4 * STEP)
        cross = product(Interval(Y.low.T, Y.high.T), Y).size
        np.fill_diagonal(cross, 0.0)
        self.e = largest_row(cross / np.outer(roots, roots))
        if not (np.all(self.D.low > 0.0) and self.e <= 0.5 and self.q <= 0.5):
            raise np.linalg.LinAlgError("the arms that were measured do not span the features")
        # At most the least eigenvalue of V: |v|^2 <= (1 + q) |Q^-1 v|^2.
        self.least = float(np.min((self.D * (exactly(1.0) - self.e) / (exactly(1.0) + self.q)).low))

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
        along = product(rho, self.Q).square / self.D / (exactly(1.0) - self.e)
        return exactly(iv.sqrt(along.sum(axis=-1)).high)


def largest_row(sizes: Matrix) -> float:
    """The largest sum of a row of numbers at least 0, rounded up."""
    return float(np.max(np.sum(sizes, axis=1))) * (1.0 + STEP * (len(sizes) + 4))


def centred(
    model: Model, means: list[Fraction], weights: Vector
) -> tuple[list[Fraction], Interval]:
    """A linear model near means (R,), exactly, and the rest of them; 0 where a weight is 0."""
    heavy = weights > 0.0
    X, w = model.X.middle, weights / np.sum(weights)
    V = X.T @ (w[:, None] * X)
    V = V + DAMPING * np.trace(V) * np.eye(model.d)
    linear, rest = [Fraction(0)] * len(means), means
    for _ in range(FITS):
        near = np.where(heavy, np.array([float(one) for one in rest]), 0.0)
        more = exact_product(model.A, model.back @ np.linalg.solve(V, X.T @ (w * near)))
        linear = [x + y for x, y in zip(linear, more, strict=True)]
        rest = [y - x for y, x in zip(means, linear, strict=True)]
    return linear, iv.of_fractions(rest).where(heavy, 0.0)


class Distances:
    """Distances of the tube from means that are `off` (R,) linear ones, in weights (R,)."""

    def __init__(self, model: Model, weights: Interval, off: Interval) -> None:
        self.model, self.weights, self.off = model, weights, off

    @cached_property
    def frame(self) -> Frame:
        """Of these weights."""
        return Frame(self.model.X, self.weights)

    @cached_property
    def far(self) -> Interval:
        """|mu|_w + eps |1|_w."""
        size, all_weights = (self.weights * self.off.square).sum(), self.weights.sum()
        return iv.sqrt(size) + iv.sqrt(all_weights) * self.model.eps

    def of_pair(self, pair: Pair, gap: Interval) -> Interval:
        """1/2 |mu - lambda|_w^2 at least, over the null of a pair."""
        z, alpha = self._multipliers(pair, float(gap.middle))
        size = max(float(np.max(np.abs(z))), alpha)
        if not 0.0 < size < math.inf:
            return exactly(0.0)
        z, alpha = self._balanced(z / size), alpha / size  # only their ratios matter
        push = np.zeros(z.size)
        push[[*pair]] = -alpha, alpha
        measured = self.weights.low > 0.0
        if np.any(z[~measured] != -push[~measured]):
            return exactly(0.0)  # an arm that was never measured proves nothing
        moved = (exactly(z) + push).where(measured, 0.0)
        h = self.frame.length(product(z[None, :], self.model.X))[0]
        value = (moved * self.off).sum() - exactly(np.abs(z)).sum() * self.model.eps
        value = value + gap * alpha - h * self.far
        spread = iv.sqrt((moved.square / self.weights.where(measured, 1.0)).sum()) + h
        return (value.positive / spread).square * 0.5

    def nearest(self, values: Vector) -> Vector:
        """The linear values (d,) of the nearest model, nearly, looked for from some on."""
        w, y = self.weights.middle, self.off.middle
        return closest(self.model, w, y, np.zeros_like(y), values)[0]

    def from_model(self, values: Vector) -> Interval:
        """1/2 sum_k w_k (|mu_k - x_k'b| - eps)_+^2 for the model with these linear values."""
        rest = exactly((self.off - product(self.model.X, values)).size)
        return ((rest - self.model.eps).positive.square * self.weights).sum() * 0.5

    def _balanced(self, z: Vector) -> Vector:
        """The z with X'z = 0, nearly, that is nearest to the given one, in sum_k dz_k^2 / w_k."""
        X, w = self.model.X.middle, self.weights.middle
        for _ in range(2):
            z = z - w * (X @ np.linalg.solve(X.T @ (w[:, None] * X), X.T @ z))
        return z

    def _multipliers(self, pair: Pair, gap: float) -> tuple[Vector, float]:
        """Nearly the best z and alpha: those of the closest means of the null.

        The closest means for a given alpha rise at i against j with alpha: halving a bracket finds
        the alpha at which they reach the gap.
        """
        w, y, (i, j) = self.weights.middle, self.off.middle, pair
        push = np.zeros(y.size)
        push[[i, j]] = 1.0, -1.0
        b = np.zeros(self.model.d)
        z = y

        def short(alpha: float) -> float:
            nonlocal b, z
            b, z, means = closest(self.model, w, y, alpha * push, b)
            return float(means[i] - means[j]) - gap

        low, middle, at_low = 0.0, 0.0, short(0.0)
        if at_low >= 0.0:
            return z, 0.0
        heavy = w[[i, j]] > 0.0
        high = -at_low / float(np.sum(1.0 / w[[i, j]][heavy])) if heavy.any() else float(w.max())
        for _ in range(MOST_STEPS):
            if short(high) >= 0.0:
                break
            low, high = high, 4.0 * high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if short(middle) < 0.0 else (low, middle)
        return z, middle


MOST_STEPS, HALVINGS = 60, 32


def closest(
    model: Model, w: Vector, y: Vector, push: Vector, b: Vector
) -> tuple[Vector, Vector, Vector]:
    """Minimises 1/2 sum_k w_k (lambda_k - y_k)^2 - push'lambda over lambda = X b + eta.

    Newton's method with halved steps, from b (d,) on. Returns b, the multipliers z (R,) of
    lambda = X b + eta, and lambda; X'z is nearly 0.
    """
    X, eps, heavy = model.X.middle, model.eps, w > 0.0
    wanted = y + np.divide(push, w, out=np.zeros_like(y), where=heavy)
    free = np.where(heavy, 0.0, push)
    V = X.T @ (w[:, None] * X)
    damping = DAMPING * (V + np.trace(V) * np.eye(model.d))

    def beyond(at: Vector) -> Vector:
        rest = wanted - X @ at
        found: Vector = np.sign(rest) * np.maximum(np.abs(rest) - eps, 0.0)
        return np.where(heavy, found, 0.0)

    def value(rest: Vector, at: Vector) -> float:
        return float(0.5 * (w @ rest**2) - free @ (X @ at))

    rest = beyond(b)
    before = value(rest, b)
    for _ in range(MOST_STEPS):
        active = w * (rest != 0.0)
        step = np.linalg.solve(X.T @ (active[:, None] * X) + damping, X.T @ (w * rest + free))
        length = 1.0
        while True:
            moved = b + length * step
            new = beyond(moved)
            after = value(new, moved)
            if after < before or length < 1e-9:
                break
            length *= 0.5
        if not after < before - 1e-15 * abs(before):
            break
        b, rest, before = moved, new, after
    means = np.where(heavy, wanted - rest, X @ b + eps * np.sign(push))
    return b, w * rest + free, means
