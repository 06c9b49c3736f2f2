"""Weighted least squares, and how far the tube can bend it: what displacements along features need."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from mislid._kernels.compile import inner, inner_loop
from mislid._kernels.families import Family
from mislid._kernels.linalg import (
    cholesky,
    cholesky_solve,
    copy_matrix,
    dot,
    gram,
    transposed_times,
)
from mislid._kernels.search import SearchSpace
from mislid._kernels.state import Setting
from mislid._kernels.structs import (
    ArmOrder,
    Matrix,
    PerArm,
    PerFeature,
    Square,
    Struct,
    Vector,
)

# Below this share of the largest pivot the measured arms are taken not to span.
SINGULAR = 1e-11


class LinearFit(Struct):
    """theta = V^-1 X' W y with V = X' W X, for weights W of the measured arms and means y."""

    gram: Square  # V, lower triangle
    factor: Square  # of V
    inverse: Square
    theta: PerFeature  # fit less the centre that it was computed from
    slope: PerFeature
    work: PerFeature
    values: PerArm  # of the fit
    residual: PerArm
    measured: ArmOrder  # the arms with weight
    size: int  # how many
    spans: bool
    half_volumes: Annotated[Vector, ("n",)]  # 1/2 ln det(I + s^2 V) of every scale
    lifted: Annotated[Matrix, ("K", "d")]  # V^-1 x_k
    own: PerArm  # x_k' V^-1 x_k


@inner
def fit_linear(
    setting: Setting,
    weights: Vector,
    means: Vector,
    space: SearchSpace,
    family: Family,
    fit: LinearFit,
) -> bool:
    """Fit the means (K,) at the weights (K,), from the linear part of their projection on.

    Whether the measured arms span. Distances from the projection, not the level, carry the digits.
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
    largest, smallest = 0.0, np.inf
    for a in range(d):
        largest = max(largest, fit.gram[a, a])
        smallest = min(smallest, 1.0 / (fit.factor[a, a] * fit.factor[a, a]))
    fit.spans = fit.size >= d and smallest > SINGULAR * largest
    for a in range(d):
        fit.spans = fit.spans and fit.factor[a, a] > 1e-150
    if not fit.spans:
        return False
    transposed_times(X, spanner, rest, fit.residual, fit.slope)
    cholesky_solve(fit.factor, d, fit.slope, fit.theta)
    _set_volumes(family, fit)
    return True


@inner
def _set_volumes(family: Family, fit: LinearFit) -> None:
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
    """V^-1 x_k and x_k' V^-1 x_k of every arm, and the values of the fit less the centre."""
    X, d, unit, inverse = setting.X, setting.X.shape[1], fit.slope, fit.inverse
    for a in range(d):
        for b in range(d):
            unit[b] = 1.0 if a == b else 0.0
        cholesky_solve(fit.factor, d, unit, fit.work)
        for b in range(d):
            inverse[a, b] = fit.work[b]
    for k in range(X.shape[0]):
        own = 0.0
        for a in range(d):
            s = 0.0
            for b in range(d):
                s += inverse[a, b] * X[k, b]
            fit.lifted[k, a] = s
            own += s * X[k, a]
        fit.own[k] = own
        fit.values[k] = dot(X[k], fit.theta)


@inner_loop
def tube_bias(
    setting: Setting, weights: Vector, i: int, j: int, along: Vector, fit: LinearFit
) -> float:
    """|e_i - e_j + P' g|_1 for P = V^-1 X' W and `along` = V^-1 g, g = x_j - x_i.

    Times eps, how far deviations within the tube can move the gap's fit off the gap.
    """
    X, d = setting.X, setting.X.shape[1]
    total = (1.0 if weights[i] == 0.0 else 0.0) + (1.0 if weights[j] == 0.0 else 0.0)
    for n in range(fit.size):
        k = fit.measured[n]
        s = 0.0
        for a in range(d):
            s += X[k, a] * along[a]
        s *= weights[k]
        if k == i:
            s += 1.0
        elif k == j:
            s -= 1.0
        total += abs(s)
    return total
