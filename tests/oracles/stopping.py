"""What stopping rules compare, from the public geometry and dense matrices: slow and short."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from helpers.measured import Data, Floats, setting_of
from mislid._kernels.mixture import Mixture, new_mixture
from mislid._kernels.proof import PRACTICE
from mislid.geometry.alternatives import closest_alternative, pair_alternative
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs, top_arms
from mislid.geometry.projection import project
from mislid.rules.thresholds import pairwise_threshold

Pairs = NDArray[np.int64]


def dense_price(X: Floats, weights: Floats, means: Floats, prior: Mixture) -> float:
    """The mixture's price with K by K matrices, over the arms that were measured."""
    seen = weights > 0
    X, w, x = X[seen], weights[seen], means[seen]
    logs = []
    for s, v in zip(prior.scales, prior.variances, strict=True):
        Sigma = s**2 * X @ X.T + v * np.eye(len(x))
        determinant = np.linalg.slogdet(np.eye(len(x)) + w[:, None] * Sigma)[1]
        logs.append(-0.5 * determinant - 0.5 * x @ np.linalg.solve(np.diag(1 / w) + Sigma, x))
    return float(math.log(len(logs)) - logsumexp(logs))


def mixture_threshold(data: Data, delta: float) -> float:
    setting = setting_of(data)
    price = dense_price(setting.X, data.weights, data.means, new_mixture(setting))
    return math.log(1 / delta) + price


def estimated(data: Data) -> tuple[Floats, NDArray[np.int64]]:
    """The projected means, and the m best of them."""
    means = project(data.model, data.means, data.weights).means
    return means, top_arms(means, data.m)


def closest_cost(data: Data, means: Floats) -> float:
    """The least cost, from these means, of a model with another answer than the estimate's."""
    return closest_alternative(
        data.model,
        means,
        data.weights,
        data.m,
        tolerance=data.tol,
        incumbents=estimated(data)[1],
    ).cost


def explored(data: Data) -> bool:
    """Whether V >= 2 L^2 I, which the linear threshold needs."""
    X = coordinates(data.model).matrix / data.noise[:, None]
    V = (X * data.counts[:, None]).T @ X
    return bool(np.linalg.eigvalsh(V)[0] > 2 * np.max(np.sum(X**2, axis=1)))


def pairs_of(data: Data) -> Pairs:
    """All pairs of a challenger and an incumbent of the estimate."""
    return all_pairs(data.model.K, estimated(data)[1])


def pair_ratios(data: Data, delta: float) -> tuple[Floats, Floats]:
    """Every pair's statistic and threshold from its own two arms."""
    pairs = pairs_of(data)
    i, j = pairs.T
    gap = np.maximum(data.means[j] - data.means[i] + data.tol, 0.0)
    total = data.weights[i] + data.weights[j]
    costs = 0.5 * gap**2 * data.weights[i] * data.weights[j] / total
    levels = [
        pairwise_threshold(data.counts[a], data.counts[b], data.model.K, data.m, delta)
        for a, b in pairs
    ]
    return costs, np.array(levels)


def proofs(data: Data) -> tuple[NDArray[np.bool_], Floats, Floats, float]:
    """Of every pair: settled by its own arms or not, its own threshold, its cost; the mixture's."""
    costs, levels = pair_ratios(data, data.delta / 2)
    structured = [
        pair_alternative(data.model, data.means, data.weights, i, j, tolerance=data.tol).cost
        for i, j in pairs_of(data).tolist()
    ]
    threshold = mixture_threshold(data, data.delta / 2)
    return costs >= levels, levels, np.array(structured), threshold


def left_by_pairs(data: Data) -> float:
    """Measurements until each arm has what its gap to the other side asks for."""
    means, incumbents = estimated(data)
    inside = np.isin(np.arange(data.model.K), incumbents)
    gaps = np.where(inside, means - means[~inside].max(), means[inside].min() - means) + data.tol
    levels = [pairwise_threshold(n, n, data.model.K, data.m, data.delta / 2) for n in data.counts]
    needed = data.noise**2 * 4 * np.array(levels) / gaps**2
    return PRACTICE * float(np.sum(np.maximum(needed - data.counts, 0.0)))
