"""Intervals for all means that hold at all times at once, where the noise is not known.

Half of the weight of an arm is on E+ and half on E-; a value x that one of them refutes is not in
the interval. The arms share the weight, and bounded values leave half of it to the features, as
in `mislid.stopping.intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry.coordinates import coordinates
from mislid.model import Model
from mislid.stopping.evidence import families_of
from mislid.stopping.intervals import ALONE, by_the_features, intersection, with_share
from mislid.stopping.noise.tilted import Tilted, tilted_log, tilts_of
from mislid.stopping.noise.variances import Sample, shifted_log, shifts

# Bisections; each finds one more binary digit.
STEPS = 60


def unknown_intervals(counts: Vector, means: Vector, scatter: Vector, delta: float) -> Matrix:
    """Intervals for the means of Gaussian values of unknown variances.

    Parameters
    ----------
    counts, means, scatter
        Numbers of values, their means, and sums of squared distances from them (K,).
    delta
        How often any of the intervals, at any time, may miss its mean.

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
    target, arms = _target(delta, len(counts), 1.0), zip(counts, means, scatter, strict=True)
    halves = np.array([_half(Sample(*arm), target) for arm in arms])
    return np.stack([means - halves, means + halves], axis=1)


def _target(delta: float, K: int, share: float) -> float:
    """What ln E+ or ln E- of one arm has to reach."""
    return math.log(2.0 * K / (share * delta))


def _half(arm: Sample, target: float) -> float:
    """How far a mean can be: the least distance that is found refuted."""
    given = shifts()

    def refuted(r: float) -> bool:
        return shifted_log(given, arm, r) >= target

    if arm.n == 0.0 or not refuted(math.inf):
        return math.inf
    if arm.scatter == 0.0:
        return 0.0
    high = math.sqrt(arm.scatter) / arm.n
    while not refuted(high):
        high *= 2.0
    return _first(refuted, 0.0, high)


def _first(is_so: Callable[[float], bool], no: float, yes: float) -> float:
    """Where it begins to be so, between a number where it is not and one where it is."""
    for _ in range(STEPS):
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
        Features and how far a mean may be from linear in them; infinite where they say nothing.
    noise_model
        "bounded" or "bernoulli".
    reward_range
        The least and the largest possible value.
    counts, means, scatter
        Numbers of values, their means, and what `Engine.scatter` has of them (K,).
    delta
        How often any of the intervals, at any time, may miss its mean.

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
    """What is not refuted of [0, 1]."""
    if arm.n == 0.0:
        return 0.0, 1.0
    tilts, mean = tilts_of(noise_model), min(max(arm.total / arm.n, 0.0), 1.0)

    def refuted(sign: float, x: float) -> bool:
        return tilted_log(tilts, sign, arm, x)[0] >= target

    low = _first(lambda x: refuted(1.0, x), mean, 0.0) if refuted(1.0, 0.0) else 0.0
    high = _first(lambda x: refuted(-1.0, x), mean, 1.0) if refuted(-1.0, 1.0) else 1.0
    return low, high
