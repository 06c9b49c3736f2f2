"""How much evidence displaced means give against a pair: the rule `guaranteed`.

For means lambda, M(lambda) is an average of likelihood ratios of displaced means lambda + z against
lambda, with weights fixed beforehand: `docs/certificate.md` says why a pair is settled once one
family alone brings ln M to ln(1/delta) for every lambda that reverses the pair. Here is how much
each family proves. Scales are in units of the geometric mean of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid.verification.geometry import Duality, Model, Pair, Witness
from mislid.verification.reading import Vector

TWO_ARMS, LINEAR, DIAGONAL = "two arms", "linear", "diagonal"
# Shares of the families in M; where nothing is linear, two arms have all of it.
SHARES = {TWO_ARMS: 0.78, LINEAR: 0.19, DIAGONAL: 0.03}
SCALES = {
    TWO_ARMS: tuple(2.0**power for power in range(-9, 3)),
    LINEAR: tuple(0.004 * 2.5**power for power in range(8)),
    DIAGONAL: tuple(0.015 * 3.0**power for power in range(6)),
}
# A scale's weight falls by a factor e for every factor exp(TAIL) away from its family's centre.
CENTRES = {TWO_ARMS: 0.035, LINEAR: 0.15, DIAGONAL: 0.15}
TAIL = 2.0
# Spread of the displacements of two arms around their scale, in multiples of it.
SPREAD = 0.45


@dataclass(frozen=True, eq=False)
class Family:
    """Scales (n,) in the unit of the means, and the logarithms of their weights in M (n,)."""

    scales: Vector
    logs: Vector

    @property
    def total(self) -> float:
        """The logarithm of all weights together."""
        return float(np.logaddexp.reduce(self.logs))


def families_of(K: int, m: int, structured: bool, noise: Vector) -> dict[str, Family]:
    """The families that take part in M; the m (K - m) pairs of two arms share their weight."""
    unit = math.exp(float(np.mean(np.log(noise))))
    shares = SHARES if structured else {TWO_ARMS: 1.0}
    found = {}
    for name, share in shares.items():
        sizes = np.array(SCALES[name])
        weights = np.exp(-np.abs(np.log(sizes / CENTRES[name])) / TAIL)
        pairs = m * (K - m) if name == TWO_ARMS else 1
        found[name] = Family(unit * sizes, np.log(share / pairs * weights / weights.sum()))
    return found


def by_two_arms(family: Family, gap: float, wi: float, wj: float) -> float:
    """What the pair's own two arms prove, `gap` apart with the tolerance, at weights wi and wj."""
    if not (wi > 0.0 and wj > 0.0):
        return -math.inf
    s, t2 = family.scales, (SPREAD * family.scales) ** 2
    v, u = 1.0 / wi + 1.0 / wj, 1.0 / wi**2 + 1.0 / wj**2
    beyond = np.maximum(gap + s / t2 * v, 0.0)
    logs = beyond**2 / (2.0 * (v + u / t2)) - s**2 / t2
    logs -= 0.5 * (np.log1p(wi * t2) + np.log1p(wj * t2))
    return float(np.logaddexp.reduce(logs + family.logs))


@dataclass(frozen=True, eq=False)
class Moment:
    """Means (K,) and weights (K,), counts over squared noise, at one time, in a model."""

    model: Model
    means: Vector
    weights: Vector

    @cached_property
    def _duality(self) -> Duality:
        return Duality(self.model, self.weights)

    @cached_property
    def _fit(self) -> Vector:
        """Weighted least squares (d,)."""
        return self._duality.fit(self.means)

    @cached_property
    def _eigenvalues(self) -> Vector:
        """Of V = X'WX (d,)."""
        return np.asarray(np.linalg.svd(self._duality.root, compute_uv=False) ** 2, np.float64)

    def rounding(self, amount: float) -> float:
        """What rounding of the means' level may add to, or take from, an amount of evidence."""
        return self._duality.rounding(self.means, amount)

    def by_features(self, family: Family, pair: Pair, tol: float) -> float:
        """What the linear model proves, less the largest bias that the tube allows.

        Let g = x_j - x_i, V = X'WX, f a fit and a any numbers (d,), best V^-1 g. With the tilt
        z = e_i - e_j + W X a, H = V + I/s^2 and u = X'W(y - lambda), each lambda of the null has

            a'u >= g'f + tol + a'X'W(y - X f) - eps |z|_1 - h ( r + |u|_(V^-1) + eps |1|_w )

        as in `geometry`, where h vanishes with X'z; and a'u <= |a|_H |u|_(H^-1). The evidence at
        the scale s is 1/2 |u|^2_(H^-1) less the volume's price.
        """
        duality, X, (i, j) = self._duality, self.model.X, pair
        g = X[j] - X[i]
        a = np.linalg.solve(duality.root, np.linalg.solve(duality.root.T, g))
        along = X @ a
        z = self.weights * along
        z[i] += 1.0
        z[j] -= 1.0
        off = self.means - X @ self._fit
        value = float(g @ self._fit) + tol + float((self.weights * along) @ off)
        beyond = max(value - duality.lost(z, 1.0, off), 0.0)
        squares = float(self.weights @ along**2) + float(a @ a) / family.scales**2
        if np.any(g != 0.0) and not np.all(squares > 0.0):
            return -math.inf  # squares of numbers this small are lost
        least = float(np.min(self._eigenvalues))
        widest = np.sqrt(1.0 + 1.0 / (family.scales**2 * least))
        sizes = np.sqrt(squares) + duality.imbalance(z, 1.0) * widest
        volumes = np.log1p(np.outer(family.scales**2, self._eigenvalues)).sum(axis=1)
        logs = (beyond / sizes) ** 2 / 2.0 - 0.5 * volumes
        return float(np.logaddexp.reduce(logs + family.logs))

    def by_all_arms(
        self, family: Family, scale: int, witness: Witness, pair: Pair, tol: float
    ) -> float:
        """What displacements of every arm prove at one scale: a distance in weights q."""
        expected = self.weights * family.scales[scale] ** 2
        q, price = self.weights * expected / (1.0 + expected), float(np.sum(np.log1p(expected)))
        cost = Duality(self.model, q).pair_bound(self.means, witness, pair, tol)
        return cost - 0.5 * price + float(family.logs[scale])
