"""Are means farther from linear than declared? An anytime-valid test; docs/checks.md derives it.

Its evidence is the diagonal family of the M that the rule `guaranteed` decides by, at its share in
it: what is refuted here and what is proved there holds on one event.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mislid._validation import Vector
from mislid.geometry.projection import Projection, project
from mislid.model import Model
from mislid.stopping.equal import Spread
from mislid.stopping.evidence import Family, diagonal_weights, families_of

# How far the smallest misspecification that is not contradicted may be too small, relatively, and
# what part of the means' size is nothing.
ACCURACY, NEGLIGIBLE = 1e-4, 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What the features leave of the means.

    Attributes
    ----------
    model
        The features; its own misspecification does not matter.
    means, weights
        Empirical means (K,), 0 without measurements, and counts over squared noise (K,).
    family
        Displacements of all arms from a model, with their weights in M.
    spread
        Where all arms share a noise that is not known, what values say of it; then weights and
        scales are those of a noise of 1.

    Examples
    --------
    >>> counts, means, noise = np.array([[50.0, 50.0], [0.0, 3.0], [1.0, 1.0]])
    >>> two = Residuals.of(Model(np.ones((2, 1)), 0.0), counts, means, noise)
    >>> two.contradict(0.0, 0.01), two.contradict(1.5, 0.01), round(two.least(0.01), 1)
    (True, False, 1.0)
    """

    model: Model
    means: Vector
    weights: Vector
    family: Family
    spread: Spread | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        counts: Vector,
        means: Vector,
        noise: Vector,
        spread: Spread | None = None,
    ) -> Residuals:
        """From what was measured."""
        # Neither the misspecification, if finite, nor m and delta matter to this family.
        family = families_of(model.K, 1, True, 0.5, noise).diagonal
        return cls(model, means, counts / noise**2, family, spread)

    def log_evidence(self, misspecification: float) -> float:
        """The logarithm of the evidence against this misspecification; it falls as that grows.

        If the means are that close to linear, it ever exceeds ln(1/level) with probability at most
        `level`, whatever rule chose the arms and however often one looks.
        """
        costs, prices = np.array(
            [(self.nearest(misspecification, q).bound, price) for q, price in self._scales()]
        ).T
        heights = self.family.logs - prices
        if self.spread is not None:
            return self.spread.by_costs(self.family.scales, heights, costs)
        return float(np.logaddexp.reduce(heights + costs))

    def contradict(self, misspecification: float, level: float) -> bool:
        """Whether the evidence exceeds ln(1/level)."""
        nearest = self.nearest(misspecification, self.weights).means
        if self.cannot_contradict(nearest, level):
            return False
        return self.log_evidence(misspecification) > -math.log(level)

    def cannot_contradict(self, model: Vector, level: float) -> bool:
        """Whether one model (K,) of a misspecification excludes that it is contradicted.

        An average exceeds a limit only if one of its terms does.
        """
        cost = 0.5 * float(np.sum(self.weights * (self.means - model) ** 2))
        if self.spread is not None:
            # Evidence is no more than at the noise that values let one expect, where the process
            # of the scatter is at most 1.
            cost /= self.spread.variance
        share = float(np.logaddexp.reduce(self.family.logs))
        terms = (_largest_share(q, self.weights) * cost - price for q, price in self._scales())
        return max(terms) + share <= -math.log(level)

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
        return project(self.model.with_misspecification(misspecification), self.means, weights)

    def _scales(self) -> Iterator[tuple[Vector, float]]:
        """Weights (K,) of the projection, and the price, scale by scale."""
        return (diagonal_weights(self.weights, float(scale)) for scale in self.family.scales)


def _largest_share(part: Vector, whole: Vector) -> float:
    """The largest of the ratios of two weights, where there are any."""
    seen = whole > 0.0
    return float(np.max(part[seen] / whole[seen]))
