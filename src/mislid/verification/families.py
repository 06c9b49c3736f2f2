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
from mislid.verification.reading import Matrix, Vector

TWO_ARMS, LINEAR, DIAGONAL = "two arms", "linear", "diagonal"
# Shares of the families in M; where nothing is linear, two arms have all of it.
SHARES = {TWO_ARMS: 0.55, LINEAR: 0.40, DIAGONAL: 0.05}
SCALES = {
    TWO_ARMS: tuple(2.0**power for power in range(-9, 3)),
    LINEAR: tuple(0.004 * 2.5**power for power in range(8)),
    DIAGONAL: tuple(0.015 * 3.0**power for power in range(6)),
}
# A scale's weight falls by a factor e for every factor exp(TAIL) away from CENTRE.
CENTRE, TAIL = 0.15, 2.0
# Spread of the displacements of two arms around their scale, in multiples of it.
SPREAD = 0.45


@dataclass(frozen=True, eq=False)
class Family:
    """Scales (n,) in the unit of the means, and the logarithms of their weights in M (n,)."""

    scales: Vector
    logs: Vector


def families_of(K: int, m: int, eps: float, noise: Vector) -> dict[str, Family]:
    """The families that take part in M; the m (K - m) pairs of two arms share their weight."""
    unit = math.exp(float(np.mean(np.log(noise))))
    shares = {TWO_ARMS: 1.0} if math.isinf(eps) else SHARES
    found = {}
    for name, share in shares.items():
        sizes = np.array(SCALES[name])
        weights = np.exp(-np.abs(np.log(sizes / CENTRE)) / TAIL)
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
    def _root(self) -> Matrix:
        """R (d, d) with R'R = V = X'WX; by orthogonal steps, which lose half as many digits."""
        return _square_root(self.model.X, self.weights)

    @cached_property
    def fit(self) -> Vector:
        """Weighted least squares (d,), with what rounding left of it fitted once more."""
        X, root = self.model.X, np.sqrt(self.weights)
        scaled = root[:, None] * X
        first = np.linalg.lstsq(scaled, root * self.means, rcond=None)[0]
        rest = root * (self.means - X @ first)
        fitted: Vector = first + np.linalg.lstsq(scaled, rest, rcond=None)[0]
        return fitted

    def rounding(self, amount: float) -> float:
        """What rounding of the means' level may add to, or take from, an amount of evidence."""
        return Duality(self.model, self.weights).rounding(self.means, amount)

    def by_features(self, family: Family, pair: Pair, tol: float) -> float:
        """What the linear model proves, less the largest bias that the tube allows.

        With g = x_j - x_i and a = V^-1 g: every lambda = X b + eta of the null has
        a'X'W(y - lambda) >= g'fit + tol - eps |e_i - e_j + W X a|_1.
        """
        (i, j), X = pair, self.model.X
        g = X[j] - X[i]
        half = np.linalg.solve(self._root.T, g)
        a = np.linalg.solve(self._root, half)
        tilt = self.weights * (X @ a)
        tilt[i] += 1.0
        tilt[j] -= 1.0
        bias = self.model.eps * float(np.sum(np.abs(tilt)))
        beyond = max(float(g @ self.fit) + tol - bias, 0.0)
        logs = beyond**2 / (2.0 * (float(half @ half) + float(a @ a) / family.scales**2))
        volumes = np.log1p(np.outer(family.scales**2, self._eigenvalues)).sum(axis=1)
        return float(np.logaddexp.reduce(logs - 0.5 * volumes + family.logs))

    @cached_property
    def _eigenvalues(self) -> Vector:
        """Of V (d,)."""
        return np.asarray(np.linalg.svd(self._root, compute_uv=False) ** 2, np.float64)

    def by_all_arms(
        self, family: Family, scale: int, witness: Witness, pair: Pair, tol: float
    ) -> float:
        """What displacements of every arm prove at one scale: a distance in weights q."""
        expected = self.weights * family.scales[scale] ** 2
        q, price = self.weights * expected / (1.0 + expected), float(np.sum(np.log1p(expected)))
        cost = proved_cost(self.model, self.means, q, witness, pair, tol)
        return cost - 0.5 * price + float(family.logs[scale])


def _square_root(X: Matrix, weights: Vector) -> Matrix:
    scaled = np.sqrt(weights)[:, None] * X
    root: Matrix = np.asarray(np.linalg.qr(scaled, mode="r"), np.float64)
    sizes = np.abs(np.diag(root))
    if root.shape[0] < X.shape[1] or not np.min(sizes) > 1e-12 * np.max(sizes):
        raise np.linalg.LinAlgError("the arms that were measured do not span the features")
    return root


def proved_cost(
    model: Model, means: Vector, weights: Vector, witness: Witness, pair: Pair, tol: float
) -> float:
    """A lower bound on the cost 1/2 sum_k w_k (y_k - lambda_k)^2 of every model that reverses.

    The duality of `geometry`, for any numbers v and alpha >= 0, also where z = v - alpha (e_j -
    e_i) has rho = X'z other than 0. With any f, r = |y - X f|_w and h^2 = rho'V^-1 rho, each
    lambda = X b + eta of the null has

        v'(y - lambda) >= v'(y - X f) + alpha (tol + (X f)_j - (X f)_i) - eps |z|_1 + rho'(f - b),

    and |rho'(f - b)| <= h |X (f - b)|_w <= h (r + |y - lambda|_w + eps sqrt(sum_k w_k)). So no
    witness proves more than the truth, whatever its size.
    """
    X, eps, alpha = model.X, model.eps, witness.alpha
    z = Duality(model, weights).multipliers(means, witness, pair)
    size = max(float(np.max(np.abs(z))), alpha)
    if not 0.0 < size < math.inf:
        return 0.0
    z, alpha = z / size, alpha / size
    v = z.copy()
    v[pair[1]] += alpha
    v[pair[0]] -= alpha
    heavy = weights > 0.0
    if np.any(v[~heavy] != 0.0):
        return 0.0  # an arm that was never measured proves nothing
    at = Moment(model, means, weights)
    off = means - X @ at.fit
    # rho as it was computed, and what rounding may have hidden of it.
    length = float(np.sum(np.abs(z))) + 2.0 * alpha
    rho = np.abs(X.T @ z) + 4e-16 * (z.size + 4.0) * length
    h = float(np.sum(np.abs(np.linalg.inv(at._root.T)) @ rho))
    far = math.sqrt(float(np.sum(weights * off**2))) + eps * math.sqrt(float(np.sum(weights)))
    value = float(v @ off) + alpha * (tol + float((X[pair[1]] - X[pair[0]]) @ at.fit))
    value -= eps * float(np.sum(np.abs(z))) + h * far
    spread = math.sqrt(float(np.sum(v[heavy] ** 2 / weights[heavy]))) + h
    return max(value, 0.0) ** 2 / (2.0 * spread**2)
