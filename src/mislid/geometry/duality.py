"""Weak duality in plain NumPy: what a certificate proves, for anyone to check.

For any z with A'z = 0 and any alpha >= 0, with v = z + alpha (e_j - e_i), every model lambda with
lambda_i >= lambda_j + tol costs at least

    ( v'mu + alpha tol - eps |z|_1 )_+^2 / ( 2 sum_k v_k^2 / w_k ).

Whether (z, alpha) is feasible depends on neither the means nor the weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector
from mislid.model import Model


class Proofs(NamedTuple):
    """Multipliers that prove a lower bound on the cost of some pairs, whatever the weights.

    Shapes: pairs (n, 2), multipliers (n, K) with A'z = 0 in each row, alphas (n,).
    """

    pairs: NDArray[np.int64]
    multipliers: Matrix
    alphas: Vector


# Rounding that is forgiven in A'z = 0, against |A|'|z|, and in statements about means.
SLACK = 1e-9


def proved_bound(
    model: Model,
    means: Vector,
    weights: Vector,
    multipliers: Vector,
    alpha: float = 0.0,
    pair: tuple[int, int] | None = None,
    tolerance: float = 0.0,
    theta: Vector | None = None,
) -> float:
    """The lower bound that (multipliers, alpha) prove at these means (K,) and weights (K,).

    Without a pair it is a bound on the projection's cost. `theta` (d,) only helps rounding: where
    A'z = 0 the means may be measured from any linear model.

    Examples
    --------
    >>> import numpy as np
    >>> model = Model([[1.0], [1.0]], misspecification=0.1)
    >>> proved_bound(model, np.array([1.0, 0.0]), np.ones(2), np.zeros(2), 1.0, (1, 0))
    0.25
    """
    centred = means if theta is None else means - model.features @ theta
    v = np.array(multipliers)
    value = alpha * tolerance
    if pair is not None:
        i, j = pair
        v[j] += alpha
        v[i] -= alpha
        if theta is not None:
            value += alpha * float((model.features[j] - model.features[i]) @ theta)
    size = float(np.sum(np.abs(multipliers)))
    value += float(v @ centred) - (model.misspecification * size if size > 0.0 else 0.0)
    moved = v != 0.0
    if value <= 0.0 or np.any(weights[moved] == 0.0):
        return 0.0
    square = float(np.sum(v[moved] ** 2 / weights[moved]))
    return value**2 / (2.0 * square) if square > 0.0 else math.inf


def unstructured_bounds(
    means: Vector, weights: Vector, pairs: NDArray[np.int64], tolerance: float
) -> Vector:
    """The bound of z = 0 for each pair (n, 2): what the pair costs if no other arm can tell."""
    i, j = pairs.T
    gap = np.maximum(means[j] - means[i] + tolerance, 0.0)
    heavy = (weights[i] > 0.0) & (weights[j] > 0.0)
    with np.errstate(divide="ignore"):
        spread = 1.0 / weights[i] + 1.0 / weights[j]
    bounds: Vector = np.where(heavy, gap**2 / (2.0 * spread), 0.0)
    return bounds


def linear_multipliers(model: Model, weights: Vector, pair: tuple[int, int]) -> Vector:
    """z = (D A V^-1 A' - I) u, V = A'DA, u = e_j - e_i: optimal where the model is linear."""
    i, j = pair
    u = np.zeros(model.K)
    u[j], u[i] = 1.0, -1.0
    root = np.sqrt(weights)
    A = root[:, None] * model.features
    fitted: Vector = (
        model.features
        @ np.linalg.lstsq(A.T @ A, model.features[j] - model.features[i], rcond=None)[0]
    )
    return weights * fitted - u


def multiplier_failures(
    model: Model, multipliers: Vector, alpha: float = 0.0, pair: tuple[int, int] | None = None
) -> list[str]:
    """What keeps (multipliers, alpha) from being feasible for a pair, or for the projection."""
    failures = []
    if not alpha >= 0.0:
        failures.append(f"alpha must not be negative; got {alpha:g}")
    if math.isinf(model.misspecification):
        if np.any(multipliers != 0.0):
            failures.append("multipliers must vanish where the model has no structure")
        return failures
    sizes = np.abs(multipliers)
    if pair is not None:
        sizes[list(pair)] += abs(alpha)
    residual, scale = np.abs(model.features.T @ multipliers), np.abs(model.features).T @ sizes
    worst = int(np.argmax(residual - SLACK * scale))
    if not residual[worst] <= SLACK * scale[worst]:
        failures.append(
            f"features.T @ multipliers must vanish; column {worst} gives {residual[worst]:g} "
            f"on a scale of {scale[worst]:g}"
        )
    return failures


def membership_failures(model: Model, means: Vector, theta: Vector) -> list[str]:
    """What keeps means (K,) from lying in the tube around A theta."""
    fitted = model.features @ theta
    rounding = np.abs(model.features) @ np.abs(theta) + np.abs(means)
    excess = np.abs(means - fitted) - model.misspecification
    worst = int(np.argmax(excess - SLACK * rounding))
    if excess[worst] > SLACK * rounding[worst]:
        return [
            f"means must deviate from features @ theta by at most {model.misspecification:g}; "
            f"arm {worst} exceeds that by {excess[worst]:g}"
        ]
    return []


def cost_failures(
    given: Vector,
    weights: Vector,
    means: Vector,
    cost: float,
    bound: float,
    proved: float,
    rtol: float,
) -> list[str]:
    """What is wrong with a cost and its bound, given the bound that is proved."""
    failures = []
    moved = means - given
    actual = 0.5 * float(np.sum(weights * moved**2))
    scale = float(np.max(weights)) * float(np.max(np.abs(given - means), initial=0.0)) ** 2
    slack = rtol * cost + 1e-12 * scale
    if not abs(actual - cost) <= SLACK * cost + 1e-13 * scale:
        failures.append(f"cost must be 1/2 sum w (means - given)^2 = {actual!r}; got {cost!r}")
    if not bound <= cost:
        failures.append(f"bound must not exceed the cost {cost!r}; got {bound!r}")
    if not bound <= proved + slack:
        failures.append(f"bound must be what the multipliers prove, {proved!r}; got {bound!r}")
    if not cost - bound <= slack:
        failures.append(f"cost {cost!r} and bound {bound!r} must agree to {rtol:g}")
    return failures


def rival_failures(
    model: Model,
    given: Vector,
    weights: Vector,
    incumbents: tuple[int, ...],
    tolerance: float,
    target: float,
    floor: Vector | None,
    proofs: Proofs | None,
) -> list[str]:
    """Which pairs of the incumbents are not proved to cost at least `target`.

    Tried in this order: no structure on top of the floor, multipliers on file, z_lin on top of
    the floor.
    """
    challengers = np.setdiff1d(np.arange(model.K), incumbents)
    pairs = np.array([(i, j) for i in challengers for j in incumbents])
    floor = np.zeros(model.K) if floor is None else floor
    least = proved_bound(model, given, weights, floor)
    nearest = given - np.divide(floor, weights, out=np.zeros(model.K), where=weights > 0.0)
    open_pairs = pairs[least + unstructured_bounds(nearest, weights, pairs, tolerance) < target]
    on_file = {} if proofs is None else {tuple(p): n for n, p in enumerate(proofs.pairs.tolist())}
    failures = []
    for i, j in open_pairs.tolist():
        proved = 0.0
        if proofs is not None and (i, j) in on_file:
            n = on_file[i, j]
            if not multiplier_failures(
                model, proofs.multipliers[n], float(proofs.alphas[n]), (i, j)
            ):
                proved = proved_bound(
                    model,
                    given,
                    weights,
                    proofs.multipliers[n],
                    float(proofs.alphas[n]),
                    (i, j),
                    tolerance,
                )
        if proved < target:
            proved = max(proved, least + _linear_gain(model, nearest, weights, (i, j), tolerance))
        if proved < target:
            failures.append(
                f"pair ({i}, {j}) must cost at least {target!r}; only {proved!r} is proved"
            )
    return failures


def _linear_gain(
    model: Model, nearest: Vector, weights: Vector, pair: tuple[int, int], tolerance: float
) -> float:
    """What multipliers alpha s z_lin add to the floor, for the best s in [0, 1] and alpha.

    At the projection `nearest` (K,), whose own multipliers are the floor.
    """
    i, j = pair
    z = linear_multipliers(model, weights, pair)
    if multiplier_failures(model, z):
        return 0.0
    best = 0.0
    for s in np.linspace(0.0, 1.0, 101):
        v = s * z
        v[j] += 1.0
        v[i] -= 1.0
        moved = v != 0.0
        if np.any(weights[moved] == 0.0):
            continue
        value = float(v @ nearest) + tolerance - s * model.misspecification * float(np.abs(z).sum())
        square = float(np.sum(v[moved] ** 2 / weights[moved]))
        best = max(best, max(value, 0.0) ** 2 / (2.0 * square))
    return best
