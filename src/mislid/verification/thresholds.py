"""How much evidence is enough, by each rule. `docs/certificate.md` has the formulas' origin."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mislid.verification.geometry import Model
from mislid.verification.reading import Vector

# The rules, and whether one is proven to err with probability at most delta.
PROVEN = {
    "guaranteed": True,
    "mixture": True,
    "pairwise": True,
    "paper": True,
    "paper-printed": False,
    "heuristic": False,
}
# The mixture's priors, in units of the geometric mean of the noise.
_SCALES = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
_SPREADS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def heuristic(t: int, delta: float) -> float:
    """ln((1 + ln(t + 1)) / delta)."""
    return math.log((1.0 + math.log(t + 1.0)) / delta)


def pairwise(n: Vector, K: int, m: int, delta: float) -> float:
    """The sum of 2 ln(4 + ln n) over two counts n (2,), plus 2 C(ln(m (K - m) / delta) / 2)."""
    allowance = sum(2.0 * math.log(4.0 + math.log(max(count, 1.0))) for count in n.tolist())
    return allowance + 2.0 * _smallest_constant(0.5 * math.log(m * (K - m) / delta))


@lru_cache(maxsize=8)
def _smallest_constant(x: float) -> float:
    """C(x) = min over 1/2 < l < 1 of (g(l) + x) / l; every l gives a valid threshold."""

    def constant(share: float) -> float:
        g = 2.0 * share - 2.0 * share * math.log(4.0 * share)
        g += math.log(_zeta(2.0 * share)) - 0.5 * math.log(1.0 - share)
        return (g + x) / share

    low, high = 0.5 + 1e-9, 1.0 - 1e-12
    for _ in range(200):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        if constant(left) < constant(right):
            high = right
        else:
            low = left
    return constant(0.5 * (low + high))


def _zeta(s: float) -> float:
    """Riemann's zeta for s > 1, by Euler and Maclaurin's formula from n = 20 on."""
    n = 20.0
    first = math.fsum(math.pow(k, -s) for k in range(1, 20))
    total = first + math.pow(n, 1.0 - s) / (s - 1.0) + 0.5 * math.pow(n, -s)
    rising, power = s, math.pow(n, -s - 1.0)
    for index, fraction in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)):
        total += fraction * rising * power
        rising *= (s + 2 * index + 1) * (s + 2 * index + 2)
        power /= n * n
    return total


def paper(t: int, model: Model, weights: Vector, noise: Vector, delta: float) -> float:
    """min(beta_uns, beta_lin); the latter at delta/2, where V >= 2 L^2 I."""
    free = _unstructured(t, noise.size, delta)
    linear = _linear_part(t, model.X.shape[1], 0.5 * delta)
    if model.eps > 0.0:
        linear += 2.0 * model.eps * model.eps * float(np.sum(weights))
    return linear if linear < free and _is_explored(model, weights, noise) else free


def paper_printed(t: int, model: Model, weights: Vector, delta: float) -> float:
    """min(beta_uns, beta_lin) as the paper prints them."""
    root = math.sqrt(2.0 * _linear_part(t, model.X.shape[1], delta))
    if model.eps > 0.0:
        root += 4.0 * model.eps * math.sqrt(float(np.sum(weights)))
    return min(_unstructured(t, weights.size, delta), 0.5 * root * root)


def _unstructured(t: int, K: int, delta: float) -> float:
    """2K Wbar(ln(2e/delta) / (2K) + ln(8 e K ln t) / 2), Wbar(x) the w >= 1 with w - ln w = x."""
    if t <= 1:
        return math.inf
    x = math.log(2.0 * math.e / delta) / (2.0 * K)
    x += 0.5 * math.log(8.0 * math.e * K * math.log(t))
    low, high = 1.0, 2.0 * max(x, 1.0) + 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle - math.log(middle) < x:
            low = middle
        else:
            high = middle
    return 2.0 * K * high


def _linear_part(t: int, d: int, delta: float) -> float:
    level = math.log(1.0 / delta)
    return 1.0 + level + (1.0 + 1.0 / level) * 0.5 * d * math.log(1.0 + t * level / (2.0 * d))


def _is_explored(model: Model, weights: Vector, noise: Vector) -> bool:
    """Whether V = sum_k w_k x_k x_k' exceeds 2 L^2 I, L = max_k |x_k| / noise_k."""
    X = model.X
    largest = float(np.max(np.sum(X**2, axis=1) / noise**2))
    smallest = float(np.linalg.eigvalsh(X.T @ (weights[:, None] * X))[0])
    return smallest > 2.0 * largest


def mixture(model: Model, weights: Vector, means: Vector, noise: Vector, delta: float) -> float:
    """ln(1/delta) - ln average_c exp(-1/2 ln det(I + D S_c) - 1/2 x' (D^-1 + S_c)^-1 x).

    D = diag(weights) and x the means, of the arms that were measured; priors N(0, S_c) with
    S_c = s^2 X X' + e^2/3 I for scales s and spreads e.
    """
    unit = math.exp(float(np.mean(np.log(noise))))
    spreads = [unit * e for e in _SPREADS if unit * e < model.eps]
    if model.eps <= unit * _SPREADS[-1]:
        spreads.append(model.eps)
    seen = weights > 0.0
    X, w, x = model.X[seen], weights[seen], means[seen]
    logs = [
        -0.5 * (volume + misfit)
        for e in spreads
        for volume, misfit in _gaussians(X, w, x, e * e / 3.0, [unit * s for s in _SCALES])
    ]
    largest = max(logs)
    average = sum(math.exp(value - largest) for value in logs) / len(logs)
    return math.log(1.0 / delta) - largest - math.log(average)


def _gaussians(
    X: Vector, w: Vector, x: Vector, variance: float, scales: list[float]
) -> list[tuple[float, float]]:
    """ln det(I + D S) and x' (D^-1 + S)^-1 x for S = s^2 X X' + variance I and every scale s.

    With H = (D^-1 + variance I)^-1 and the singular values of H^1/2 X, both are sums over the
    latter, besides what H alone gives.
    """
    root = np.sqrt(w / (1.0 + w * variance))
    left, singular, _ = np.linalg.svd(root[:, None] * X, full_matrices=False)
    y = root * x
    along = left.T @ y
    beyond = float(np.sum((y - left @ along) ** 2))
    shared = float(np.sum(np.log1p(w * variance)))
    stretches = [(s * singular) ** 2 for s in scales]
    return [
        (shared + float(np.sum(np.log1p(a))), beyond + float(np.sum(along**2 / (1.0 + a))))
        for a in stretches
    ]
