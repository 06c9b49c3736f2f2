"""Random numbers by position: the n-th decision of a run always sees the same one.

Any driver that knows the key and how many arms were asked for so far draws the same number, in
whatever process and after whatever crash.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import inner

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inner
def uniform(key: np.uint64, position: int) -> float:
    """A number in [0, 1): SplitMix64 (Steele, Lea and Flood 2014) at `position` of stream `key`."""
    z = key + np.uint64(position + 1) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@inner
def normal(key: np.uint64, position: int) -> float:
    """A standard normal number at `position` of stream `key` (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * position)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * position + 1))


@inner
def stream_of(number: float) -> np.uint64:
    """A stream's key from a number in [0, 1), for decisions that need more than one."""
    return np.uint64(number * 2.0**53)
