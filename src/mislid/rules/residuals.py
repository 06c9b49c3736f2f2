"""Do means lie farther from linear than declared? An anytime-valid test; docs/checks.md derives it.

The means lie within eps of the linear ones, so the nearest model is at least as near to the data as
the truth:  min over models of 1/2 sum_k N_k (x_k - lambda_k)^2 / sigma_k^2  is at most the evidence
against the truth itself, which is bounded at all times whatever the features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import kernel
from mislid.geometry.projection import Projection, project
from mislid.model import Model
from mislid.rules import _thresholds
from mislid.rules._mixture import Mixture, mixture_price, new_mixture
from mislid.rules._state import Setting
from mislid.rules.thresholds import deviation_constant

# How far the smallest misspecification that is not contradicted may be too small, relatively.
ACCURACY = 1e-4
# Part of the means' size.
NEGLIGIBLE = 1e-12


@kernel
def _price(X: Matrix, weights: Vector, means: Vector, prior: Mixture) -> float:
    return mixture_price(X, weights, means, prior)


def residual_threshold(setting: Setting, counts: Vector, means: Vector, level: float) -> float:
    """What the evidence against the true means never exceeds, but with probability `level`.

    The smaller of two bounds, each at level/2: that of the mixture, with the priors for means that
    may be anywhere, and Kaufmann and Koolen's (2021, Theorem 9) for all K arms,
    sum_k 2 ln(4 + ln N_k) + K C(ln(2/level) / K). The first is smaller unless the means are
    thousands of times the noise. Counts and means (K,); an arm that was never measured has mean 0.
    """
    half = -math.log(0.5 * level)
    K = counts.shape[0]
    prior = new_mixture(setting._replace(eps=math.inf))
    mixed = half + _price(setting.X, counts / setting.variance, means, prior)
    allowances = sum(_thresholds.arm_allowance(float(count)) for count in counts)
    return min(mixed, allowances + K * deviation_constant(half / K))


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What the features leave of the means.

    Features (K, d), empirical means (K,), weights N_k / sigma_k^2 (K,), and the threshold that
    evidence against any misspecification has to exceed, the same one for all.

    >>> two = Residuals(np.ones((2, 1)), np.array([0.0, 3.0]), np.array([2.0, 2.0]), threshold=2.0)
    >>> round(two.statistic(0.0), 9), round(two.statistic(0.5), 9), round(two.least(), 3)
    (4.5, 2.0, 0.5)
    """

    features: Matrix
    means: Vector
    weights: Vector
    threshold: float

    @classmethod
    def of(
        cls, setting: Setting, features: Matrix, counts: Vector, means: Vector, level: float
    ) -> Residuals:
        """From counts and means (K,); every test ever made is wrong with probability `level`."""
        threshold = residual_threshold(setting, counts, means, level)
        return cls(features, means, counts / setting.variance, threshold)

    def nearest(self, misspecification: float) -> Projection:
        """The nearest model of this misspecification."""
        return project(Model(self.features, misspecification), self.means, self.weights)

    def statistic(self, misspecification: float) -> float:
        """The evidence against every model of this misspecification, from below.

        It falls as the misspecification grows.
        """
        return self.nearest(misspecification).bound

    def farthest(self, misspecification: float) -> int:
        """The arm that adds most to it."""
        rest = self.means - self.nearest(misspecification).means
        return int(np.argmax(self.weights * rest * rest))

    def least(self) -> float:
        """The smallest misspecification that is not contradicted, from below."""
        if self.statistic(0.0) <= self.threshold:
            return 0.0
        largest = float(np.max(np.abs(self.means)))  # zero is a linear model
        low, high = 0.0, largest
        while high - low > ACCURACY * high and high > NEGLIGIBLE * largest:
            middle = 0.5 * (low + high)
            if self.statistic(middle) > self.threshold:
                low = middle
            else:
                high = middle
        return low
