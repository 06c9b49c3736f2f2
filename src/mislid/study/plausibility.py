"""Whether a value is what one could expect by all that is known, or rather a typing error."""

from __future__ import annotations

import math

import numpy as np

from mislid._validation import Vector
from mislid.study.contradictions import Tallies

# Standard deviations beyond which a value is implausible. Gaussian noise does that twice in a
# thousand million measurements.
FAR = 6.0
# Degrees of freedom that a noise needs which is only known by the values.
FREEDOM = 10.0
# With fewer values nothing is known of a candidate that was never measured.
FEW = 2
# How far beyond the others it may be, in multiples of what they span.
BEYOND = 3.0

# Equal values of one candidate after which chance is no excuse, where no other values differ.
REPEATED = 3


def is_constant(tallies: Tallies) -> bool:
    """Whether a candidate was measured several times, and nobody ever had two different values.

    >>> tallies = Tallies(2)
    >>> tallies.add(np.array([0, 0, 1]), np.array([0.3, 0.3, 0.5]))
    >>> is_constant(tallies)
    False
    >>> tallies.add(np.array([0]), np.array([0.3]))
    >>> is_constant(tallies)
    True
    """
    return bool(tallies.counts.max() >= REPEATED and not tallies.squares.any())


def constant_words(most: int) -> str:
    """What to make of values that never differ."""
    return (
        f"no candidate has two different values, and one has {most} equal ones: as if there were "
        "no noise at all. A measurement that repeats an old random seed, or a copied number, "
        "proves nothing: let each draw its randomness anew"
    )


def plausible_range(tallies: Tallies, noise: Vector, arm: int) -> tuple[float, float] | None:
    """Where the next value of an arm should be: around its own mean, or else among all others.

    `noise` (K,) is what was declared, 0 if nothing was. Where values scatter more than that, so may
    the next one.

    >>> tallies = Tallies(3)
    >>> tallies.add(np.array([0, 0, 1, 1]), np.array([0.9, 1.1, 0.4, 0.6]))
    >>> low, high = plausible_range(tallies, np.full(3, 0.1), 0)
    >>> round(low, 2), round(high, 2)
    (-0.04, 2.04)
    >>> low, high = plausible_range(tallies, np.full(3, 0.1), 2)
    >>> round(low, 2), round(high, 2)
    (-1.85, 3.35)
    """
    n = float(tallies.counts[arm])
    freedom = float(np.sum(np.maximum(tallies.counts - 1.0, 0.0)))
    scatter = math.sqrt(float(tallies.squares.sum()) / freedom) if freedom > 0.0 else 0.0
    reach = FAR * max(float(noise[arm]), scatter)
    if noise[arm] == 0.0 and freedom < FREEDOM:  # too little is known of the noise
        return None
    if n > 0.0:
        mean, reach = float(tallies.means[arm]), reach * math.sqrt(1.0 + 1.0 / n)
        return mean - reach, mean + reach
    if tallies.samples < FEW:
        return None
    known = tallies.means[tallies.counts > 0.0]
    low, high = float(known.min()), float(known.max())
    reach += BEYOND * (high - low)
    return low - reach, high + reach
