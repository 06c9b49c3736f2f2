"""The projection of means onto the model set, with the multipliers that prove it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import Matrix, Vector, as_means, as_weights
from mislid.errors import CertificateError
from mislid.geometry.coordinates import coordinates, newton_space
from mislid.geometry.duality import (
    Certified,
    PairProblem,
    balanced,
    cost_failures,
    membership_failures,
    multiplier_failures,
    negligible_cost,
    proved_bound,
)
from mislid.model import Model, as_model, refuse_other_labels

if TYPE_CHECKING:
    from mislid.geometry.problem import NewtonSpace

RTOL = 1e-10
# Size of the proximal term that selects the theta nearest to least squares.
NEAREST = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Projection(Certified):
    """The model closest to given means, and the multipliers that prove it closest.

    Attributes
    ----------
    model, given, weights
        The arguments: the model set, means (K,) and weights (K,).
    means
        The projection (K,) = features @ theta + deviation.
    theta
        Its linear part (d,): of all possible ones, the nearest to weighted least squares.
    deviation
        Its distance from linearity (K,), at most the misspecification.
    cost
        1/2 sum_k weights_k (means_k - given_k)^2.
    bound
        A lower bound on the cost of any model.
    multipliers
        The proof of the bound, (K,) with features.T @ multipliers = 0.
    """

    model: Model
    given: Vector
    weights: Vector
    means: Vector
    theta: Vector
    deviation: Vector
    cost: float
    bound: float
    multipliers: Vector

    def _failures(self, rtol: float) -> list[str]:
        failures = membership_failures(self.model, self.given, self.means, self.theta)
        if not self.cost <= negligible_cost(self.given, self.weights):
            failures += multiplier_failures(self.model, self.multipliers)
        split = float(
            np.max(np.abs(self.model.features @ self.theta + self.deviation - self.means))
        )
        size = float(np.max(np.abs(self.model.features) @ np.abs(self.theta) + np.abs(self.means)))
        if not split <= 1e-9 * size:
            failures.append(f"means must be features @ theta + deviation; they differ by {split:g}")
        problem = PairProblem(self.model, self.given, self.weights)
        proved = proved_bound(problem, self.multipliers, theta=self.theta)
        return failures + cost_failures(problem, self.means, self.cost, self.bound, proved, rtol)


def project(model: Model, means: ArrayLike, weights: ArrayLike) -> Projection:
    """Project means onto the model set: the weighted nearest model.

    min over theta (d,), eta (K,) of `1/2 sum_k w_k (phi_k'theta + eta_k - mu_k)^2` subject to
    `|eta_k| <= misspecification` (the paper's appendix on the projection; no bound on the means).
    An arm without weight gets its linear value.

    Parameters
    ----------
    model
        The model set.
    means, weights
        Means mu (K,) to project; weights w (K,), at least 0 and not all 0.

    Returns
    -------
    Projection
        The nearest model with its cost and the proof of it.

    Raises
    ------
    ProblemError, CertificateError
        As in `pair_alternative`.

    Examples
    --------
    >>> model = Model([[1.0], [1.0], [1.0]], misspecification=1.0)
    >>> p = project(model, [-2.0, -2.0, 4.0], [1.0, 1.0, 1.0])
    >>> p.means.round(9).tolist(), p.theta.round(9).tolist(), round(p.cost, 9)
    ([-0.666666667, -0.666666667, 1.333333333], [0.333333333], 5.333333333)
    >>> bool(p.check())
    True
    """
    given, w = as_given(model, means, weights)
    fitted = least_squares(model, given, w)
    linear = model.features @ fitted
    eps = model.misspecification
    inside = bool(np.all((np.abs(given - linear) <= eps) | (w == 0.0)))
    if inside:
        means = np.where(w > 0.0, given, linear)
        deviation = _deviation(model, means, fitted)
        return Projection(model, given, w, means, fitted, deviation, 0.0, 0.0, np.zeros(model.K))
    return _solved(model, given, w, linear)


def as_given(model: Model, means: ArrayLike, weights: ArrayLike) -> tuple[Vector, Vector]:
    """Validate means (K,) from which distances are measured, and their weights (K,)."""
    as_model(model)
    refuse_other_labels(model, means=means, weights=weights)
    return as_means(means, model.K), as_weights(weights, model.K)


def _solved(model: Model, given: Vector, w: Vector, linear: Vector) -> Projection:
    """Project where least squares leaves the tube, by the compiled kernel around least squares."""
    from mislid.geometry.newton import STALLED, solve
    from mislid.geometry.problem import NOBODY, set_metric

    at, centred = coordinates(model), given - linear
    space = newton_space(at.matrix, at.basis)
    set_metric(w, space)
    space.mu[:], space.eps, space.tol = centred, model.misspecification, 0.0
    space.i, space.j, space.level = NOBODY, NOBODY, float(np.max(np.abs(given)))
    theta = np.zeros(model.d)
    status, cost, bound, _, _ = solve(theta, RTOL, space)
    if status == STALLED:
        raise CertificateError(
            f"the projection could not be certified: cost {cost!r}, bound {bound!r}; "
            "the weights or features are too ill-conditioned for double precision"
        )
    multipliers = balanced(at.matrix, w, space.multipliers.copy())
    nearest = _nearest(space, theta, cost)
    below = _below(space, nearest)
    cost = 0.5 * float(np.sum(w * below**2))
    means, theta = given - below, at.theta(model, linear[at.basis] + nearest)
    deviation = _deviation(model, means, theta)
    return Projection(model, given, w, means, theta, deviation, cost, min(bound, cost), multipliers)


def _below(space: NewtonSpace, theta: Vector) -> Vector:
    """Centred means minus their projection for a given theta."""
    e = space.mu - space.X @ theta
    below: Vector = np.where(space.w > 0.0, e - np.clip(e, -space.eps, space.eps), e)
    return below


def _nearest(space: NewtonSpace, found: Vector, cost: float) -> Vector:
    """The minimiser nearest to zero in the metric of the weights.

    A proximal term of size r moves it by O(r); extrapolation from two sizes, one half the other,
    cancels that. If the result costs more than the theta already `found`, the latter is returned.
    """
    from mislid.geometry.newton import SOLVED, minimise

    thetas = []
    for proximity in (NEAREST, 0.5 * NEAREST):
        theta = np.zeros(found.size)
        status = minimise(theta, proximity, False, False, 60, 0.0, 0.0, space)[0]
        if status != SOLVED:
            return found
        thetas.append(theta)
    nearest: Vector = 2.0 * thetas[1] - thetas[0]
    below = _below(space, nearest)
    return nearest if 0.5 * float(np.sum(space.w * below**2)) <= cost * (1.0 + RTOL) else found


def _deviation(model: Model, means: Vector, theta: Vector) -> Vector:
    """The deviation of the means (K,) from linearity, clipped to the tube."""
    eps = model.misspecification
    deviation: Vector = means - model.features @ theta
    return np.clip(deviation, -eps, eps) if math.isfinite(eps) else deviation


def least_squares(model: Model, means: Vector, weights: Vector) -> Vector:
    """The theta (d,) of weighted least squares, the linear part of the paper's parametrization.

    Where the arms of positive weight do not span, the one with the smallest |A theta|_2.

    Examples
    --------
    >>> model = Model([[1.0], [1.0], [1.0]], misspecification=0.5)
    >>> least_squares(model, np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 0.0])).round(9).tolist()
    [0.5]
    """
    arms, X = coordinates(model)
    corner, values = model.features[arms], _weighted_least_squares(X, means, weights)
    scale = np.max(np.abs(corner), axis=0)
    theta: Vector = np.linalg.solve(corner / scale, values) / scale
    return theta


def _weighted_least_squares(X: Matrix, means: Vector, weights: Vector) -> Vector:
    """Minimise sum_k w_k (means_k - x_k' c)^2, then |X c|_2, over c (d,)."""
    weighted = weights > 0.0
    orthonormal, triangle = np.linalg.qr(X)
    # The rank is that of the unweighted arms: a tiny weight counts as much as a large one.
    _, singular, right = np.linalg.svd(orthonormal[weighted], full_matrices=False)
    rank = int(np.sum(singular > max(1e-11 * singular[0], 1e-14)))
    if rank == 0:
        return np.zeros(X.shape[1])
    directions = right[:rank].T
    root = np.sqrt(weights[weighted] / np.max(weights))
    rows = orthonormal[weighted] @ directions
    c = np.zeros(X.shape[1])
    # The second round corrects rounding errors of the first in arms with small features.
    for _ in range(2):
        rest = means[weighted] - X[weighted] @ c
        y = _graded_least_squares(root[:, None] * rows, root * rest)
        c = c + np.linalg.solve(triangle, directions @ y)
    return c


def _graded_least_squares(rows: Matrix, values: Vector) -> Vector:
    """Least squares where rows differ by many orders of magnitude.

    Householder's method is accurate row by row if the large rows come first and columns are
    pivoted (Powell and Reid; Cox and Higham); without either, the small rows drown.
    """
    from scipy.linalg import LinAlgError, qr_multiply, solve_triangular

    order = np.argsort(-np.max(np.abs(rows), axis=1), kind="stable")
    projected, triangle, pivots = qr_multiply(rows[order], values[order], pivoting=True)
    y = np.empty(rows.shape[1])
    try:
        y[pivots] = solve_triangular(triangle, projected)
    except LinAlgError:
        raise CertificateError(
            "the least squares could not be solved: the weights are too far apart for double "
            "precision"
        ) from None
    return y
