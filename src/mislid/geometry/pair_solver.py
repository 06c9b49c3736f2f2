"""The compiled pair problem for Python callers: one workspace, any pair, certificates as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.errors import CertificateError
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import balanced, multiplier_failures, negligible_cost
from mislid.model import Model

# Cost and bound agree to this. Anything coarser leaves multipliers that do not balance.
RTOL = 1e-10


class PairSolution(NamedTuple):
    """An alternative of a pair and what proves it nearest, all in fresh arrays.

    Shapes: means (K,), values (d,) of its linear part at the spanner's arms, multipliers (K,).
    The cost is infinite where no model reverses the pair, and the means then mean nothing.
    """

    cost: float
    bound: float
    means: Vector
    values: Vector
    multipliers: Vector
    alpha: float


class PairSolver:
    """Solves pairs at fixed means (K,) and at the weights (K,) given last."""

    def __init__(self, model: Model, given: Vector, weights: Vector) -> None:
        from mislid.geometry.newton import newton_space

        self._model = model
        at = coordinates(model)
        self._X = at.matrix
        self._given = given
        self._level = float(np.max(np.abs(given)))
        self._space = newton_space(at.matrix, (at.basis, at.rest))
        self.weigh(weights)

    def weigh(self, weights: Vector) -> None:
        """Change the weights."""
        from mislid.geometry.problem import prepare_centre, set_metric

        self._weights = weights
        self._centre = np.zeros(self._X.shape[1])
        set_metric(weights, self._space)
        prepare_centre(self._given, self._space, self._centre)
        self._linear = self._X @ self._centre
        self._space.mu[:] = self._given - self._linear

    def floor(self) -> Vector:
        """Multipliers (K,) that prove how far every model is from the means; zeros if not at all.

        Also zeros where the projection cannot be certified: they only help.
        """
        from mislid.geometry.newton import STALLED
        from mislid.geometry.problem import NOBODY

        nothing = np.zeros(self._given.size)
        if np.all(np.abs(self._space.mu) <= self._model.misspecification):
            return nothing
        status, cost, *_ = self._outcome((NOBODY, NOBODY), 0.0, np.zeros(self._X.shape[1]))
        if status == STALLED or cost <= negligible_cost(self._given, self._weights):
            return nothing
        floor = balanced(self._X, self._weights, self._space.multipliers.copy())
        return nothing if multiplier_failures(self._model, floor) else floor

    def solve(self, pair: tuple[int, int], tolerance: float) -> PairSolution:
        """Solve one pair."""
        from mislid.geometry.newton import STALLED, fill_below

        space = self._space
        i, j = pair
        theta = np.zeros(self._X.shape[1])
        beyond = tolerance + float(self._linear[j] - self._linear[i])
        status, cost, bound, alpha = self._outcome(pair, beyond, theta)
        refuse_stalled(status == STALLED, pair, cost, bound)
        below = np.zeros(self._given.size)
        fill_below(space, below)
        # Where the half-space does not bind, alpha is rounding of either sign.
        alpha = max(alpha, 0.0)
        z = balanced(self._X, self._weights, space.multipliers.copy(), alpha)
        return PairSolution(cost, bound, self._given - below, theta + self._centre, z, alpha)

    def _outcome(
        self, pair: tuple[int, int], beyond: float, theta: Vector
    ) -> tuple[int, float, float, float]:
        """Status, cost, bound and alpha of a solve that starts from theta (d,), and moves it."""
        from mislid.geometry.newton import solve_problem

        space = self._space
        (space.i, space.j), space.tol = pair, beyond
        space.eps, space.level = self._model.misspecification, self._level
        status, cost, bound, alpha, _ = solve_problem(theta, RTOL, space)
        return status, cost, bound, alpha


def refuse_stalled(stalled: bool, pair: tuple[int, int], cost: float, bound: float) -> None:
    """Raise where a solve did not certify its answer."""
    if stalled:
        raise CertificateError(
            f"the alternative of challenger {pair[0]} and incumbent {pair[1]} could not be "
            f"certified: cost {cost!r}, bound {bound!r}; the weights or features are too "
            "ill-conditioned for double precision"
        )
