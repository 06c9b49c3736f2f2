"""A round of MisLid by brute force: the projection and every pair by quadprog, in NumPy.

What a straightforward program would do, as well as we could make it. All that does not change from
round to round (features, walls of the tube) is set up once, all that does not change from pair
to pair once a round. The Hessian is diagonal, so its factor is given. theta is measured from the
projection's, where nothing but the pair's half-space is violated. The half-space is an equality,
which spares quadprog a choice: incumbents are the projection's best, so that it is always active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import quadprog

from mislid import Model

from .cases import Floats

RIDGE = 1e-9  # of theta against the largest weight: quadprog wants a definite Hessian
LEAST = 1e-12  # weight of an arm against the largest, for the same reason
Pairs = Sequence[tuple[int, int]]


class Fit(NamedTuple):
    """The projection: theta (d,), the model (K,), and its m best arms."""

    theta: Floats
    means: Floats
    incumbents: list[int]


class Moves(NamedTuple):
    """Costs (P,) of the pairs and the alternatives minus the means (P, K)."""

    costs: Floats
    moves: Floats


class BruteForce:
    """quadprog on x = (t, r), t theta's displacement (d,) and r = lambda - mu (K,).

    minimise 1/2 sum_k w_k r_k^2  with  |mu_k + r_k - phi_k' theta| <= eps for all k  and, for a
    pair, mu_i + r_i = mu_j + r_j. `solve` takes the place of `quadprog.solve_qp`.
    """

    def __init__(
        self, model: Model, m: int, *, solve: Callable[..., Any] = quadprog.solve_qp
    ) -> None:
        self.m, self.eps, self.solve = m, model.misspecification, solve
        K, d = model.K, model.d
        # Orthonormal columns save it a third of its steps on E.
        self._features = np.linalg.qr(model.features)[0] * np.sqrt(K / d)
        walls = np.hstack([-self._features, np.eye(K)]).T
        self._columns = np.asfortranarray(np.hstack([np.zeros((K + d, 1)), walls, -walls]))
        self._limits = np.zeros(2 * K + 1)
        self._inverse_root = np.zeros((K + d, K + d), order="F")
        self._linear = np.zeros(K + d)

    def project(self, means: Floats, weights: Floats) -> Fit:
        """The nearest model to the means (K,), from weighted least squares on.

        Arms without weight are put at their linear values, as ours are.
        """
        features, d = self._features, self._features.shape[1]
        gram = features.T @ (weights[:, None] * features)
        theta = np.linalg.solve(gram, features.T @ (weights * means))
        self._aim(np.where(weights > 0, means, features @ theta), weights, theta)
        x = self.solve(
            self._inverse_root, self._linear, self._columns[:, 1:], self._limits[1:], 0, True
        )[0]
        theta = theta + x[:d]
        nearest = np.where(weights > 0, means + x[d:], features @ theta)
        best = np.sort(np.argsort(-nearest, kind="stable")[: self.m])
        return Fit(theta, nearest, best.tolist())

    def pairs(self, incumbents: Iterable[int]) -> list[tuple[int, int]]:
        """All (challenger, incumbent), in the order of the challengers."""
        top = list(incumbents)
        rest = [arm for arm in range(len(self._features)) if arm not in top]
        return list(product(rest, top))

    def alternatives(self, means: Floats, weights: Floats, theta: Floats, pairs: Pairs) -> Moves:
        """Solve the pairs at these means and weights (K,), theta measured from the one given."""
        self._aim(means, weights, theta)
        d, solve, half_space = len(theta), self.solve, self._columns[:, 0]
        problem = (self._inverse_root, self._linear, self._columns, self._limits, 1, True)
        limits, values, found = self._limits, means.tolist(), []
        for i, j in pairs:
            half_space[d + i], half_space[d + j] = 1.0, -1.0
            limits[0] = values[j] - values[i]
            found.append(solve(*problem)[0])
            half_space[d + i] = half_space[d + j] = 0.0
        moves = np.array(found)[:, d:] if found else np.zeros((0, len(means)))
        return Moves(0.5 * np.square(moves) @ weights, moves)

    def _aim(self, means: Floats, weights: Floats, theta: Floats) -> None:
        K, d = self._features.shape
        residual = means - self._features @ theta
        np.subtract(-self.eps, residual, out=self._limits[1 : K + 1])
        np.subtract(residual, self.eps, out=self._limits[K + 1 :])
        largest = weights.max()
        diagonal = np.einsum("ii->i", self._inverse_root)
        diagonal[:d] = RIDGE**-0.5
        diagonal[d:] = np.maximum(weights / largest, LEAST) ** -0.5
