"""Are means farther from linear than declared? An anytime-valid test; docs/checks.md derives it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry.projection import Projection, project
from mislid.model import Model

# Sizes of deviations that evidence is looked for at, in units of the (geometric) mean noise.
SIZES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# How far the smallest misspecification that is not contradicted may be too small, relatively, and
# what part of the means' size is nothing.
ACCURACY, NEGLIGIBLE = 1e-4, 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What the features leave of the means.

    Attributes
    ----------
    features
        (K, d).
    means, weights
        Empirical means (K,), 0 without measurements, and counts over squared noise (K,).
    sizes
        Deviations from a model are looked for at these, in the unit of the means.

    Examples
    --------
    >>> counts, means, noise = np.array([[50.0, 50.0], [0.0, 3.0], [1.0, 1.0]])
    >>> two = Residuals.of(np.ones((2, 1)), counts, means, noise)
    >>> round(two.log_evidence(0.0), 1), round(two.log_evidence(1.0), 1), round(two.least(0.01), 2)
    (105.1, 7.2, 1.06)
    """

    features: Matrix
    means: Vector
    weights: Vector
    sizes: tuple[float, ...]

    @classmethod
    def of(cls, features: Matrix, counts: Vector, means: Vector, noise: Vector) -> Residuals:
        """From what was measured."""
        unit = math.exp(float(np.mean(np.log(noise))))
        return cls(features, means, counts / noise**2, tuple(unit * size for size in SIZES))

    def log_evidence(self, misspecification: float) -> float:
        """The logarithm of the evidence against this misspecification; it falls as that grows.

        If the means are that close to linear, it ever exceeds ln(1/level) with probability at most
        `level`, whatever rule chose the arms and however often one looks.
        """
        logs = [
            self.nearest(misspecification, shares * self.weights).bound - price
            for shares, price in map(self._at, self.sizes)
        ]
        return float(np.logaddexp.reduce(logs)) - math.log(len(logs))

    def contradict(self, misspecification: float, level: float) -> bool:
        """Whether the evidence exceeds ln(1/level)."""
        # An average does only if one term does, which one projection can often exclude.
        cost = self.nearest(misspecification, self.weights).cost
        terms = (np.max(shares) * cost - price for shares, price in map(self._at, self.sizes))
        limit = -math.log(level)
        return bool(max(terms) > limit) and self.log_evidence(misspecification) > limit

    def least(self, level: float) -> float:
        """The smallest misspecification that is not contradicted, from below."""
        if not self.contradict(0.0, level):
            return 0.0
        largest = float(np.max(np.abs(self.means)))  # zero is a linear model
        low, high = 0.0, largest
        while high - low > ACCURACY * high and high > NEGLIGIBLE * largest:
            middle = 0.5 * (low + high)
            if self.contradict(middle, level):
                low = middle
            else:
                high = middle
        return low

    def farthest(self, misspecification: float) -> int:
        """The arm that is farthest from the nearest model, in units of its uncertainty."""
        rest = self.means - self.nearest(misspecification, self.weights).means
        return int(np.argmax(self.weights * rest * rest))

    def nearest(self, misspecification: float, weights: Vector) -> Projection:
        """The nearest model of this misspecification."""
        return project(Model(self.features, misspecification), self.means, weights)

    def _at(self, size: float) -> tuple[Vector, float]:
        """Shares (K,) of the weights, and the price, for deviations of this size."""
        expected = self.weights * size**2
        return expected / (1.0 + expected), 0.5 * float(np.sum(np.log1p(expected)))
