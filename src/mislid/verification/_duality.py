"""How far given means are from models: from above by a model, from below by weak duality.

Let lambda = X b + eta be any model with lambda_i >= lambda_j + tol, and v (K,), alpha >= 0 any
numbers for which z = v - alpha (e_j - e_i) has X'z = 0. Then z'lambda <= eps |z|_1, hence
v'(mu - lambda) >= v'mu + alpha tol - eps |z|_1, and by Cauchy and Schwarz's inequality

    1/2 sum_k w_k (lambda_k - mu_k)^2  >=  ( v'mu + alpha tol - eps |z|_1 )_+^2 / (2 sum_k v_k^2 / w_k).

It does not matter where v and alpha come from. The best ones follow from the closest lambda: its
values b and alpha are all that a file has to say of a pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid.verification._model import Model
from mislid.verification._reading import Failure, Vector

# What X'z may be off by, relative to |z|_1 + 2 alpha.
BALANCE = 1e-9

Pair = tuple[int, int]


def cost(given: Vector, weights: Vector, means: Vector) -> float:
    """1/2 sum_k w_k (means_k - given_k)^2."""
    return 0.5 * float(np.sum(weights * (means - given) ** 2))


def alone(given: Vector, weights: Vector, pair: Pair, tol: float) -> float:
    """What a pair (challenger, incumbent) costs where its two arms move and no other can tell."""
    i, j = pair
    gap = float(given[j] - given[i]) + tol
    if gap <= 0.0 or weights[i] == 0.0 or weights[j] == 0.0:
        return 0.0
    return gap * gap / (2.0 * float(1.0 / weights[i] + 1.0 / weights[j]))


@dataclass(frozen=True, eq=False)
class Duality:
    """Bounds for one model and one set of weights."""

    model: Model
    weights: Vector

    def nearest(
        self, given: Vector, values: Vector, alpha: float = 0.0, pair: Pair | None = None
    ) -> Vector:
        """Minimises the cost minus alpha (lambda_i - lambda_j) over means around linear values."""
        pushed, linear, eps = given.copy(), self.model.X @ values, self.model.eps
        for arm, push in zip(pair or (), (alpha, -alpha), strict=False):
            if push != 0.0:
                weight = float(self.weights[arm])
                pushed[arm] += push / weight if weight > 0.0 else math.copysign(math.inf, push)
        return np.clip(pushed, linear - eps, linear + eps)

    def balanced(self, v: Vector, alpha: float = 0.0, pair: Pair | None = None) -> Vector:
        """The v nearest to the given one, in sum_k dv_k^2 / w_k, with X'z = 0."""
        X, root = self.model.X, np.sqrt(self.weights)
        target = X.T @ multipliers(v, alpha, pair)
        moved: Vector = v - root * np.linalg.lstsq((root[:, None] * X).T, target, rcond=None)[0]
        return moved

    def proved(
        self,
        given: Vector,
        v: Vector,
        values: Vector,
        alpha: float = 0.0,
        pair: Pair | None = None,
        tol: float = 0.0,
    ) -> float:
        """The bound above; `values` only keep digits, since X'z = 0 lets one subtract X values."""
        size = max(float(np.max(np.abs(v))), abs(alpha))
        if not 0.0 < size < math.inf:
            return 0.0
        v, alpha = v / size, alpha / size
        z = multipliers(v, alpha, pair)
        total = float(np.sum(np.abs(z)))
        if not np.max(np.abs(self.model.X.T @ z)) <= BALANCE * (total + 2.0 * alpha):
            raise Failure("multipliers must be orthogonal to the features")
        linear = self.model.X @ values
        value = float(v @ (given - linear)) - (self.model.eps * total if total > 0.0 else 0.0)
        if pair is not None:
            value += alpha * (tol + float(linear[pair[1]] - linear[pair[0]]))
        heavy = self.weights > 0.0
        if np.any(v[~heavy] != 0.0):
            return 0.0
        spread = float(np.sum(v[heavy] ** 2 / self.weights[heavy]))
        return max(value, 0.0) ** 2 / (2.0 * spread) if spread > 0.0 else 0.0

    def projection_bound(self, given: Vector, projected: Vector, values: Vector) -> float:
        """What the residual of a projection proves: no model is nearer than that."""
        v = self.balanced(self.weights * (given - projected))
        return self.proved(given, v, values)

    def pair_bound(
        self, given: Vector, values: Vector, alpha: float, pair: Pair, tol: float
    ) -> float:
        """What the closest alternative's values (d,) and alpha prove of a pair's cost."""
        if not alpha >= 0.0:
            raise Failure("alpha must be at least 0")
        v = self.weights * (given - self.nearest(given, values, alpha, pair))
        return self.proved(given, self.balanced(v, alpha, pair), values, alpha, pair, tol)


def multipliers(v: Vector, alpha: float = 0.0, pair: Pair | None = None) -> Vector:
    """z = v - alpha (e_j - e_i)."""
    z = v.copy()
    if pair is not None:
        z[pair[0]] += alpha
        z[pair[1]] -= alpha
    return z
