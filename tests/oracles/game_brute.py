"""A slow closest-alternative search for the characteristic time's game: every pair by a QP solver.

It speaks the protocol of `mislid.geometry.equilibrium.Search` and shares no arithmetic with the
package: the pair problems go to Clarabel on the K + d variables (lambda, theta), the bounds are
weak duality's.
"""

from __future__ import annotations

import clarabel
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mislid.geometry.duality import Proofs
from mislid.geometry.equilibrium import Near

Array = NDArray[np.float64]
Found = tuple[float, float, tuple[int, int], Array, Array, Array, float]


class BruteSearch:
    """Closest alternatives of `means` by quadratic programs.

    Minimises 1/2 sum_k w_k (mu_k - lambda_k)^2 over the models with
    lambda_i >= lambda_j + tolerance, for each challenger i outside the top m and incumbent j in it.
    """

    def __init__(
        self,
        features: ArrayLike,
        misspecification: float,
        means: ArrayLike,
        m: int,
        tolerance: float = 0.0,
    ) -> None:
        self.features = np.asarray(features, dtype=float)
        self.misspecification = float(misspecification)
        self.means = np.asarray(means, dtype=float)
        self.tolerance = float(tolerance)
        order = np.argsort(-self.means, kind="stable").tolist()
        self.pairs = np.array([(i, j) for i in order[m:] for j in order[:m]])
        self._span, self._to_span = np.linalg.qr(self.features)
        self.solved = 0

    def near(self, weights: Array, ratio: float, limit: int) -> Near:
        """The alternatives whose cost is within `ratio` of the least, at most `limit`."""
        floors = self._unstructured(weights)
        best = np.inf
        found: list[Found] = []
        for p in np.argsort(floors, kind="stable"):
            if floors[p] > best * ratio:
                break
            i, j = self.pairs[p].tolist()
            if self._feasible(i, j):
                found.append(self.pair(weights, i, j))
                best = min(best, found[-1][0])
        found.sort(key=lambda f: f[0])
        kept = [f for f in found if f[0] <= best * ratio][:limit]
        K, d = self.features.shape
        return Near(
            np.array([f[0] for f in kept]),
            np.array([f[1] for f in kept]),
            np.array([f[2] for f in kept], dtype=np.int64).reshape(-1, 2),
            np.array([f[3] for f in kept]).reshape(-1, K),
            np.array([f[4] for f in kept]).reshape(-1, d),
        )

    def prove(self, weights: Array, target: float) -> Proofs:
        """Multipliers for every feasible pair that costs less than `target` without structure."""
        below = self.pairs[self._unstructured(weights) < target].tolist()
        found = [self.pair(weights, i, j) for i, j in below if self._feasible(i, j)]
        return Proofs(
            np.array([f[2] for f in found], dtype=np.int64).reshape(-1, 2),
            np.array([f[5] for f in found]).reshape(-1, self.means.size),
            np.array([f[6] for f in found]),
        )

    def pair(self, weights: Array, i: int, j: int) -> Found:
        """Cost, proved bound, pair, alternative (K,), its centre theta (d,), multipliers, alpha."""
        self.solved += 1
        K, d = self.features.shape
        u = np.zeros(K)
        u[j], u[i] = 1.0, -1.0
        if np.isinf(self.misspecification):
            return self._unstructured_pair(weights, i, j)
        eps, mu, scale = self.misspecification, self.means, float(np.max(weights))
        tube = sparse.csc_matrix(np.hstack([np.eye(K), -self._span]))
        half = sparse.csc_matrix(np.concatenate([u, np.zeros(d)])[None, :])
        beyond = np.array([-float(u @ mu) - self.tolerance])
        linear = eps == 0.0
        rows = [tube, half] if linear else [tube, -tube, half]
        right = [-mu, beyond] if linear else [eps - mu, eps + mu, beyond]
        cones = [clarabel.ZeroConeT(K)] if linear else [clarabel.NonnegativeConeT(2 * K)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        answer = clarabel.DefaultSolver(
            sparse.diags(np.concatenate([weights / scale, np.zeros(d)]), format="csc"),
            np.zeros(K + d),
            sparse.vstack(rows, format="csc"),
            np.concatenate(right),
            [*cones, clarabel.NonnegativeConeT(1)],
            settings,
        ).solve()
        x, centre = np.array(answer.x[:K]), np.array(answer.x[K:])
        fit = self._span @ centre
        means = fit + np.clip(mu + x - fit, -eps, eps)
        alpha = max(float(answer.z[-1]), 0.0)
        z = -(weights / scale * (means - mu) + alpha * u)
        z = z - self._span @ (self._span.T @ z)
        theta = np.linalg.solve(self._to_span, centre)
        bound = self._dual(weights, z, alpha, u)
        return self._cost(weights, means), bound, (i, j), means, theta, z, alpha

    def _feasible(self, i: int, j: int) -> bool:
        same = np.array_equal(self.features[i], self.features[j])
        return not same or 2.0 * self.misspecification >= self.tolerance

    def _cost(self, weights: Array, means: Array) -> float:
        return 0.5 * float(weights @ (means - self.means) ** 2)

    def _dual(self, weights: Array, z: Array, alpha: float, u: Array) -> float:
        v = z + alpha * u
        top = v @ self.means + alpha * self.tolerance - self.misspecification * np.abs(z).sum()
        return 0.5 * max(float(top), 0.0) ** 2 / float(np.sum(v**2 / weights))

    def _unstructured(self, weights: Array) -> Array:
        i, j = self.pairs.T
        gap = self.means[j] - self.means[i] + self.tolerance
        costs: Array = 0.5 * gap**2 / (1.0 / weights[i] + 1.0 / weights[j])
        return costs

    def _unstructured_pair(self, weights: Array, i: int, j: int) -> Found:
        means = self.means.copy()
        meeting = weights[i] * means[i] + weights[j] * (means[j] + self.tolerance)
        means[i] = meeting / (weights[i] + weights[j])
        means[j] = means[i] - self.tolerance
        cost = self._cost(weights, means)
        return (
            cost,
            cost,
            (i, j),
            means,
            np.zeros(self.features.shape[1]),
            np.zeros(means.size),
            1.0,
        )
