"""Families of random instances, each a seeded generator.

Features and linear values come first, then deviations from them of up to the family's share of
their standard deviation. Means and misspecification are then scaled together so that every instance
has the same characteristic time: families differ in structure, not in how long they take.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from mislid import Instance, Model, characteristic_time

from .cases import Floats

TIME = 200.0
# The m-th and the next arm are at least this share of the means' standard deviation apart.
SMALLEST_GAP = 0.05


def directions(rng: Generator, K: int, d: int) -> Floats:
    """Unit vectors in random directions (K, d)."""
    features = rng.normal(size=(K, d))
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def correlated(rng: Generator, K: int, d: int) -> Floats:
    """Vectors around a common one, so that columns and arms are strongly correlated."""
    return 1.0 + 0.1 * rng.normal(size=(K, d))


def near_copies(rng: Generator, K: int, d: int) -> Floats:
    """Every direction twice, the second a little off."""
    once = directions(rng, (K + 1) // 2, d)
    return np.vstack([once, once + 0.02 * rng.normal(size=once.shape)])[:K]


def two_groups(rng: Generator, K: int, d: int) -> Floats:
    """Two groups of arms on either side, apart in the first feature only."""
    features = 0.1 * rng.normal(size=(K, d))
    features[:, 0] = np.where(np.arange(K) < K // 2, 1.0, -1.0)
    return features


@dataclass(frozen=True)
class Family:
    """Instances with K arms, d features and m best ones.

    `misspecification` is in standard deviations of the linear values; `noise_ratio` is that of the
    largest possible noise to the smallest.
    """

    name: str
    K: int
    d: int
    m: int
    misspecification: float
    features: Callable[[Generator, int, int], Floats] = directions
    noise_ratio: float = 1.0
    time: float = TIME

    def instance(self, number: int) -> Instance:
        """The instance of this number.

        >>> FAMILIES[0].instance(3).K
        12
        """
        rng = np.random.default_rng([number, zlib.crc32(self.name.encode())])
        while True:
            features = self.features(rng, self.K, self.d)
            linear = features @ rng.normal(size=self.d)
            eps = self._deviation(linear)
            # Without structure, deviations could be anything: as large as the linear values.
            means = linear + min(eps, linear.std()) * rng.uniform(-1, 1, size=self.K)
            ordered = np.sort(means)[::-1]
            if ordered[self.m - 1] - ordered[self.m] >= SMALLEST_GAP * means.std():
                break
        noise = self.noise_ratio ** rng.uniform(-0.5, 0.5, size=self.K)
        return self._scaled(features, means, eps, noise)

    def _deviation(self, linear: Floats) -> float:
        return self.misspecification * float(linear.std())

    def _scaled(self, features: Floats, means: Floats, eps: float, noise: Floats) -> Instance:
        time = characteristic_time(Model(features, eps), means, self.m, noise=noise)
        factor = float(np.sqrt(time.value / self.time))
        return Instance(Model(features, factor * eps), factor * means, noise=noise)


def gaussian(rng: Generator, K: int, d: int) -> Floats:
    """Standard normal descriptors (K, d)."""
    return rng.normal(size=(K, d))


@dataclass(frozen=True)
class ManyArms(Family):
    """Many arms with good features: few measurements are needed if features are made use of.

    `misspecification` is in gaps, that of the m-th and the next linear value.
    """

    features: Callable[[Generator, int, int], Floats] = gaussian
    time: float = 25.0

    def _deviation(self, linear: Floats) -> float:
        ordered = np.sort(linear)[::-1]
        return self.misspecification * float(ordered[self.m - 1] - ordered[self.m])


FAMILIES = (
    Family("tiny misspecification", 12, 4, 3, 0.01),
    Family("large misspecification", 15, 5, 4, 0.5),
    Family("one best arm", 20, 6, 1, 0.1),
    Family("all but one", 8, 3, 7, 0.1),
    Family("no structure", 10, 3, 4, np.inf),
    Family("correlated features", 15, 5, 5, 0.05, correlated),
    Family("near copies", 12, 4, 4, 0.05, near_copies),
    Family("uneven noise", 12, 4, 3, 0.1, noise_ratio=9.0),
    Family("many arms", 40, 8, 5, 0.1),
    Family("two groups", 10, 4, 5, 0.05, two_groups),
)
MANY_ARMS = (
    ManyArms("K 100, d 5, linear", 100, 5, 1, 0.0),
    ManyArms("K 100, d 10, eps gap / 4", 100, 10, 5, 0.25),
    ManyArms("K 200, d 6, eps gap / 10", 200, 6, 3, 0.1),
    ManyArms("K 200, d 6, eps gap", 200, 6, 3, 1.0),
    ManyArms("K 300, d 30, eps gap / 10", 300, 30, 3, 0.1),
    ManyArms("K 500, d 50, linear", 500, 50, 5, 0.0),
    ManyArms("K 1,000, d 20, eps gap / 2", 1000, 20, 3, 0.5),
    ManyArms("K 2,000, d 8, eps gap / 10", 2000, 8, 10, 0.1),
)
