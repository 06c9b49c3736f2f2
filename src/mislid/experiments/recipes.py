"""Instances drawn as the paper's Section 5 drew its own, where its data are not at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, SeedSequence

from mislid._validation import Matrix, Vector
from mislid.errors import ProblemError
from mislid.model import Instance, Model

ATTEMPTS = 10_000
# Tells an instance's random numbers from those of runs, which are the children 0, 1, ...
BRANCH = 2**31


@dataclass(frozen=True)
class Recipe:
    """Gaussian features and parameter, both with largest entry 1.

    `deviation` adds Gaussian deviations with that largest size, `raised` adds to the mean of the
    best arm outside the m best. The paper shows one instance each; to be of like difficulty, an
    instance is drawn again until the m-th best mean is at least `gap` from its neighbours
    (before one is raised).
    """

    K: int
    d: int
    m: int
    gap: float
    deviation: float = 0.0
    raised: float = 0.0

    def draw(self, seed: int, misspecification: float) -> Instance:
        """Draw an instance with unit noise; recipes that differ in `raised` only share all else.

        Examples
        --------
        >>> instance = Recipe(K=10, d=5, m=3, gap=0.14).draw(0, misspecification=0.0)
        >>> instance.K, instance.d
        (10, 5)
        """
        rng = np.random.default_rng(SeedSequence(seed, spawn_key=(BRANCH,)))
        for _ in range(ATTEMPTS):
            features, means = self._attempt(rng)
            above, at, below = np.sort(means)[::-1][self.m - 2 : self.m + 1]
            if min(above - at, at - below) >= self.gap:
                means[np.argsort(means)[::-1][self.m]] += self.raised
                return Instance(Model(features, misspecification), means)
        raise ProblemError(f"gap must be smaller; {ATTEMPTS} instances had none of {self.gap}")

    def _attempt(self, rng: Generator) -> tuple[Matrix, Vector]:
        features = _scaled(rng.standard_normal((self.K, self.d)))
        means = features @ _scaled(rng.standard_normal(self.d))
        if self.deviation > 0.0:
            means = means + self.deviation * _scaled(rng.standard_normal(self.K))
        return features, means


def _scaled(values: Matrix) -> Matrix:
    """Rows with largest entry 1."""
    largest: Matrix = np.max(np.abs(values), axis=-1, keepdims=True)
    return values / largest
