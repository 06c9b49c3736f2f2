"""How much evidence is enough, by each rule.

`docs/certificate-version-1.md` has the formulas' origin. All are between bounds; the upper one has
to be reached.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.geometry import Directions, Frame
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.model import Model
from mislid.verification.reading import Failure, Vector

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


def heuristic(t: int, delta: float) -> Interval:
    """ln((1 + ln(t + 1)) / delta)."""
    return iv.log((iv.log(exactly(t) + 1.0) + 1.0) / delta)


def pairwise(n: Vector, K: int, m: int, delta: float) -> Interval:
    """The sum of 2 ln(4 + ln n) over two counts n (2,), plus 2 C(ln(m (K - m) / delta) / 2)."""
    allowance = (iv.log(iv.log(np.maximum(n, 1.0)) + 4.0) * 2.0).sum()
    return allowance + _smallest_constant(m * (K - m), delta) * 2.0


@lru_cache(maxsize=8)
def _smallest_constant(pairs: int, delta: float) -> Interval:
    """C(x) = min over 1/2 < l < 1 of (g(l) + x) / l; every l gives a valid threshold."""
    x = iv.log(exactly(pairs) / delta) * 0.5

    def constant(share: float) -> Interval:
        g = exactly(share) * 2.0 - iv.log(exactly(4.0) * share) * share * 2.0
        g = g + iv.log(_zeta(exactly(2.0) * share)) - iv.log(exactly(1.0) - share) * 0.5
        return (g + x) / share

    low, high = 0.5 + 1e-9, 1.0 - 1e-12
    for _ in range(45):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        if constant(left).high < constant(right).high:
            high = right
        else:
            low = left
    return constant(0.5 * (low + high))


def _zeta(s: Interval) -> Interval:
    """Riemann's zeta for s > 1, by Euler and Maclaurin's formula from n = 20 on.

    What is left out is smaller than the first term of it.
    """

    def power(base: Vector | float, exponent: Interval) -> Interval:
        return iv.exp(iv.log(base) * exponent)

    n = 20.0
    first = power(np.arange(1.0, n), -s).sum()
    total = first + power(n, exactly(1.0) - s) / (s - 1.0) + power(n, -s) * 0.5
    rising, last = s, power(n, -s - 1.0)
    fractions = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)
    for index, fraction in enumerate(fractions):
        term = rising * last * around(fraction)
        if index == len(fractions) - 1:
            return total + Interval(-term.size, term.size)
        total = total + term
        rising = rising * (s + (2.0 * index + 1.0)) * (s + (2.0 * index + 2.0))
        last = last / (n * n)
    raise AssertionError


def paper(t: int, model: Model, weights: Interval, noise: Vector, delta: float) -> Interval:
    """min(beta_uns, beta_lin); the latter at delta/2, where V >= 2 L^2 I."""
    free = _unstructured(t, noise.size, delta)
    linear = _linear_part(t, model.spanner.size, 0.5 * delta)
    if model.eps > 0.0:
        linear = linear + weights.sum() * exactly(model.eps).square * 2.0
    return linear if linear.high < free.high and _is_explored(model, weights, noise) else free


def paper_printed(t: int, model: Model, weights: Interval, delta: float) -> Interval:
    """min(beta_uns, beta_lin) as the paper prints them."""
    root = iv.sqrt(_linear_part(t, model.spanner.size, delta) * 2.0)
    if model.eps > 0.0:
        root = root + iv.sqrt(weights.sum()) * model.eps * 4.0
    free, linear = _unstructured(t, weights.low.size, delta), root.square * 0.5
    return linear if linear.high < free.high else free


def _unstructured(t: int, K: int, delta: float) -> Interval:
    """2K Wbar(ln(2e/delta) / (2K) + ln(8 e K ln t) / 2), Wbar(x) the w >= 1 with w - ln w = x."""
    if t <= 1:
        return exactly(math.inf)
    e = iv.exp(1.0)
    x = iv.log(e * 2.0 / delta) / (2.0 * K) + iv.log(e * iv.log(float(t)) * (8.0 * K)) * 0.5
    low, high = 1.0, 2.0 * max(float(x.high), 1.0) + 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if (exactly(middle) - iv.log(middle)).low < x.high:
            low = middle
        else:
            high = middle
    return exactly(2.0 * K) * high  # at least


def _linear_part(t: int, d: int, delta: float) -> Interval:
    level = -iv.log(delta)
    volume = iv.log1p(level * float(t) / (2.0 * d)) * (0.5 * d)
    return level + 1.0 + (exactly(1.0) / level + 1.0) * volume


def _is_explored(model: Model, weights: Interval, noise: Vector) -> bool:
    """Whether V = sum_k w_k x_k x_k' exceeds 2 L^2 I, L = max_k |x_k| / noise_k, for certain."""
    try:
        frame = Frame(model.X, weights)
    except np.linalg.LinAlgError:
        return False
    largest = model.X.square.sum(axis=1) / exactly(noise).square
    return frame.least > 2.0 * float(np.max(largest.high))


def mixture(
    model: Model, weights: Interval, means: Interval, noise: Vector, delta: float
) -> Interval:
    """ln(1/delta) - ln average_c exp(-1/2 ln det(I + D S_c) - 1/2 x' (D^-1 + S_c)^-1 x).

    D = diag(weights) and x the means, of the arms that were measured; priors N(0, S_c) with
    S_c = s^2 X X' + e^2/3 I for scales s and spreads e. Which these are is up to the settings, so
    that rounding does not matter.
    """
    unit = math.exp(float(np.mean(np.log(noise))))
    spreads = [unit * e for e in _SPREADS if unit * e < model.eps]
    if model.eps <= unit * _SPREADS[-1]:
        spreads.append(model.eps)
    if not spreads:
        raise Failure("settings.misspecification must be such that the mixture has a part")
    seen = weights.low > 0.0
    X, w, x = model.X[seen], weights[seen], means[seen]
    scales = [unit * s for s in _SCALES]
    logs = iv.joined([_gaussians(X, w, x, exactly(e).square / 3.0, scales) for e in spreads])
    return -iv.log(delta) - iv.log_sum(logs) + iv.log(float(logs.low.size))


def _gaussians(
    X: Interval, w: Interval, x: Interval, variance: Interval, scales: list[float]
) -> Interval:
    """-1/2 ( ln det(I + D S) + x' (D^-1 + S)^-1 x ), S = s^2 X X' + variance I, for every scale s.

    With H = (D^-1 + variance I)^-1, the determinant is that of I + D variance times that of
    I + s^2 X'HX, and the square the least over b of (x - X b)'H(x - X b) + |b|^2 / s^2: any b gives
    a bound.
    """
    shared = iv.log1p(w * variance).sum()
    H = w / (w * variance + 1.0)
    squares = exactly(scales).square
    volumes = Directions(X, H).volume(squares) + shared
    root = np.sqrt(H.middle)
    least = []
    for s in scales:
        rows = np.vstack([root[:, None] * X.middle, np.eye(X.low.shape[1]) / s])
        right = np.concatenate([root * x.middle, np.zeros(X.low.shape[1])])
        b = np.asarray(np.linalg.lstsq(rows, right, rcond=None)[0], np.float64)
        rest = x - iv.product(X, b)
        size = exactly(b).square.sum() / exactly(s).square
        least.append((H * rest.square).sum() + size)
    misfits = iv.joined([one[None] for one in least])
    return (volumes + misfits) * -0.5
