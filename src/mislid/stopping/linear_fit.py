"""Displacements along the features: least squares, and its largest bias in the tube.

For the difference g = x_j - x_i of a pair's features, V = X' W X and P = V^-1 X' W, the evidence
depends on g'theta + tol - eps |e_i - e_j + P'g|_1: the fitted gap less the largest bias that
deviations within the tube can cause.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from mislid._jit import (
    ArmOrder,
    Matrix,
    PerArm,
    PerFeature,
    Square,
    Struct,
    Vector,
    inner,
    inner_loop,
    kernel,
    kernel_loop,
)
from mislid.geometry.linalg import (
    cholesky,
    cholesky_solve,
    copy_matrix,
    dot,
    gram,
    transposed_times,
)
from mislid.geometry.search import SearchSpace
from mislid.stopping.evidence import Family, linear_evidence
from mislid.stopping.state import Setting

# If a pivot is below this share of the largest one, the measured arms count as not spanning.
SINGULAR = 1e-11


class LinearFit(Struct):
    """theta = V^-1 X' W y, less the linear part of the projection."""

    gram: Square  # V, lower triangle
    factor: Square  # of V
    inverse: Square
    theta: PerFeature
    difference: PerFeature  # g of the last pair
    along: PerFeature  # V^-1 g
    moved: PerFeature
    values: PerArm  # X theta
    residual: PerArm
    measured: ArmOrder  # the arms with weight
    size: int  # how many
    half_volumes: Annotated[Vector, ("n",)]  # 1/2 ln det(I + s^2 V) of every scale
    lifted: Annotated[Matrix, ("K", "d")]  # V^-1 x_k
    own: PerArm  # x_k' V^-1 x_k


@kernel
def fit_linear(
    setting: Setting, weights: Vector, means: Vector, space: SearchSpace, fit: LinearFit
) -> bool:
    """Fit the means (K,) at the weights (K,); whether the measured arms span.

    Means are taken relative to the projection's linear part, so that a large level loses no digits.
    """
    X, d = setting.X, setting.X.shape[1]
    spanner, rest = space.newton.spanner, space.newton.rest
    fit.size = 0
    for k in range(weights.shape[0]):
        fit.residual[k] = weights[k] * (means[k] - space.linear[k])
        if weights[k] > 0.0:
            fit.measured[fit.size] = k
            fit.size += 1
    gram(X, spanner, rest, weights, fit.gram)
    copy_matrix(fit.gram, fit.factor)
    cholesky(fit.factor, d)
    largest = 0.0
    for a in range(d):
        largest = max(largest, fit.gram[a, a])
    for a in range(d):
        pivot = fit.factor[a, a]  # inverted, and 1e-150 where there is none
        if not pivot > 1e-140 or not pivot * pivot * SINGULAR * largest < 1.0:
            return False
    transposed_times(X, spanner, rest, fit.residual, fit.difference)
    cholesky_solve(fit.factor, d, fit.difference, fit.theta)
    return True


@inner
def set_volumes(family: Family, fit: LinearFit) -> None:
    """1/2 ln det(I + s^2 V) for every scale; `inverse` is work."""
    square, d = fit.inverse, fit.theta.shape[0]
    for n in range(family.scales.shape[0]):
        scale = family.scales[n]
        copy_matrix(fit.gram, square)
        for a in range(d):
            square[a, a] += 1.0 / (scale * scale)
        cholesky(square, d)
        volume = 0.0
        for a in range(d):
            volume -= math.log(square[a, a] / scale)  # pivots are inverted
        fit.half_volumes[n] = volume


@inner_loop
def lift_all(setting: Setting, fit: LinearFit) -> None:
    """V^-1 x_k, x_k' V^-1 x_k and x_k' theta of every arm."""
    X, d, unit, inverse = setting.X, setting.X.shape[1], fit.difference, fit.inverse
    for a in range(d):
        for b in range(d):
            unit[b] = 1.0 if a == b else 0.0
        cholesky_solve(fit.factor, d, unit, fit.along)
        for b in range(d):
            inverse[a, b] = fit.along[b]
    for k in range(X.shape[0]):
        own, value = 0.0, 0.0
        for a in range(d):
            s = 0.0
            for b in range(d):
                s += inverse[a, b] * X[k, b]
            fit.lifted[k, a] = s
            own += s * X[k, a]
            value += X[k, a] * fit.theta[a]
        fit.own[k] = own
        fit.values[k] = value


@inner_loop
def difference_of(
    setting: Setting, fit: LinearFit, i: int, j: int
) -> tuple[float, float, float, float]:
    """For a pair, after `lift_all`: g'V^-1 g, g'V^-2 g, x_i'V^-1 g and x_j'V^-1 g."""
    cross, curvature = 0.0, 0.0
    for a in range(setting.X.shape[1]):
        cross += setting.X[i, a] * fit.lifted[j, a]
        step = fit.lifted[j, a] - fit.lifted[i, a]
        curvature += step * step
    at_i, at_j = cross - fit.own[i], fit.own[j] - cross
    return at_j - at_i, curvature, at_i, at_j


@inner_loop
def _weighed(setting: Setting, weights: Vector, i: int, j: int, along: Vector, k: int) -> float:
    """One entry of e_i - e_j + P'g."""
    s = 0.0
    if weights[k] > 0.0:
        for a in range(setting.X.shape[1]):
            s += setting.X[k, a] * along[a]
        s *= weights[k]
    if k == i:
        s += 1.0
    elif k == j:
        s -= 1.0
    return s


@inner_loop
def tube_bias(
    setting: Setting, weights: Vector, i: int, j: int, along: Vector, fit: LinearFit
) -> float:
    """|e_i - e_j + P'g|_1 for `along` = V^-1 g, with both arms of the pair, measured or not."""
    total = (1.0 if weights[i] == 0.0 else 0.0) + (1.0 if weights[j] == 0.0 else 0.0)
    for n in range(fit.size):
        total += abs(_weighed(setting, weights, i, j, along, fit.measured[n]))
    return total


@inner
def aim_along(
    setting: Setting, space: SearchSpace, i: int, j: int, fit: LinearFit
) -> tuple[float, float, float]:
    """The fitted gap of a pair with the tolerance, g'V^-1 g and g'V^-2 g; sets g and V^-1 g."""
    X, centre, d = setting.X, space.linear, setting.X.shape[1]
    for a in range(d):
        fit.difference[a] = X[j, a] - X[i, a]
    cholesky_solve(fit.factor, d, fit.difference, fit.along)
    gap = dot(fit.difference, fit.theta) + (centre[j] - centre[i]) + setting.tol
    return gap, dot(fit.difference, fit.along), dot(fit.along, fit.along)


@kernel
def evidence_along(
    setting: Setting,
    weights: Vector,
    space: SearchSpace,
    family: Family,
    i: int,
    j: int,
    fit: LinearFit,
) -> tuple[float, float, float, float]:
    """The evidence of a pair by the features, gap beyond the bias, g'V^-1 g and g'V^-2 g."""
    beyond, width, curvature = aim_along(setting, space, i, j, fit)
    if setting.eps > 0.0:
        beyond -= setting.eps * tube_bias(setting, weights, i, j, fit.along, fit)
    evidence = linear_evidence(family, fit.half_volumes, beyond, width, curvature)
    return evidence, beyond, width, curvature


@kernel_loop
def bend_to_tie(
    setting: Setting,
    weights: Vector,
    space: SearchSpace,
    i: int,
    j: int,
    gap: float,
    width: float,
    fit: LinearFit,
    out: Vector,
) -> None:
    """Fill `out` (K,) with a model in which i beats j by the tolerance, after `aim_along`.

    Deviations bias the fit by as much as is needed, or as the tube allows. The linear part moves by
    the remaining gap.
    """
    X, d, theta, along = setting.X, setting.X.shape[1], fit.difference, fit.along
    bias = setting.eps * tube_bias(setting, weights, i, j, along, fit)
    size = setting.eps
    if gap < bias:
        size *= max(gap, 0.0) / bias
    for k in range(out.shape[0]):
        out[k] = size * _sign(_weighed(setting, weights, i, j, along, k))
        fit.residual[k] = weights[k] * out[k]
    spanner, rest = space.newton.spanner, space.newton.rest
    transposed_times(X, spanner, rest, fit.residual, theta)
    cholesky_solve(fit.factor, d, theta, fit.moved)
    step = max(gap - bias, 0.0) / width
    for a in range(d):
        theta[a] = fit.theta[a] - fit.moved[a] - step * along[a]
    for k in range(out.shape[0]):
        out[k] += space.linear[k] + dot(X[k], theta)


@inner
def _sign(value: float) -> float:
    return 1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)


@inner_loop
def _largest_term(
    family: Family, half_volumes: Vector, beyond: float, width: float, curvature: float
) -> float:
    """The largest of the terms that `linear_evidence` adds up."""
    most = -np.inf
    for n in range(family.scales.shape[0]):
        scale = family.scales[n]
        term = beyond * beyond / (2.0 * (width + curvature / (scale * scale)))
        most = max(most, term - half_volumes[n] + family.logs[n])
    return most


@inner
def may_settle(
    family: Family, level: float, beyond: float, width: float, curvature: float, fit: LinearFit
) -> bool:
    """Whether a pair with at most this gap beyond its bias can have enough evidence."""
    if beyond <= 0.0:
        return False
    most = _largest_term(family, fit.half_volumes, beyond, width, curvature)
    return most + math.log(float(family.scales.shape[0])) >= level * (1.0 - 1e-9)


@inner
def _volume_at(family: Family, n: int, growth: float, fit: LinearFit) -> float:
    """1/2 ln det(I + s^2 f V) of the n-th scale, ln f = 2 `growth`, by interpolation."""
    scales, volumes = family.scales, fit.half_volumes
    place = n + growth / math.log(scales[1] / scales[0])
    at = min(int(place), scales.shape[0] - 2)
    return volumes[at] + (place - at) * (volumes[at + 1] - volumes[at])


@inner
def growth_needed(
    family: Family, level: float, beyond: float, width: float, curvature: float, fit: LinearFit
) -> float:
    """The factor by which all weights must grow for enough evidence, if the fit does not change."""
    if beyond <= 0.0:
        return np.inf
    low, high = 0.0, 12.0
    while high - low > 0.02:
        growth = 0.5 * (low + high)
        f, most = math.exp(2.0 * growth), -np.inf
        for n in range(family.scales.shape[0]):
            spread = 2.0 * (width / f + curvature / (f * f * family.scales[n] ** 2))
            value = beyond * beyond / spread - _volume_at(family, n, growth, fit)
            most = max(most, value + family.logs[n])
        if most >= level:
            high = growth
        else:
            low = growth
    return math.exp(2.0 * high)
