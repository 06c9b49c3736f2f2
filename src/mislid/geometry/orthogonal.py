"""The paper's orthogonal parametrization: means split by weighted least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mislid._validation import as_means, as_weights
from mislid.errors import CertificateError
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import Check
from mislid.model import Model, as_model, refuse_other_labels

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OrthogonalParameters:
    """Means as a linear part and a deviation that is orthogonal to it under the weights.

    means = linear + deviation with linear = A theta and A' D deviation = 0, D = diag(weights).

    Attributes
    ----------
    model, means, weights
        What was asked: the model set, means (K,) and weights (K,).
    theta
        Parameter of the linear part (d,).
    linear
        The linear part (K,), features @ theta.
    deviation
        What is left of the means (K,).

    Examples
    --------
    A deviation that is not what is left of the means is found out:

    >>> from dataclasses import replace
    >>> split = orthogonal_parameters(Model([[1], [1], [1]], 0.5), [0, 1, 5], [1, 1, 1])
    >>> print(split.check())
    holds
    >>> print(replace(split, deviation=split.deviation + 0.5).check())
    linear + deviation differs from the means by 0.5...
    """

    model: Model
    means: Array
    weights: Array
    theta: Array
    linear: Array
    deviation: Array

    @property
    def projection(self) -> Array:
        """P D^(1/2) means = D^(1/2) A theta, the projection on the weighted features' span."""
        return np.sqrt(self.weights) * self.linear

    @property
    def residual(self) -> Array:
        """R D^(1/2) means = D^(1/2) deviation, what the projection leaves."""
        return np.sqrt(self.weights) * self.deviation

    def check(self) -> Check:
        """Verify that the two parts add up, that one is linear, and that they are orthogonal.

        Returns
        -------
        Check
            True where everything holds; otherwise it lists what does not.
        """
        features, root = self.model.features, np.sqrt(self.weights)
        size = float(np.max(np.abs(self.means)))
        failures = []
        gap = float(np.max(np.abs(self.linear + self.deviation - self.means)))
        if not gap <= 1e-14 * (size + float(np.max(np.abs(self.linear)))):
            failures.append(f"linear + deviation differs from the means by {gap!r}")
        gap = float(np.max(np.abs(features @ self.theta - self.linear)))
        if not gap <= 1e-12 * float(np.max(np.abs(features) @ np.abs(self.theta))) + 1e-14 * size:
            failures.append(f"linear differs from A theta by {gap!r}")
        arms, X, _ = coordinates(self.model)
        columns = root[:, None] * X
        products = np.abs(columns.T @ self.residual)
        # The linear part is a sum of these terms, so it is known to their rounding only.
        terms = root * (np.abs(self.means) + np.abs(X) @ np.abs(self.linear[arms]))
        allowed = np.linalg.norm(columns, axis=0) * (
            1e-9 * np.linalg.norm(self.residual) + 1e-14 * np.linalg.norm(terms)
        ) + 1e-15 * (root @ np.abs(self.residual))
        if not np.all(products <= allowed):
            failures.append(
                f"the deviation is not orthogonal to the features under the weights: "
                f"a product of {float(np.max(products - allowed))!r} is left"
            )
        return Check(tuple(failures))


def orthogonal_parameters(
    model: Model, means: ArrayLike, weights: ArrayLike
) -> OrthogonalParameters:
    """The linear part and the deviation of means under weights, as the paper parametrizes them.

    `theta = V^+ A' D means` and `deviation = means - A theta`, for means and weights (K,), weights
    at least 0 and not all 0, `D = diag(weights)`, `V = A'DA` (appendix "The orthogonal
    parameterization and its properties").  With P the projection on the span of `D^(1/2) A` and
    `R = I - P`: `P D^(1/2) means = D^(1/2) A theta`, `R D^(1/2) means = D^(1/2) deviation`.
    Where the arms of positive weight do not span, theta is the minimiser of
    `sum_k w_k (means_k - phi_k' theta)^2` with the smallest `|A theta|_2`, which does not depend on
    the coordinates of the features (A -> A R).

    Parameters
    ----------
    model
        The model set; its misspecification is not used.
    means
        Means (K,) to split.
    weights
        Weights (K,), at least 0 and not all 0.

    Returns
    -------
    OrthogonalParameters
        The linear part and the deviation.

    Raises
    ------
    ProblemError
        An argument has the wrong type or shape, or a value that is not allowed.
    CertificateError
        The features are so nearly collinear that no spanner could be proved.

    Examples
    --------
    >>> split = orthogonal_parameters(Model([[1], [1], [1]], 0.5), [0, 1, 5], [1, 1, 0])
    >>> split.theta.round(9).tolist(), split.deviation.round(9).tolist()
    ([0.5], [-0.5, 0.5, 4.5])
    """
    as_model(model)
    refuse_other_labels(model, means=means, weights=weights)
    means = as_means(means, model.K)
    weights = as_weights(weights, model.K)
    arms, X, _ = coordinates(model)
    at_arms = _weighted_least_squares(X, means, weights)
    linear = X @ at_arms
    return OrthogonalParameters(
        model=model,
        means=means,
        weights=weights,
        theta=_solve_square(model.features[arms], at_arms),
        linear=linear,
        deviation=means - linear,
    )


def _weighted_least_squares(X: Array, means: Array, weights: Array) -> Array:
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
    # The second round removes what the first rounded away in arms with small features.
    for _ in range(2):
        rest = means[weighted] - X[weighted] @ c
        y = _graded_least_squares(root[:, None] * rows, root * rest)
        c = c + np.linalg.solve(triangle, directions @ y)
    return c


def _graded_least_squares(rows: Array, values: Array) -> Array:
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


def _solve_square(matrix: Array, values: Array) -> Array:
    """The solution of a square system, with its columns brought to one size first."""
    scale = np.max(np.abs(matrix), axis=0)
    theta: Array = np.linalg.solve(matrix / scale, values) / scale
    return theta
