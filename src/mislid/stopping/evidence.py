"""Evidence centred at the null, which the rule `guaranteed` compares with ln(1/delta).

For means lambda let M(lambda) be an average of likelihood ratios of displaced means lambda + z
against lambda itself, over displacements z with weights that are fixed beforehand. If the means are
lambda, M starts at 1 and is a supermartingale, whatever rule chooses the arms: it ever reaches
1/delta with probability at most delta (Ville). An answer is given once M(lambda) has reached
1/delta, at some time, for every lambda of the tube with another answer; pair by pair, for every
lambda at which a challenger beats an incumbent by the tolerance. The proof is in
docs/certificate-proof.md.

Three families of displacements, each in closed form or by one convex program a pair:

two arms
    The incumbent up and the challenger down, by N(s, (0.45 s)^2) each; the m (K - m) pairs of
    lambda's own answer share the weight. Features are not used.
linear
    X b with b ~ N(0, s^2 I), X the features in coordinates of a spanner.
diagonal
    N(0, s^2) for every arm.

Scales s are in units of the geometric mean of the noise. An infimum of a sum is at least the sum of
the infima, so the scales of a family add up, pair by pair.

Each family has two implementations: compiled for one pair, for the rule in every round, and in
NumPy for many pairs, for certificates and reports.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._jit import Matrix, Struct, Vector, inner, inner_loop

if TYPE_CHECKING:
    from mislid.stopping.equal import Spread

Pairs = NDArray[np.int64]
Arms = NDArray[np.int64]

# Shares of the families in M. Without features, two arms have all of it.
TWO_ARMS_SHARE, LINEAR_SHARE, DIAGONAL_SHARE = 0.78, 0.19, 0.03
# Scales, in units of the noise.
TWO_ARMS_SCALES = tuple(2.0**power for power in range(-9, 3))
LINEAR_SCALES = tuple(0.004 * 2.5**power for power in range(8))
DIAGONAL_SCALES = tuple(0.015 * 3.0**power for power in range(6))
# A scale's weight falls by a factor e for every factor exp(TAIL) away from a centre. The centre of
# two arms is smaller, because that family completes the proof where gaps are small.
TWO_ARMS_CENTRE, CENTRE, TAIL = 0.035, 0.15, 2.0
# The measured arms count as not spanning if the least information is below this share of the
# largest.
SINGULAR = 1e-11
REFINEMENTS = 5
# Largest number of forms times arms at a time.
AT_ONCE = 4_000_000
# Standard deviation of the displacements of two arms around their scale, in multiples of it.
SPREAD = 0.45


class Family(Struct):
    """Displacements of one kind: their scales and the logarithms of their weights in M."""

    scales: Vector  # (n,) in the unit of the means
    logs: Vector  # (n,) for two arms, those of one pair

    @property
    def total(self) -> float:
        """The logarithm of the sum of the weights."""
        return float(np.logaddexp.reduce(self.logs))


class Families(Struct):
    """All displacements in M."""

    level: float  # ln(1/delta), the threshold of ln M
    two_arms: Family
    linear: Family
    diagonal: Family


def families_of(K: int, m: int, structured: bool, delta: float, noise: Vector) -> Families:
    """The displacements in M for a question.

    Parameters
    ----------
    K, m
        Numbers of arms and of best ones.
    structured
        Whether the features have a share in M. With it M is the same for all misspecifications,
        infinity included. It may be False where no finite one was declared.
    delta
        Error rate.
    noise
        Standard deviations (K,).

    Returns
    -------
    Families
        With weights that add up to 1 over scales and pairs.

    Examples
    --------
    >>> families = families_of(5, 2, True, 0.05, np.ones(5))
    >>> logs = families.two_arms.logs
    >>> round(6 * float(np.exp(logs).sum()), 3), round(families.level, 3)
    (0.78, 2.996)
    """
    unit = math.exp(float(np.mean(np.log(noise))))
    shares = TWO_ARMS_SHARE, LINEAR_SHARE, DIAGONAL_SHARE
    if not structured:
        shares = 1.0, 0.0, 0.0
    return Families(
        level=-math.log(delta),
        two_arms=_family(TWO_ARMS_SCALES, TWO_ARMS_CENTRE, unit, shares[0] / (m * (K - m))),
        linear=_family(LINEAR_SCALES, CENTRE, unit, shares[1]),
        diagonal=_family(DIAGONAL_SCALES, CENTRE, unit, shares[2]),
    )


def _family(sizes: tuple[float, ...], centre: float, unit: float, share: float) -> Family:
    scales = np.array(sizes)
    return Family(scales=unit * scales, logs=fading_logs(scales, centre, TAIL, share))


def fading_logs(sizes: Vector, centre: float, tail: float, share: float = 1.0) -> Vector:
    """Logarithms (n,) of weights that add up to a share.

    They fall by a factor e for every factor exp(tail) of a size (n,) away from the centre.
    """
    weights = np.exp(-np.abs(np.log(sizes / centre)) / tail)
    with np.errstate(divide="ignore"):
        logs: Vector = np.log(share * weights / weights.sum())
    return logs


@inner
def add_log(value: float, total: float) -> float:
    """ln(exp(value) + exp(total))."""
    if value == -np.inf or total == np.inf:
        return total
    high, low = max(value, total), min(value, total)
    return high + math.log1p(math.exp(low - high))


@inner
def two_arm_evidence(family: Family, gap: float, wi: float, wj: float) -> float:
    """Evidence of a pair by displacements of its two arms; `gap` includes the tolerance.

    As `by_two_arms`, for one pair.
    """
    total = -np.inf
    if wi == 0.0 or wj == 0.0:
        return total
    vi, vj = 1.0 / wi, 1.0 / wj
    variance, square = vi + vj, vi * vi + vj * vj
    for n in range(family.scales.shape[0]):
        scale = family.scales[n]
        precision = 1.0 / (SPREAD * scale * SPREAD * scale)
        beyond = max(gap + scale * precision * variance, 0.0)
        term = beyond * beyond / (2.0 * (variance + square * precision))
        term -= scale * scale * precision
        term -= 0.5 * math.log((1.0 + wi / precision) * (1.0 + wj / precision))
        total = add_log(term + family.logs[n], total)
    return total


@inner_loop
def linear_evidence(
    family: Family, half_volumes: Vector, beyond: float, width: float, curvature: float
) -> float:
    """Evidence of a pair by displacements along the features.

    `beyond` is the gap of the linear fit less the largest bias of the tube, `width` g' V^-1 g and
    `curvature` g' V^-2 g for the pair's difference g of features.
    """
    total = -np.inf
    for n in range(family.scales.shape[0]):
        scale, term = family.scales[n], 0.0
        if beyond > 0.0:  # infinite for two arms with one feature: no model reverses them
            term = beyond * beyond / (2.0 * (width + curvature / (scale * scale)))
        total = add_log(term - half_volumes[n] + family.logs[n], total)
    return total


def by_two_arms(
    family: Family,
    gap: Vector,
    challenger: Vector,
    incumbent: Vector,
    spread: Spread | None = None,
) -> Vector:
    """Evidence of pairs by their own two arms.

    For displacements N((s, -s), t^2 I) of incumbent j and challenger i:

    ln = (gap + (s / t^2) v)_+^2 / (2 (v + u / t^2)) - s^2 / t^2
         - 1/2 ln((1 + w_i t^2)(1 + w_j t^2)),  v = 1/w_i + 1/w_j,  u = 1/w_i^2 + 1/w_j^2.

    Parameters
    ----------
    family
        Scales and weights of one pair.
    gap
        Empirical mean of the incumbent less the challenger's, plus the tolerance (n,).
    challenger, incumbent
        Their weights, counts over squared noise (n,).
    spread
        The scatter, with one unknown noise for all arms; weights and scales are then those of a
        noise of 1.

    Returns
    -------
    ndarray
        Logarithms of the infimum of M (n,); minus infinity where an arm was never measured.

    Examples
    --------
    >>> family = families_of(5, 2, True, 0.05, np.ones(5)).two_arms
    >>> by_two_arms(family, np.array([1.0, 1.0]), np.array([10, 50]), np.array([10, 50])).round(2)
    array([-1.26,  6.7 ])
    """
    measured = (challenger > 0.0) & (incumbent > 0.0)
    wi, wj = (np.where(measured, w, 1.0)[:, None] for w in (challenger, incumbent))
    s, t2 = family.scales, (SPREAD * family.scales) ** 2
    v, u = 1.0 / wi + 1.0 / wj, 1.0 / wi**2 + 1.0 / wj**2
    prices = s**2 / t2 + 0.5 * (np.log1p(wi * t2) + np.log1p(wj * t2))
    starts, rates = s / t2 * v, 1.0 / (2.0 * (v + u / t2))
    if spread is None:
        beyond = np.maximum(np.asarray(gap)[:, None] + starts, 0.0)
        found: Vector = np.logaddexp.reduce(beyond**2 * rates - prices + family.logs, axis=1)
    else:
        K = len(spread.counts)
        found = spread.least(s, K, family.logs - prices, rates, np.asarray(gap), starts)
    return np.where(measured, found, -np.inf)


def is_spanned(V: Matrix) -> bool:
    """Whether measured arms with information V (d, d) span, up to rounding.

    Examples
    --------
    >>> is_spanned(np.diag([1.0, 1e-6])), is_spanned(np.diag([1.0, 1e-16]))
    (True, False)
    """
    values = np.linalg.eigvalsh(V)
    return bool(values[0] > SINGULAR * values[-1])


def least_squares(X: Matrix, weights: Vector, means: Vector, V: Matrix) -> Vector:
    """V^-1 X' W y, refined so that a large level of means and uneven weights lose no digits.

    Parameters
    ----------
    X
        Features (K, d).
    weights, means
        (K,) each.
    V
        X' W X (d, d).

    Returns
    -------
    ndarray
        (d,).

    Examples
    --------
    >>> X, weights = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 1e10])
    >>> V = (X * weights[:, None]).T @ X
    >>> least_squares(X, weights, 1e8 + np.array([2.0, 3.0]), V).round(6).tolist()
    [100000002.0, 1.0]
    """
    theta = np.zeros(X.shape[1])
    for _ in range(REFINEMENTS):
        theta = theta + np.linalg.solve(V, X.T @ (weights * (means - X @ theta)))
    return theta


class LinearForms(NamedTuple):
    """Means of arms, or differences of two, in the linear model.

    Attributes
    ----------
    values
        Estimates by least squares (n,).
    biases
        Their largest bias in a tube of radius 1 (n,).
    variances
        x'V^-1 x + x'V^-2 x / s^2 for the features x of a form, at every scale (n, S).
    logs
        Logarithms of the scales' weights, less their volumes (S,).
    scales
        The scales (S,), and the number of features.
    spread
        As of `by_two_arms`.
    """

    values: Vector
    biases: Vector
    variances: Matrix
    logs: Vector
    scales: tuple[Vector, int]
    spread: Spread | None = None

    def evidence(self, beyond: Vector) -> Vector:
        """Evidence (n,) against values at these distances (n,) beyond the bias."""
        if self.spread is not None:
            # Two arms with the same features: no model reverses them, or any may.
            level = self.variances[:, -1] == 0.0
            rates = 1.0 / (2.0 * np.where(level[:, None], 1.0, self.variances))
            least = self.spread.least(*self.scales, self.logs[None, :], rates, beyond)
            return np.where(level, np.where(beyond > 0.0, np.inf, -np.inf), least)
        with np.errstate(divide="ignore", invalid="ignore"):
            costs = np.maximum(beyond, 0.0)[:, None] ** 2 / (2.0 * self.variances)
        # Two arms with the same features differ by their deviations alone.
        costs[np.isnan(costs)] = 0.0
        found: Vector = np.logaddexp.reduce(self.logs + costs, axis=1)
        return found


def linear_forms(
    X: Matrix,
    weights: Vector,
    means: Vector,
    family: Family,
    arms: Arms,
    less: Arms | None = None,
    spread: Spread | None = None,
) -> LinearForms | None:
    """The forms mean[arms], or mean[arms] - mean[less].

    Parameters
    ----------
    X
        Features in coordinates of a spanner (K, d).
    weights, means
        Counts over squared noise, and empirical means (K,).
    family
        Displacements along the features.
    arms, less
        Indices (n,).
    spread
        As of `by_two_arms`.

    Returns
    -------
    LinearForms or None
        None where the measured arms do not span.
    """
    K, d = X.shape
    V = (X * weights[:, None]).T @ X
    if not is_spanned(V):
        return None
    g = X[arms] if less is None else X[arms] - X[less]
    along: Matrix = np.linalg.solve(V, g.T).T.astype(np.float64)
    weighed = (X * weights[:, None]).T
    biases = np.empty(len(arms))
    size = max(1, AT_ONCE // K)
    for first in range(0, len(arms), size):
        part = slice(first, first + size)
        rest = -along[part] @ weighed
        rows = np.arange(len(rest))
        rest[rows, arms[part]] += 1.0
        if less is not None:
            rest[rows, less[part]] -= 1.0
        biases[part] = np.abs(rest).sum(axis=1)
    squares = family.scales**2
    width, bend = np.einsum("na,na->n", g, along), np.einsum("na,na->n", along, along)
    volumes = [0.5 * np.linalg.slogdet(np.eye(d) + square * V)[1] for square in squares]
    return LinearForms(
        values=g @ least_squares(X, weights, means, V),
        biases=biases,
        variances=width[:, None] + bend[:, None] / squares,
        logs=family.logs - np.array(volumes),
        scales=(family.scales, d),
        spread=spread,
    )


def by_features(
    family: Family,
    X: Matrix,
    weights: Vector,
    means: Vector,
    misspecification: float,
    tolerance: float,
    pairs: Pairs,
    spread: Spread | None = None,
) -> Vector:
    """Evidence of pairs by the linear model, less the largest bias that the tube allows.

    With V = X' W X, theta = V^-1 X' W y, g = x_j - x_i and P = V^-1 X' W,

    ln = (g'theta + tol - eps |e_i - e_j + P'g|_1)_+^2 / (2 (g'V^-1 g + g'V^-2 g / s^2))
         - 1/2 ln det(I + s^2 V).

    Parameters
    ----------
    family
        Scales and weights.
    X
        Features in coordinates of a spanner (K, d).
    weights, means
        Counts over squared noise, and empirical means (K,).
    misspecification, tolerance
        Of the null; they need not be the declared ones.
    pairs
        Challengers and incumbents (n, 2).
    spread
        As of `by_two_arms`.

    Returns
    -------
    ndarray
        Logarithms of M's infimum (n,); minus infinity where the measured arms do not span.

    Examples
    --------
    >>> X, counts = np.array([[0.1], [1.0], [0.5]]), np.array([9.0, 9.0, 0.0])
    >>> means, pairs = np.array([0.1, 3.0, 0.0]), np.array([[0, 1]])
    >>> family = families_of(3, 1, True, 0.05, np.ones(3)).linear
    >>> for eps in (0.0, 0.1, np.inf):
    ...     print(by_features(family, X, counts, means, eps, 0.0, pairs).round(2))
    [33.38]
    [29.95]
    [-inf]
    """
    i, j = pairs.T
    forms = None
    if not math.isinf(misspecification):
        forms = linear_forms(X, weights, means, family, j, less=i, spread=spread)
    if forms is None:
        return np.full(len(pairs), -np.inf)
    return forms.evidence(forms.values + tolerance - misspecification * forms.biases)


def diagonal_weights(weights: Vector, scale: float) -> tuple[Vector, float]:
    """Weights q of the closest alternative and the price of its evidence, at one scale.

    ln M(lambda) = 1/2 sum_k q_k (y_k - lambda_k)^2 - 1/2 sum_k ln(1 + w_k s^2) for displacements
    N(0, s^2) of every arm, with q_k = w_k^2 s^2 / (1 + w_k s^2).

    Parameters
    ----------
    weights
        Counts over squared noise (K,).
    scale
        s, in the unit of the means.

    Returns
    -------
    tuple
        q (K,) and half the logarithms' sum.

    Examples
    --------
    >>> q, price = diagonal_weights(np.array([0.0, 4.0]), 0.5)
    >>> q.tolist(), round(price, 3)
    ([0.0, 2.0], 0.347)
    """
    expected = weights * scale**2
    return weights * expected / (1.0 + expected), 0.5 * float(np.sum(np.log1p(expected)))
