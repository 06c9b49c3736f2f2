"""Intervals for all means, valid at all times at once; docs/checks.md derives them.

They are {lambda_k : M(lambda) < 1/delta}. This M differs from that of the rule `guaranteed`: half
of its weight is on displacements of single arms, half on displacements along the features. With
undeclared noise, an arm has half of its weight on E+ and half on E- of `stopping.noise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry.coordinates import coordinates
from mislid.model import Model
from mislid.stopping.equal import Spread, spread_of
from mislid.stopping.evidence import Family, families_of, linear_forms

if TYPE_CHECKING:
    from mislid.question import Question
    from mislid.stopping.bounded_noise import Tilted
    from mislid.stopping.unknown_noise import Sample

# The share of single arms in M, if there are features.
ALONE = 0.5
# Newton's method ends when the relative change of a square is below ACCURACY.
ACCURACY, MOST_STEPS = 1e-13, 60
# Bisections: one for each binary digit.
BISECTIONS = 60


class Interval(NamedTuple):
    """Intervals of all arms.

    Attributes
    ----------
    centres, halves
        Middles (K,) and half the widths (K,), which are infinite without measurements.
    """

    centres: Vector
    halves: Vector

    @property
    def ends(self) -> Matrix:
        """Lower and upper ends (K, 2)."""
        return np.stack([self.centres - self.halves, self.centres + self.halves], axis=1)


def mean_intervals(
    model: Model,
    counts: Vector,
    means: Vector,
    noise: Vector,
    delta: float,
    spread: Spread | None = None,
) -> Matrix:
    """Intervals for the means of all arms, at once and at all times.

    Parameters
    ----------
    model
        Features and misspecification.
    counts, means
        Numbers of measurements and empirical means (K,).
    noise
        Standard deviations (K,).
    delta
        The probability that any of the intervals, at any time, misses its mean.
    spread
        The scatter, with one unknown noise for all arms; `noise` is then 1.

    Returns
    -------
    ndarray
        Lower and upper ends (K, 2). If intervals along the features and of single arms contradict
        each other, only the latter are used.

    Examples
    --------
    >>> model = Model([[1.0], [2.0], [3.0]], misspecification=0.1)
    >>> counts, means = np.array([100.0, 100.0, 0.0]), np.array([1.0, 2.0, 0.0])
    >>> low, high = mean_intervals(model, counts, means, np.ones(3), 0.05).T
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([0.7, 1.6, 2.2], [1.3, 2.4, 3.8])
    """
    weights = counts / noise**2
    families = families_of(model.K, 1, True, delta, noise)
    if math.isinf(model.misspecification):
        single = with_share(families.diagonal, 1.0 / model.K)
        return by_single_arms(single, weights, means, families.level, spread).ends
    single = with_share(families.diagonal, ALONE / model.K)
    linear = with_share(families.linear, 1.0 - ALONE)
    alone = by_single_arms(single, weights, means, families.level, spread).ends
    X, eps = coordinates(model).matrix, model.misspecification
    along = by_the_features(linear, X, weights, means, eps, families.level, spread).ends
    return intersection(alone, along)


def intersection(alone: Matrix, along: Matrix) -> Matrix:
    """The intersection of intervals by single arms and along the features (K, 2).

    If one is empty, all intervals are those by single arms.

    Examples
    --------
    >>> intersection(np.array([[0.0, 2.0]]), np.array([[1.0, 3.0]])).tolist()
    [[1.0, 2.0]]
    """
    low = np.maximum(alone[:, 0], along[:, 0])
    high = np.minimum(alone[:, 1], along[:, 1])
    return np.stack([low, high], axis=1) if np.all(low <= high) else alone


def with_share(family: Family, share: float) -> Family:
    """The same scales with weights that add up to `share`."""
    logs: Vector = family.logs - np.logaddexp.reduce(family.logs) + math.log(share)
    return Family(scales=family.scales, logs=logs)


def by_single_arms(
    family: Family, weights: Vector, means: Vector, level: float, spread: Spread | None = None
) -> Interval:
    """Intervals by displacements N(0, s^2) of one arm alone.

    ln = 1/2 q_k (y_k - v)^2 - 1/2 ln(1 + w_k s^2) for a mean v, q_k = w_k^2 s^2 / (1 + w_k s^2).

    Parameters
    ----------
    family, weights, means
        Scales and their weights; counts over squared noise, and empirical means (K,).
    level
        The logarithm at which v is refuted.
    spread
        As of `mean_intervals`.

    Returns
    -------
    Interval
        Infinite for arms without measurements.
    """
    expected = weights[:, None] * family.scales**2
    curvatures = weights[:, None] * expected / (1.0 + expected)
    logs = family.logs - 0.5 * np.log1p(expected)
    if spread is None:
        return Interval(means, half_widths(logs, 0.5 * curvatures, level))
    tilts = spread.logs(family.scales, len(means))
    return Interval(means, widest_halves(spread, tilts, logs, 0.5 * curvatures, level))


def by_the_features(
    family: Family,
    X: Matrix,
    weights: Vector,
    means: Vector,
    misspecification: float,
    level: float,
    spread: Spread | None = None,
) -> Interval:
    """Intervals along the features, widened by the largest bias in the tube.

    With V = X' W X, theta = V^-1 X' W y and P = V^-1 X' W, for a mean v,

    ln = (|x_k'theta - v| - eps |e_k - P'x_k|_1)_+^2 / (2 (x_k'V^-1 x_k + x_k'V^-2 x_k / s^2))
         - 1/2 ln det(I + s^2 V).

    Parameters
    ----------
    family, X, weights, means, misspecification
        As of `mislid.stopping.evidence.by_features`.
    level, spread
        As of `by_single_arms`.

    Returns
    -------
    Interval
        Infinite where the measured arms do not span.
    """
    K = X.shape[0]
    forms = linear_forms(X, weights, means, family, np.arange(K))
    if forms is None:
        return Interval(np.zeros(K), np.full(K, math.inf))
    # An arm without features has the value 0, whatever theta is.
    known, halves = forms.variances[:, 0] > 0.0, np.zeros(K)
    logs = np.broadcast_to(forms.logs, forms.variances.shape)
    given = logs[known], 0.5 / forms.variances[known], level
    if spread is None:
        halves[known] = half_widths(*given)
    else:
        halves[known] = widest_halves(spread, spread.logs(*forms.scales), *given)
    return Interval(forms.values, halves + misspecification * forms.biases)


def widest_halves(
    spread: Spread, tilts: Matrix, logs: Matrix, curvatures: Matrix, level: float
) -> Vector:
    """The largest of `half_widths` over all noises that are possible.

    Parameters
    ----------
    spread
        The scatter.
    tilts
        Its logarithms of the tilts for the scales and cells (S, J): `Spread.logs`.
    logs, curvatures, level
        As of `half_widths`, at a noise of 1.

    Returns
    -------
    ndarray
        (n,), infinite where there are too few values to bound the noise.
    """
    widest = np.zeros(len(logs))
    for precision, added in zip(spread.precisions.tolist(), tilts.T, strict=True):
        open_ = np.logaddexp.reduce(logs + added, axis=1) < level
        if precision == 0.0:
            widest[open_] = math.inf
        elif np.any(open_):
            found = half_widths(logs[open_] + added, curvatures[open_] * precision, level)
            widest[open_] = np.maximum(widest[open_], found)
    return widest


def half_widths(logs: Matrix, curvatures: Matrix, level: float) -> Vector:
    """For every row, the h at which ln sum_s exp(logs + curvatures h^2) reaches a level.

    The sum is convex in h^2. Newton's method starts where the largest term alone reaches the level,
    above the root, and descends to it.

    Parameters
    ----------
    logs, curvatures
        Numbers (n, S), the latter at least 0.
    level
        Above the value at 0.

    Returns
    -------
    ndarray
        h (n,), infinite where all curvatures of a row are 0.

    Examples
    --------
    >>> half_widths(np.log([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 1.0], [0.0, 0.0]]), 4.0)
    array([ 2., inf])
    """
    with np.errstate(divide="ignore"):
        squares = np.min((level - logs) / curvatures, axis=1)
    known = np.isfinite(squares)
    a, c, z = logs[known], curvatures[known], squares[known]
    for _ in range(MOST_STEPS):
        terms = a + c * z[:, None]
        total = np.logaddexp.reduce(terms, axis=1)
        slopes = np.sum(c * np.exp(terms - total[:, None]), axis=1)
        steps = (total - level) / slopes
        z -= np.maximum(steps, 0.0)
        if np.all(steps <= ACCURACY * z):
            break
    squares[known] = z
    return np.sqrt(squares)


def unknown_intervals(counts: Vector, means: Vector, scatter: Vector, delta: float) -> Matrix:
    """Intervals for the means of Gaussian values of unknown variances.

    Parameters
    ----------
    counts, means, scatter
        Numbers of values, their means, and sums of squared distances from them (K,).
    delta
        The probability that any of the intervals, at any time, misses its mean.

    Returns
    -------
    ndarray
        Lower and upper ends (K, 2), infinite where there are too few values.

    Examples
    --------
    >>> counts, means = np.array([100.0, 2.0]), np.array([3.0, 1.0])
    >>> unknown_intervals(counts, means, np.array([100.0, 1.0]), 0.05).round(2)
    array([[2.58, 3.42],
           [-inf,  inf]])
    """
    from mislid.stopping.unknown_noise import Sample

    target, arms = _target(delta, len(counts), 1.0), zip(counts, means, scatter, strict=True)
    halves = np.array([_half(Sample(*arm), target) for arm in arms])
    return np.stack([means - halves, means + halves], axis=1)


def _target(delta: float, K: int, share: float) -> float:
    """The level of ln E+ or ln E- of one arm."""
    return math.log(2.0 * K / (share * delta))


def _half(arm: Sample, target: float) -> float:
    """The least distance of a mean that is refuted."""
    from mislid.stopping.unknown_noise import log_of_shifts, shifts

    given = shifts()

    def refuted(r: float) -> bool:
        return log_of_shifts(given, arm, r) >= target

    if arm.n == 0.0 or not refuted(math.inf):
        return math.inf
    if arm.scatter == 0.0:
        return 0.0
    high = math.sqrt(arm.scatter) / arm.n
    while not refuted(high):
        high *= 2.0
    return _first(refuted, 0.0, high)


def _first(is_so: Callable[[float], bool], no: float, yes: float) -> float:
    """The first number, between `no` and `yes`, at which a condition is true."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (no + yes)
        if is_so(middle):
            yes = middle
        else:
            no = middle
    return yes


def bounded_intervals(
    model: Model,
    noise_model: str,
    reward_range: tuple[float, float],
    counts: Vector,
    means: Vector,
    scatter: Vector,
    delta: float,
) -> Matrix:
    """Intervals for the means of values within a range, or of values 0 and 1.

    Parameters
    ----------
    model
        Features and misspecification.
    noise_model
        "bounded" or "bernoulli".
    reward_range
        The least and the largest possible value.
    counts, means, scatter
        Numbers of values, their means, and scatter as in `Engine.scatter` (K,).
    delta
        The probability that any of the intervals, at any time, misses its mean.

    Returns
    -------
    ndarray
        Lower and upper ends (K, 2), within the range.

    Examples
    --------
    >>> model = Model([[1, 0], [0, 1]], np.inf)
    >>> counts, means = np.array([1000.0, 0.0]), np.array([0.05, 0.0])
    >>> bounded_intervals(model, "bernoulli", (0, 1), counts, means, np.zeros(2), 0.05).round(3)
    array([[0.029, 0.079],
           [0.   , 1.   ]])
    """
    from mislid.stopping.bounded_noise import Tilted

    low, high = reward_range
    width, K, eps = high - low, len(counts), model.misspecification
    structured = math.isfinite(eps)
    target = _target(delta, K, ALONE if structured else 1.0)
    totals = counts * (means - low) / width
    arms = [Tilted(*arm) for arm in zip(counts, totals, scatter, strict=True)]
    alone = low + width * np.array([_ends(noise_model, arm, target) for arm in arms])
    if not structured:
        return alone
    noise = np.full(K, 0.5 * width)
    families = families_of(K, 1, True, delta, noise)
    linear = with_share(families.linear, 1.0 - ALONE)
    X, weights = coordinates(model).matrix, counts / noise**2
    return intersection(alone, by_the_features(linear, X, weights, means, eps, families.level).ends)


def _ends(noise_model: str, arm: Tilted, target: float) -> tuple[float, float]:
    """The ends of the means in [0, 1] that are not refuted."""
    from mislid.stopping.bounded_noise import tilted_log, tilts_of

    if arm.n == 0.0:
        return 0.0, 1.0
    tilts, mean = tilts_of(noise_model), min(max(arm.total / arm.n, 0.0), 1.0)

    def refuted(sign: float, x: float) -> bool:
        return tilted_log(tilts, sign, arm, x)[0] >= target

    low = _first(lambda x: refuted(1.0, x), mean, 0.0) if refuted(1.0, 0.0) else 0.0
    high = _first(lambda x: refuted(-1.0, x), mean, 1.0) if refuted(-1.0, 1.0) else 1.0
    return low, high


def intervals_of(question: Question, counts: Vector, means: Vector, scatter: Vector) -> Matrix:
    """Intervals (K, 2) for the noise model and the error rate of a question.

    `scatter` as in `Engine.scatter`.
    """
    model, delta = question.model, question.delta
    if question.noise_model == "unknown":
        return unknown_intervals(counts, means, scatter, delta)
    if question.reward_range is not None:
        kind, ends = question.noise_model, question.reward_range
        return bounded_intervals(model, kind, ends, counts, means, scatter, delta)
    spread = spread_of(question.noise_model, counts, means, scatter)
    return mean_intervals(model, counts, means, question.noise, delta, spread)
