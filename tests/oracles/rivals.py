"""The rival sampling rules in plain NumPy, in the features' own coordinates: slow and short.

Each gives the arm to measure, the index it stops by, and its answer. Of equal values the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Choice(NamedTuple):
    """arm to measure next, own index, the m arms it would answer."""

    arm: int
    index: float
    answer: list[int]


class Data(NamedTuple):
    """What has been measured: features (K, d), noise, counts and sums of rewards (K,)."""

    features: Floats
    noise: Floats
    counts: Floats
    sums: Floats
    m: int


def best(values: Floats, m: int) -> list[int]:
    """The m largest values, ties to the smaller index."""
    return sorted(int(k) for k in np.argsort(-values, kind="stable")[:m])


def lucb(data: Data, beta: float, authors: bool) -> Choice:
    means = data.sums / data.counts
    width = data.noise * np.sqrt(2 * beta / data.counts)
    if authors:
        width = data.noise * beta**2 / (2 * np.sqrt(data.counts))
    inside = best(means, data.m)
    outside = [k for k in range(len(means)) if k not in inside]
    incumbent = inside[int(np.argmin((means - width)[inside]))]
    challenger = outside[int(np.argmax((means + width)[outside]))]
    index = (means + width)[challenger] - (means - width)[incumbent]
    precision = data.counts / data.noise**2
    arm = challenger if precision[challenger] < precision[incumbent] else incumbent
    return Choice(arm, float(index), inside)


def ugape(data: Data, beta: float) -> Choice:
    """All scores B_k = max^m over i != k of U_i, less L_k, by sorting."""
    means = data.sums / data.counts
    width = data.noise * np.sqrt(2 * beta / data.counts)
    upper, lower = means + width, means - width
    K = len(means)
    scores = np.array([np.sort(np.delete(upper, k))[-data.m] - lower[k] for k in range(K)])
    inside = best(-scores, data.m)
    outside = [k for k in range(K) if k not in inside]
    incumbent = inside[int(np.argmin(lower[inside]))]
    challenger = outside[int(np.argmax(upper[outside]))]
    precision = data.counts / data.noise**2
    arm = challenger if precision[challenger] < precision[incumbent] else incumbent
    return Choice(arm, float(scores[inside].max()), inside)


def regression(data: Data) -> tuple[Floats, Floats, Floats]:
    """The matrix V, the estimates (K,), and |phi_i - phi_j|^2 in V^-1 (K, K)."""
    weights = data.counts / data.noise**2
    ridge = np.mean(1 / data.noise**2) * np.eye(data.features.shape[1])
    V = ridge + data.features.T @ (weights[:, None] * data.features)
    theta = np.linalg.solve(V, data.features.T @ (data.sums / data.noise**2))
    differences = data.features[:, None, :] - data.features[None, :, :]
    squares = np.einsum("ija,ab,ijb->ij", differences, np.linalg.inv(V), differences)
    return V, data.features @ theta, np.maximum(squares, 0)


def greedy(data: Data, V: Floats, i: int, j: int) -> int:
    """The arm after whose measurement |phi_i - phi_j| is smallest, by trying all."""
    difference = data.features[i] - data.features[j]
    lengths = [
        difference @ np.linalg.solve(V + np.outer(phi, phi) / sigma**2, difference)
        for phi, sigma in zip(data.features, data.noise, strict=True)
    ]
    return int(np.argmin(lengths))


def lingape(data: Data, beta: float) -> Choice:
    V, means, squares = regression(data)
    index = means[:, None] - means[None, :] + np.sqrt(2 * beta * squares)
    inside = best(means, data.m)
    outside = [k for k in range(len(means)) if k not in inside]
    j = inside[int(np.argmax(index[np.ix_(outside, inside)].max(axis=0)))]
    i = outside[int(np.argmax(index[outside, j]))]
    return Choice(greedy(data, V, i, j), float(index[i, j]), inside)


def lingifa(data: Data, beta: float, *, shorten: bool) -> Choice:
    """`shorten` measures the arm that shortens x_b - x_c most; otherwise the vaguer of b and c."""
    V, means, squares = regression(data)
    index = means[:, None] - means[None, :] + np.sqrt(2 * beta * squares)
    np.fill_diagonal(index, -np.inf)
    scores = np.sort(index, axis=0)[-data.m]
    inside = best(-scores, data.m)
    outside = [k for k in range(len(means)) if k not in inside]
    b = inside[int(np.argmax(scores[inside]))]
    c = outside[int(np.argmax(index[outside, b]))]
    if shorten:
        return Choice(greedy(data, V, b, c), float(scores[b]), inside)
    variances = np.einsum("ka,ka->k", data.features, np.linalg.solve(V, data.features.T).T)
    pair = sorted([b, c])
    return Choice(pair[int(np.argmax(variances[pair]))], float(scores[b]), inside)


def tracking(counts: Floats, allocation: Floats, goal: Floats) -> int:
    """The arm with a positive share that is farthest below its goal."""
    return int(np.argmin(np.where(allocation > 0, counts - goal, np.inf)))
