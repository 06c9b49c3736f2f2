"""Evidence for noise whose standard deviation is not declared.

Each arm has two processes for every value x that its mean may have: E+(x), which grows if the mean
is above x, and E-(x), which grows if it is below. Both begin at 1 and are supermartingales if the
mean is x, whatever rule chooses the arms. For a challenger i and an incumbent j, E+ of j times E-
of i takes the place of the family `two arms` of `stopping.evidence`; the evidence of the pair
is the least logarithm of the product over all means at which i beats j by the tolerance.

bounded_noise
    Values in an interval ("bounded"), or 0 and 1 ("bernoulli").
unknown_noise
    Gaussian values with a separate standard deviation for every arm ("unknown").

equal
    Gaussian values, one standard deviation for all arms ("unknown-equal"). All evidence of
    `mislid.stopping.evidence` stays, multiplied by a process of the scatter.

docs/certificate-proof.md has the proofs. As in the engine, larger values are better, and `scatter`
is that of `Engine.scatter`.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._validation import Vector
from mislid.stopping.evidence import Arms, Pairs

NOISE_MODELS = ("known", "unknown", "bounded", "bernoulli", "unknown-equal")
"""Noise models; docs/noise.md explains them."""
UNDECLARED = ("unknown", "unknown-equal")
"""Noise models of Gaussian values without a declared standard deviation."""


def by_own_values(
    noise_model: str,
    reward_range: tuple[float, float] | None,
    counts: Vector,
    means: Vector,
    scatter: Vector,
    pairs: Pairs,
    tolerance: float,
) -> Vector:
    """Evidence of pairs by their own two arms, minus the logarithm of a pair's share.

    Parameters
    ----------
    noise_model
        "unknown", "bounded" or "bernoulli".
    reward_range
        The least and the largest possible value; None for unknown noise.
    counts, means, scatter
        Numbers of values, their means, and scatter as in `Engine.scatter` (K,).
    pairs
        Challengers and incumbents (n, 2).
    tolerance
        By how much a challenger has to be better, in the unit of the values.

    Returns
    -------
    ndarray
        Bounds from below (n,); minus infinity where an arm was never measured.

    Examples
    --------
    >>> counts, means = np.array([200.0, 200.0]), np.array([0.05, 0.3])
    >>> pairs = np.array([[0, 1]])
    >>> by_own_values("bernoulli", (0, 1), counts, means, np.zeros(2), pairs, 0.0).round(2)
    array([18.13])
    """
    from mislid.stopping.bounded_noise import Tilted, by_tilts, tilts_of
    from mislid.stopping.unknown_noise import Sample, by_shifts, shifts

    found = np.full(len(pairs), -math.inf)
    if noise_model == "unknown":
        given = shifts()
        samples = [Sample(*arm) for arm in zip(counts, means, scatter, strict=True)]
        for n, (i, j) in enumerate(pairs.tolist()):
            found[n] = by_shifts(given, samples[i], samples[j], tolerance)
        return found
    low, high = reward_range or (0.0, 1.0)
    totals = np.clip(counts * (means - low) / (high - low), 0.0, counts)
    tilts, arms = tilts_of(noise_model), zip(counts, totals, scatter, strict=True)
    tilted = [Tilted(*arm) for arm in arms]
    for n, (i, j) in enumerate(pairs.tolist()):
        found[n] = by_tilts(tilts, tilted[i], tilted[j], tolerance / (high - low))
    return found


def scatter_over_time(
    noise_model: str,
    reward_range: tuple[float, float] | None,
    arms: Arms,
    values: Vector,
) -> Vector | None:
    """The scatter of the measured arm after every measurement, as the engine computes it.

    Parameters
    ----------
    noise_model
        The noise model of the question.
    reward_range
        The least and the largest possible value, of bounded values.
    arms, values
        The measurements (n,) in their order.

    Returns
    -------
    ndarray or None
        (n,); None if the noise model does not need it.

    Examples
    --------
    >>> arms, values = np.array([0, 1, 0, 0]), np.array([1.0, 5.0, 2.0, 3.0])
    >>> scatter_over_time("unknown", None, arms, values).tolist()
    [0.0, 0.0, 0.5, 2.0]
    >>> scatter_over_time("bernoulli", (0, 1), arms, values) is None
    True
    """
    if noise_model in ("known", "bernoulli"):
        return None
    found = np.zeros(len(values))
    for arm in np.unique(arms).tolist():
        own = arms == arm
        told, n = values[own], np.arange(float(np.count_nonzero(own)))
        before, lost = _sums_before(told)
        if noise_model != "bounded":
            away = told - (before + lost) / np.maximum(n, 1.0)
            found[own] = np.cumsum(n / (n + 1.0) * away * away)
        else:
            low, high = reward_range or (0.0, 1.0)
            guess = (0.5 + (before - n * low + lost) / (high - low)) / (n + 1.0)
            away = (told - low) / (high - low) - guess
            found[own] = np.cumsum(away * away)
    return found


def _sums_before(values: Vector) -> tuple[Vector, Vector]:
    """Sums of all values before each (n,), and their rounding errors (Knuth)."""
    after = np.cumsum(values)
    before = np.concatenate([[0.0], after[:-1]])
    back = after - before
    lost = np.cumsum((before - (after - back)) + (values - back))
    return before, np.concatenate([[0.0], lost[:-1]])


def scatter_after(running: Vector | None, arms: Arms, samples: int, K: int) -> Vector | None:
    """The scatter of all arms (K,) after a number of measurements, from `scatter_over_time`.

    Parameters
    ----------
    running
        The result of `scatter_over_time`.
    arms
        The measured arms (n,) in their order.
    samples
        How many measurements.
    K
        Number of arms.

    Returns
    -------
    ndarray or None
        0 for arms without measurements; None if the noise model does not need it.

    Examples
    --------
    >>> scatter_after(np.array([0.0, 0.0, 0.5, 2.0]), np.array([0, 1, 0, 0]), 3, 3).tolist()
    [0.5, 0.0, 0.0]
    """
    if running is None:
        return None
    found = np.zeros(K)
    found[arms[:samples]] = running[:samples]  # keeps the last entry of each arm
    return found
