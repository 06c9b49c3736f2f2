"""The smallest misspecification of given means: their Chebyshev distance from the linear models.

One linear program finds it. `mislid.model` imports this module for the deviation of an instance,
which is the only import against the order of the layers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mislid._validation import as_vector
from mislid.errors import CertificateError
from mislid.model import Model, refuse_other_labels

Array = NDArray[np.float64]

_ROUNDING = float(np.finfo(np.float64).eps)


def smallest_misspecification(model: Model | ArrayLike, means: ArrayLike) -> float:
    """The smallest misspecification of a model that contains the means.

    Computes the min over theta (d,) of `max_k |means_k - phi_k' theta|` by one linear program whose
    answer is certified; the paper writes `|means|_eps` in its proof of Lemma 2.

    Parameters
    ----------
    model
        A model, whose own misspecification is not used, or features (K, d).
    means
        Means (K,).

    Returns
    -------
    float
        The largest distance of a mean to the best linear model.

    Raises
    ------
    ProblemError
        The features or the means have the wrong shape or entries that are not finite.
    CertificateError
        The linear program could not be solved to the accuracy that its proof needs.

    Examples
    --------
    >>> round(smallest_misspecification([[1, 0], [1, 1], [1, 2]], [0, 3, 2]), 9)
    1.0
    """
    if not isinstance(model, Model):
        model = Model(model, 0.0)
    refuse_other_labels(model, means=means)
    return chebyshev_deviation(model.features, as_vector(means, "means", model.K))[0]


def chebyshev_deviation(features: Array, means: Array) -> tuple[float, Array]:
    """Smallest misspecification whose tube contains the means, and a centre that attains it.

    Solves  min over theta of  max_k |means_k - phi_k' theta|  for features (K, d) and means (K,).
    The deviation is recomputed from the returned theta (d,), so the means really lie in that tube;
    a vector z with |z|_1 = 1 and A'z = 0 shows that no theta does better, since then
    z'means = z'(means - A theta) <= max_k |means_k - phi_k' theta|.  The paper writes |means|_eps
    for this number in its proof of Lemma 2.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> deviation, theta = chebyshev_deviation(features, np.array([0.0, 3.0, 2.0]))
    >>> round(deviation, 9), theta.round(9).tolist()
    (1.0, [1.0, 1.0])
    """
    if not np.any(means):
        return 0.0, np.zeros(features.shape[1])
    unit = float(np.max(np.abs(means)))
    scaled = means / unit
    basis, to_theta = _orthonormal(features)
    fit = basis.T @ scaled
    fit += basis.T @ (scaled - basis @ fit)
    residual = scaled - basis @ fit
    spread = float(np.max(np.abs(residual)))
    z = np.zeros(scaled.size)
    if spread > 64 * _ROUNDING and basis.shape[1] < scaled.size:
        shift, z = _solve(basis, residual / spread)
        fit = fit + spread * shift
    theta = to_theta @ fit
    deviation = float(np.max(np.abs(scaled - features @ theta)))
    bound = float(z @ residual)
    # theta is rounded to float64 entry by entry, which moves A theta by this much and no less.
    rounding = _ROUNDING * (features.shape[1] + 2) * float(np.max(np.abs(features) @ np.abs(theta)))
    if not deviation - bound <= 1e-9 * spread + rounding + 128 * _ROUNDING:
        raise CertificateError(
            f"the linear program for the smallest misspecification is not certified: "
            f"{deviation * unit!r} is attained and {bound * unit!r} is proved"
        )
    return deviation * unit, theta * unit


def _orthonormal(features: Array) -> tuple[Array, Array]:
    """Nearly orthonormal basis (K, r) of the columns' span, and the (d, r) map to theta."""
    scale = np.max(np.abs(features), axis=0)
    scale[scale == 0.0] = 1.0
    _, singular, right = np.linalg.svd(features / scale, full_matrices=False)
    rank = int(np.sum(singular > max(features.shape) * _ROUNDING * singular[0]))
    to_theta = (right[:rank] / singular[:rank, None]).T / scale[:, None]
    # Not the left singular vectors: those leave the span of nearly collinear features.
    return features @ to_theta, to_theta


def _solve(basis: Array, residual: Array) -> tuple[Array, Array]:
    """Centre (r,) and dual certificate (K,) of a residual of size one, by the dual program."""
    from scipy.optimize import linprog

    K, r = basis.shape
    # The program over z = p - n, p, n >= 0 has r + 1 rows whatever K is.
    equalities = np.vstack([np.hstack([basis.T, -basis.T]), np.ones((1, 2 * K))])
    answer = linprog(
        np.concatenate([-residual, residual]),
        A_eq=equalities,
        b_eq=np.concatenate([np.zeros(r), [1.0]]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    z = np.ones(K) if answer.x is None else answer.x[:K] - answer.x[K:]
    try:
        return _exchanged(basis, residual, z)
    except np.linalg.LinAlgError as error:
        raise CertificateError(
            f"the linear program for the smallest misspecification is not solved: {error}"
        ) from error


def _exchanged(basis: Array, residual: Array, z: Array) -> tuple[Array, Array]:
    """Exchange arms until the equations of r + 1 of them solve the program to rounding.

    A general solver stops at its own tolerance and drops small coefficients. A few more steps of
    the simplex method finish: the arm farthest from the centre enters, and the arm whose multiplier
    first falls to zero leaves.
    """
    r = basis.shape[1]
    arms = _reference(basis, z)
    signs = np.sign(np.linalg.svd(basis[arms].T)[2][-1])
    signs[signs == 0.0] = 1.0
    signs *= 1.0 if _multipliers(basis[arms], signs) @ (signs * residual[arms]) >= 0.0 else -1.0
    for _ in range(20 * (r + 5)):
        columns = np.vstack([(signs[:, None] * basis[arms]).T, np.ones(r + 1)])
        centre = np.linalg.solve(columns.T, signs * residual[arms])
        errors = residual - basis @ centre[:r]
        k = int(np.argmax(np.abs(errors)))
        if abs(errors[k]) <= centre[r] + 1e-14:
            break
        sign = np.sign(errors[k])
        direction = np.linalg.solve(columns, np.append(sign * basis[k], 1.0))
        multipliers = np.maximum(_multipliers(basis[arms], signs), 0.0)
        falling = direction > 1e-13 * np.max(np.abs(direction))
        steps = np.full(r + 1, np.inf)
        steps[falling] = multipliers[falling] / direction[falling]
        leaving = int(np.argmin(steps))
        arms[leaving], signs[leaving] = k, sign
    dual = np.zeros(residual.size)
    dual[arms] = signs * _multipliers(basis[arms], signs)
    return centre[:r], dual / np.sum(np.abs(dual))


def _reference(basis: Array, z: Array) -> NDArray[np.intp]:
    """r + 1 arms of rank r, those with the largest multipliers z first."""
    from scipy.linalg import qr

    r = basis.shape[1]
    preference = np.abs(z) + 1e-6 * np.max(np.abs(z))
    independent = qr((preference[:, None] * basis).T, mode="r", pivoting=True)[1][:r]
    preference[independent] = 0.0
    return np.append(independent, np.argmax(preference))


def _multipliers(rows: Array, signs: Array) -> Array:
    """x (r + 1,) that adds up to one with  sum_k x_k sign_k u_k = 0."""
    columns = np.vstack([(signs[:, None] * rows).T, np.ones(signs.size)])
    x: Array = np.linalg.solve(columns, np.append(np.zeros(rows.shape[1]), 1.0))
    return x
