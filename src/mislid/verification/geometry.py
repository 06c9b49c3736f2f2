"""Which means are possible, and how far given means are from them.

Possible are means that are linear in the features up to the declared misspecification. A model
shows from above how far away they are, weak duality from below:

Let lambda = X b + eta be any model with lambda_i >= lambda_j + tol, and v (K,), alpha >= 0 any
numbers for which z = v - alpha (e_j - e_i) has X'z = 0. Then z'lambda <= eps |z|_1, hence
v'(mu - lambda) >= v'mu + alpha tol - eps |z|_1, and by Cauchy and Schwarz's inequality

    1/2 sum_k w_k (lambda_k - mu_k)^2
        >=  ( v'mu + alpha tol - eps |z|_1 )_+^2 / ( 2 sum_k v_k^2 / w_k ).

It does not matter where v and alpha come from. The best ones follow from the closest lambda: its
values b and alpha are all that a file has to say of a pair.

Numbers of a computer leave rho = X'z other than 0. With any f, r = |mu - X f|_w, V = X'WX and
h^2 = rho'V^-1 rho, what z'lambda adds is

    |rho'(f - b)|  <=  h |X (f - b)|_w  <=  h ( r + |mu - lambda|_w + eps sqrt(sum_k w_k) ),

which is taken off above and added below. So no v and alpha prove more than the truth, whatever
their size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mislid.verification.reading import Arms, Failure, Matrix, Vector

# What may be lost to rounding in a feature, relative to the largest of its column.
ROUNDING = 1e-9
# What X'z may be off by, relative to |z|_1 + 2 alpha.
BALANCE = 1e-9
# Weights whose square roots in the features differ by more do not span.
SINGULAR = 1e-12
# At least what rounding takes from a sum, relative to its terms.
LAST_DIGIT = 4e-16

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Model:
    """All means X b + eta with |eta_k| <= eps.

    X (K, d) are the features in coordinates of the spanner's arms: entries are at most one, and b
    lists the linear values at those arms.
    """

    X: Matrix
    eps: float


class Witness(NamedTuple):
    """What leads to a proof: linear values (d,) at the spanner's arms, and alpha >= 0.

    The best are those of the closest alternative. For a projection alpha is 0.
    """

    values: Vector
    alpha: float = 0.0


def cost(given: Vector, weights: Vector, means: Vector) -> float:
    """1/2 sum_k w_k (means_k - given_k)^2."""
    return 0.5 * float(np.sum(weights * (means - given) ** 2))


def two_arm_cost(given: Vector, weights: Vector, pair: Pair, tol: float) -> float:
    """What a pair (challenger, incumbent) costs where its two arms move and no other can tell."""
    i, j = pair
    gap = float(given[j] - given[i]) + tol
    if gap <= 0.0 or weights[i] == 0.0 or weights[j] == 0.0:
        return 0.0
    return gap * gap / (2.0 * float(1.0 / weights[i] + 1.0 / weights[j]))


@dataclass(frozen=True, eq=False)
class Duality:
    """Bounds for one model and one set of weights (K,); a projection is a pair None."""

    model: Model
    weights: Vector

    def rounding(self, given: Vector, amount: float) -> float:
        """What rounding of the means' level may add to, or take from, an amount of evidence."""
        heaviest, last_digit = float(np.max(self.weights)), 1e-14 * float(np.max(np.abs(given)))
        tube = self.model.eps if math.isfinite(self.model.eps) else 0.0
        return last_digit * (math.sqrt(2.0 * heaviest * amount) + heaviest * (tube + last_digit))

    def nearest(self, given: Vector, witness: Witness, pair: Pair | None = None) -> Vector:
        """Minimises the cost minus alpha (lambda_i - lambda_j) over means around linear values."""
        pushed, linear = given.copy(), self.model.X @ witness.values
        for arm, push in zip(pair or (), (witness.alpha, -witness.alpha), strict=False):
            if push != 0.0:
                weight = float(self.weights[arm])
                pushed[arm] += push / weight if weight > 0.0 else math.copysign(math.inf, push)
        return np.clip(pushed, linear - self.model.eps, linear + self.model.eps)

    def is_balanced(self, z: Vector, alpha: float) -> bool:
        """Whether X'z = 0, up to rounding."""
        allowed = BALANCE * (float(np.sum(np.abs(z))) + 2.0 * alpha)
        return bool(np.max(np.abs(self.model.X.T @ z)) <= allowed)

    @cached_property
    def root(self) -> Matrix:
        """R (d, d) with R'R = V; by orthogonal steps, which lose half as many digits."""
        scaled = np.sqrt(self.weights)[:, None] * self.model.X
        root: Matrix = np.asarray(np.linalg.qr(scaled, mode="r"), np.float64)
        sizes = np.abs(np.diag(root))
        if root.shape[0] < scaled.shape[1] or not np.min(sizes) > SINGULAR * np.max(sizes):
            raise np.linalg.LinAlgError("the arms that were measured do not span the features")
        return root

    @cached_property
    def _lengths(self) -> Matrix:
        """The sizes of the entries of R^-T (d, d)."""
        return np.asarray(np.abs(np.linalg.inv(self.root.T)), np.float64)

    def fit(self, given: Vector) -> Vector:
        """Weighted least squares (d,), with what rounding left of it fitted once more."""
        X, root = self.model.X, np.sqrt(self.weights)
        scaled = root[:, None] * X
        first = np.linalg.lstsq(scaled, root * given, rcond=None)[0]
        rest = np.linalg.lstsq(scaled, root * (given - X @ first), rcond=None)[0]
        return np.asarray(first + rest, np.float64)

    def proved(
        self,
        given: Vector,
        z: Vector,
        alpha: float = 0.0,
        pair: Pair | None = None,
        tol: float = 0.0,
    ) -> float:
        """The bound above for any z (K,) and alpha."""
        size = max(float(np.max(np.abs(z))), alpha)
        if not 0.0 < size < math.inf:
            return 0.0
        z, alpha = z / size, alpha / size  # only their ratios matter
        v = z if pair is None else _moved(z, -alpha, pair)
        heavy = self.weights > 0.0
        if np.any(v[~heavy] != 0.0):
            return 0.0  # an arm that was never measured proves nothing
        f = self.fit(given)
        off = given - self.model.X @ f
        value = float(v @ off) - self.lost(z, alpha, off)
        if pair is not None:
            value += alpha * (tol + float((self.model.X[pair[1]] - self.model.X[pair[0]]) @ f))
        spread = math.sqrt(float(np.sum(v[heavy] ** 2 / self.weights[heavy])))
        spread += self.imbalance(z, alpha)
        return max(value, 0.0) ** 2 / (2.0 * spread**2) if spread > 0.0 else 0.0

    def lost(self, z: Vector, alpha: float, off: Vector) -> float:
        """What the tube and an imbalance take from a bound, around a fit that is `off` (K,)."""
        w, eps = self.weights, self.model.eps
        far = math.sqrt(float(np.sum(w * off**2))) + eps * math.sqrt(float(np.sum(w)))
        return eps * float(np.sum(np.abs(z))) + self.imbalance(z, alpha) * far

    def imbalance(self, z: Vector, alpha: float) -> float:
        """At least h: from X'z as it is computed, and what rounding may have hidden of it."""
        length = float(np.sum(np.abs(z))) + 2.0 * alpha
        rho = np.abs(self.model.X.T @ z) + LAST_DIGIT * (z.size + 4.0) * length
        return float(np.sum(self._lengths @ rho))

    def projection_bound(self, given: Vector, projected: Vector) -> float:
        """What the residual of a projection proves: no model is nearer than that."""
        return self.proved(given, self._balanced(self.weights * (given - projected)))

    def pair_bound(self, given: Vector, witness: Witness, pair: Pair, tol: float) -> float:
        """What the closest alternative's values and alpha prove of a pair's cost."""
        z = self.multipliers(given, witness, pair)
        return self.proved(given, z, witness.alpha, pair, tol)

    def multipliers(self, given: Vector, witness: Witness, pair: Pair) -> Vector:
        """The z (K,) to which a witness leads, moved until X'z = 0 up to rounding."""
        v = self.weights * (given - self.nearest(given, witness, pair))
        return self._balanced(_moved(v, witness.alpha, pair))

    def _balanced(self, z: Vector) -> Vector:
        """The z with X'z = 0 that is nearest to the given one, in sum_k dz_k^2 / w_k."""
        X, root = self.model.X, np.sqrt(self.weights)
        move = np.linalg.lstsq((root[:, None] * X).T, X.T @ z, rcond=None)[0]
        moved: Vector = z - root * move
        return moved


def _moved(v: Vector, alpha: float, pair: Pair) -> Vector:
    """v - alpha (e_j - e_i)."""
    z = v.copy()
    z[pair[0]] += alpha
    z[pair[1]] -= alpha
    return z


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
