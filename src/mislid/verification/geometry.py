"""How far given means are from possible ones, at least: weak duality, with rounding bounded.

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

from mislid.verification import intervals as iv
from mislid.verification.intervals import Interval, exactly
from mislid.verification.model import Model, exact_product
from mislid.verification.reading import Matrix, Vector

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
