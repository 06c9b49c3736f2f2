"""What all pairs cost at least, in closed form and without solving any of them.

A pair's multipliers z_lin = (D A V^-1 A' - I) u, u = e_j - e_i, V = A'DA, are optimal where the
model is linear; z = 0 is where it has no structure. Between them, s z_lin is scaled as proves most.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector
from mislid.geometry.duality import (
    LARGEST_SLACK,
    SLACK,
    Pairs,
    linear_fit,
    projected,
    unstructured_bounds,
)
from mislid.model import Model

Arms = NDArray[np.int64]

# Multipliers of so many arms, the heaviest, are added up one by one. An inequality of Cauchy and
# Schwarz bounds those of all others, which loses a fifth of their sum where all are alike.
HEAVY = 128
# Closed forms are trusted to this: pairs that cost hardly more than the cheapest one, on which
# the answer rests, should be proved by multipliers that anyone can look at.
TRUST = 0.99
# Numbers that are held at a time, whatever the number of pairs and arms.
MOST_NUMBERS = 1 << 16


def closed_form_bounds(
    model: Model, means: Vector, weights: Vector, pairs: Pairs, tolerance: float, floor: Vector
) -> Vector:
    """A lower bound (n,) on the cost of each pair, which nobody has to keep a proof for.

    `floor` (K,) are multipliers of the projection: what they prove of all models a pair's own bound
    adds to. Zeros where the means (K,) are a model.
    """
    bounds = unstructured_bounds(means, weights, pairs, tolerance)
    if math.isinf(model.misspecification):
        return bounds
    least, nearest = projected(model, means, weights, floor if np.any(floor) else None)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        linear = _LinearBounds(model, nearest, weights, tolerance)
        step = max(1, MOST_NUMBERS // max(HEAVY, model.d))
        for start in range(0, len(pairs), step):
            some = slice(start, start + step)
            bounds[some] = np.maximum(bounds[some], least + TRUST * linear.of(pairs[some]))
    return bounds


class _LinearBounds:
    """What multipliers s z_lin prove at given means and weights, for the best s in [0, 1].

    With the weighted features' triangular factor R and C = A R^-1, a pair's z_lin is
    D C c - u for c = C_j - C_i, and what it weighs is |c|^2.
    """

    def __init__(self, model: Model, means: Vector, weights: Vector, tolerance: float) -> None:
        self._features = model.features / np.max(np.abs(model.features), axis=0)
        self._misspecification, self._tolerance = model.misspecification, tolerance
        self._linear = model.features @ linear_fit(model, means)
        self._rest = means - self._linear
        self._level = float(np.max(np.abs(means))) + tolerance
        self._weights = weights
        self._C = _in_units_of_weight(self._features, weights)
        self._moments = self._C.T @ (weights * self._rest)
        self._back = self._features.T @ (weights[:, None] * self._C)
        self._is_heavy = np.zeros(model.K, dtype=bool)
        self._is_heavy[np.argsort(-weights, kind="stable")[:HEAVY]] = True
        self._pull = (weights[:, None] * self._C)[self._is_heavy]
        light, little = self._C[~self._is_heavy], weights[~self._is_heavy]
        self._light_metric = np.sum(little) * (light.T * little) @ light

    def of(self, pairs: Pairs) -> Vector:
        """The bound (n,) of each pair; 0 where rounding leaves nothing feasible."""
        i, j = pairs.T
        c = self._C[j] - self._C[i]
        gap = self._rest[j] - self._rest[i]
        value = c @ self._moments - gap - self._misspecification * self._sizes(c, i, j)
        gap = gap + (self._linear[j] - self._linear[i]) + self._tolerance
        # What may be rounding of the means proves nothing.
        value -= LARGEST_SLACK * self._level
        alone = 1.0 / self._weights[i] + 1.0 / self._weights[j]
        bounds = _scaled_bounds(gap, value, alone, np.sum(c * c, axis=1))
        residual = np.abs(c @ self._back.T - (self._features[j] - self._features[i]))
        feasible = np.max(residual, axis=1) <= 0.1 * SLACK
        return np.where(feasible & (bounds > 0.0), bounds, 0.0)

    def _sizes(self, c: Matrix, i: Arms, j: Arms) -> Vector:
        """An upper bound (n,) on |z_lin|_1; exact but for the light arms."""
        if self._misspecification == 0.0:
            return np.zeros(len(c))
        sizes = np.sum(np.abs(c @ self._pull.T), axis=1)
        sizes += np.sqrt(np.maximum(np.sum((c @ self._light_metric) * c, axis=1), 0.0))
        for arm, sign in ((i, 1.0), (j, -1.0)):
            pulled = self._weights[arm] * np.sum(self._C[arm] * c, axis=1)
            sizes += np.abs(pulled + sign) - np.where(self._is_heavy[arm], np.abs(pulled), 0.0)
        return sizes


def _in_units_of_weight(features: Matrix, weights: Vector) -> Matrix:
    """A R^-1 (K, d) for the triangular factor R of D^1/2 A; zeros where it is singular."""
    from scipy.linalg import solve_triangular

    factor = np.linalg.qr(np.sqrt(weights)[:, None] * features, mode="r")
    if not np.all(np.abs(np.diag(factor)) > 0.0):
        return np.zeros_like(features)
    solved: Matrix = solve_triangular(factor, features.T, trans="T").T
    return solved


def _scaled_bounds(gap: Vector, value: Vector, alone: Vector, together: Vector) -> Vector:
    """max over s in [0, 1] of (gap + s value)_+^2 / (2 (q1 + (1 - s)^2 (q0 - q1))).

    q0 = `alone` is the spread of the pair's arms, infinite where one of them has no weight, and
    q1 = `together` that of v = e_j - e_i + z_lin, to which z_lin is orthogonal.
    """
    gain = alone - together
    rest = np.clip(-value * together / (gain * (gap + value)), 0.0, 1.0)
    rest = np.where(gain <= 0.0, 0.0, rest)
    rest = np.where(value * alone + gap * gain <= 0.0, 1.0, rest)
    rest = np.where(np.isinf(alone), 0.0, rest)
    spread = together + np.where(rest > 0.0, rest**2 * gain, 0.0)
    reached = np.maximum(gap + (1.0 - rest) * value, 0.0)
    bounds: Vector = np.where(reached > 0.0, reached**2 / (2.0 * spread), 0.0)
    return bounds
