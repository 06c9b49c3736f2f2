"""Evidence from its definition: displaced means integrated, nulls searched by a general solver."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from helpers.measured import Data, Floats
from mislid.geometry.alternatives import pair_alternative
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs
from mislid.model import Model
from mislid.stopping.evidence import (
    SPREAD,
    Families,
    Family,
    Pairs,
    by_features,
    by_two_arms,
    diagonal_weights,
    families_of,
)


def log_ratio(weights: Floats, missed: Floats, mean: Floats, Sigma: Floats) -> float:
    """ln of E exp(z'W r - z'W z / 2) over z ~ N(mean, Sigma), r = y - lambda, by dense matrices."""
    W = np.diag(weights)
    precision = np.linalg.inv(Sigma)
    total = W + precision
    slope = W @ missed + precision @ mean
    volume = np.linalg.slogdet(np.eye(len(mean)) + W @ Sigma)[1]
    value = slope @ np.linalg.solve(total, slope) - mean @ precision @ mean - volume
    return 0.5 * float(value)


def two_arm_log(w: tuple[float, float], gap: float, scale: float) -> float:
    """Infimum of ln M over null means of a challenger at 0 and an incumbent at `gap`, by search.

    The null has the challenger at least at the incumbent's level.
    """
    shift, Sigma = np.array([-scale, scale]), (SPREAD * scale) ** 2 * np.eye(2)

    def value(at: Floats) -> float:
        return log_ratio(np.array(w), np.array([0.0, gap]) - at, shift, Sigma)

    sizes = max(abs(gap), scale)
    above = LinearConstraint(np.array([[1.0, -1.0]]), 0.0, np.inf)
    start = np.array([gap / 2, gap / 2])
    found = minimize(
        lambda x: value(sizes * x),
        start / sizes,
        method="SLSQP",
        constraints=[above],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return float(found.fun)


def linear_log(data: Data, scale: float, i: int, j: int) -> float:
    """Infimum of ln M over the models in which i beats j by the tolerance, by search."""
    X, w, y, eps = (
        coordinates(data.model).matrix,
        data.weights,
        data.means,
        data.model.misspecification,
    )
    K, d = X.shape
    V = (X * w[:, None]).T @ X
    middle = np.linalg.inv(V + np.eye(d) / scale**2)
    volume = 0.5 * np.linalg.slogdet(np.eye(d) + scale**2 * V)[1]
    theta = np.linalg.solve(V, X.T @ (w * y))
    to_means = np.hstack([X, np.eye(K)])  # of (theta, deviation)

    def value(at: Floats) -> tuple[float, Floats]:
        slope = X.T @ (w * (y - to_means @ at))
        lifted = middle @ slope
        return 0.5 * float(slope @ lifted), -to_means.T @ (w * (X @ lifted))

    beats = LinearConstraint((to_means[i] - to_means[j])[None], data.tol, np.inf)
    bounds = [(None, None)] * d + [(-eps, eps)] * K
    found = minimize(
        value,
        np.concatenate([theta, np.zeros(K)]),
        jac=True,
        method="SLSQP",
        bounds=bounds,
        constraints=[beats],
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return float(found.fun) - volume


def families(data: Data) -> Families:
    return families_of(
        data.model.K, data.m, math.isfinite(data.model.misspecification), data.delta, data.noise
    )


def settled_by_two_arms(data: Data, pairs: Pairs) -> Floats:
    i, j = pairs.T
    gap = data.means[j] - data.means[i] + data.tol
    return by_two_arms(families(data).two_arms, gap, data.weights[i], data.weights[j])


def settled_by_features(data: Data, pairs: Pairs) -> Floats:
    X = coordinates(data.model).matrix
    eps, tol = data.model.misspecification, data.tol
    return by_features(families(data).linear, X, data.weights, data.means, eps, tol, pairs)


def diagonal_log(data: Data, family: Family, n: int, i: int, j: int) -> float:
    """Evidence of a pair by displacements of all arms, at the n-th scale."""
    q, price = diagonal_weights(data.weights, float(family.scales[n]))
    cost = pair_alternative(data.model, data.means, q, i, j, tolerance=data.tol).cost
    return cost - price + float(family.logs[n])


def settled_by_all_arms(data: Data, pairs: Pairs) -> Floats:
    """The most over scales, of every pair."""
    family = families(data).diagonal
    if math.isinf(data.model.misspecification):
        return np.full(len(pairs), -np.inf)
    scales = range(len(family.scales))
    return np.array(
        [max(diagonal_log(data, family, n, i, j) for n in scales) for i, j in pairs.tolist()]
    )


def pairs_of(model: Model, incumbents: Floats) -> Pairs:
    return all_pairs(model.K, np.sort(np.asarray(incumbents, dtype=np.int64)))
