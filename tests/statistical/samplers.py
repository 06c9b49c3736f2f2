"""Samplers that try to make a proof fail; they know the true means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Arms = NDArray[np.int64]


class Watched(Protocol):
    """Many runs side by side (R, K): counts, counts over variances, and errors of the means."""

    @property
    def counts(self) -> Floats: ...
    @property
    def weights(self) -> Floats: ...
    @property
    def missed(self) -> Floats: ...


Sampler = Callable[[Watched, np.random.Generator], Arms]


def blind(watched: Watched, rng: np.random.Generator) -> Arms:
    """Any arm."""
    return rng.integers(watched.counts.shape[1], size=len(watched.counts))


def adversary(watched: Watched, rng: np.random.Generator) -> Arms:
    """The arm that looks farthest from its true mean, or for a change another."""
    chased = np.argmax(watched.weights * watched.missed**2, axis=1)
    return np.where(rng.random(len(chased)) < 0.2, blind(watched, rng), chased)


def lucky(watched: Watched, rng: np.random.Generator) -> Arms:
    """Leave alone what misleads, and measure the rest: luck of the first values is kept."""
    misleading = watched.weights * watched.missed**2 > 1.0
    score = np.where(misleading, np.inf, watched.counts + rng.random(watched.counts.shape))
    return np.where(np.isinf(score.min(axis=1)), blind(watched, rng), np.argmin(score, axis=1))


SAMPLERS = {sampler.__name__: sampler for sampler in (blind, adversary, lucky)}
