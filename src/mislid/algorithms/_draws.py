"""Random numbers by position.

The n-th decision of a run always uses the same random number. It depends on the key and on n alone,
so every process draws the same number, also after a crash.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Vector, inner

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


@inner
def drawn(omega: Vector, uniform: float) -> int:
    """The arm at position `uniform` in [0, 1) of the distribution omega (K,)."""
    total = 0.0
    last = 0
    for k in range(omega.shape[0]):
        if omega[k] > 0.0:
            last = k
            total += omega[k]
            if uniform < total:
                return k
    return last
