"""The threshold of the mixture: what it costs not to know the means beforehand.

Let lambda ~ N(0, Sigma) be drawn before the data. The likelihood of the data under lambda, averaged
over lambda and divided by that under the true mu, is a non-negative martingale with mean 1 (for
sub-Gaussian noise a supermartingale), whatever rule chooses the arms. With D = diag(weights) and
empirical means x, its logarithm is

    1/2 |x - mu|_D^2  -  1/2 ln det(I + D Sigma)  -  1/2 x' (D^-1 + Sigma)^-1 x,

and an average over several Sigma is a martingale too. By Ville's inequality it ever reaches 1/delta
with probability at most delta: except for that, always

    1/2 |x - mu|_D^2 < ln(1/delta) - ln average_c exp(-1/2 ln det(.) - 1/2 x' (.) x).

What is added to ln(1/delta) is the `price`. Any prior that is fixed before the data is valid;
a bad one only costs samples. Ours is Sigma = s^2 X X' + (e^2 / 3) I: linear values of size s at the
arms of the spanner, so that nothing depends on the features' basis, and deviations of the variance
of a uniform one in [-e, e]. Sizes are in units of the noise. s runs over six decades: each value
that does not help costs at most ln 6 = 1.8 in all, while one scale for all problems would cost up
to d ln 1000. e runs in half decades up to the declared eps. It is multiplied by K, not by d, so
that a declared eps that is ten times the true deviation would cost K ln 10. Measured with even
allocations at delta = 0.05, thresholds are within 3.3 of the best of seven such grids on the
five published instances and two random ones, on which they were also chosen.
Against a single e, equal to eps or to the noise, they fall from 605 to 551 on E (103 artists), and
from 560 to 257 on K = 100, d = 10 with eps infinite.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._kernels.compile import inner, inner_loop
from mislid._kernels.linalg import (
    cholesky,
    cholesky_solve,
    copy_matrix,
    dot,
    gram,
    times,
    transposed_times,
)
from mislid._kernels.state import Setting
from mislid._kernels.structs import Indices, Matrix, PerArm, PerFeature, Square, Struct, Vector

SCALES = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
SPREADS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# The price is evaluated at least whenever the weights have grown by this factor.
RENEWAL = 1.05


class Mixture(Struct):
    """The priors' scales s and variances e^2 / 3 (n,), equal variances in a row, and workspace."""

    scales: Vector  # (n,)
    variances: Vector  # (n,)
    spanner: Indices  # (d,) arms on which X is the identity
    rest: Indices  # (K - d,) the others
    shrunk: PerArm  # 1 / (1 / weights + variance)
    residual: PerArm
    gram: Square
    factor: Square
    centre: PerFeature  # a linear fit to the means
    slope: PerFeature  # X' H (means - X centre)
    target: PerFeature
    theta: PerFeature
    # Of the last evaluation.
    least: float  # the price of the volumes alone, which is less and never falls as weights grow
    price: float
    weight: float  # sum of the weights


def new_mixture(setting: Setting) -> Mixture:
    """The priors for this setting, in units of the (geometric) mean noise."""
    K, d = setting.X.shape
    unit = math.exp(0.5 * float(np.mean(np.log(setting.variance))))
    spreads = [unit * e for e in SPREADS if unit * e < setting.eps]
    if setting.eps <= unit * SPREADS[-1]:
        spreads.append(setting.eps)
    return Mixture.zeros(
        {"K": K, "d": d},
        scales=unit * np.tile(SCALES, len(spreads)),
        variances=np.repeat(np.square(spreads) / 3.0, len(SCALES)),
        spanner=setting.basis,
        rest=np.setdiff1d(np.arange(K), setting.basis),
    )


@inner_loop
def _factor(precision: float, prior: Mixture) -> None:
    """Factor G + precision I."""
    copy_matrix(prior.gram, prior.factor)
    for a in range(prior.factor.shape[0]):
        prior.factor[a, a] += precision
    cholesky(prior.factor, prior.theta.shape[0])


@inner_loop
def _shrink(
    X: Matrix, weights: Vector, means: Vector, variance: float, prior: Mixture
) -> tuple[float, float]:
    """Prepare what priors of one e share, with H = diag(shrunk) and G = X' H X.

    Returns ln det(I + D e^2 / 3) and |x - X centre|_H^2, centre the fit of the widest prior. From
    there on the level of the means does not cancel in the quadratic forms, and d numbers will do.
    """
    shrunk, residual = prior.shrunk, prior.residual
    volume, misfit = 0.0, 0.0
    for k in range(weights.shape[0]):
        volume += math.log1p(weights[k] * variance)
        shrunk[k] = weights[k] / (1.0 + weights[k] * variance)
        residual[k] = shrunk[k] * means[k]
    gram(X, prior.spanner, prior.rest, shrunk, prior.gram)
    transposed_times(X, prior.spanner, prior.rest, residual, prior.slope)
    _factor(1.0 / prior.scales[prior.scales.shape[0] - 1] ** 2, prior)
    cholesky_solve(prior.factor, prior.slope.shape[0], prior.slope, prior.centre)
    times(X, prior.spanner, prior.rest, prior.centre, residual)
    for k in range(weights.shape[0]):
        rest = means[k] - residual[k]
        residual[k] = shrunk[k] * rest
        misfit += residual[k] * rest
    transposed_times(X, prior.spanner, prior.rest, residual, prior.slope)
    return volume, misfit


@inner_loop
def _linear_price(scale: float, prior: Mixture) -> tuple[float, float]:
    """ln det(I + s^2 G) and x' (H^-1 + s^2 X X')^-1 x - |x - X centre|_H^2.

    The second is min over theta of |x - X theta|_H^2 + |theta|^2 / s^2, by Woodbury's identity.
    """
    precision = 1.0 / (scale * scale)
    theta, target = prior.theta, prior.target
    volume, misfit = 0.0, 0.0
    for a in range(target.shape[0]):
        target[a] = prior.slope[a] - precision * prior.centre[a]
        misfit += precision * prior.centre[a] ** 2
    _factor(precision, prior)
    cholesky_solve(prior.factor, theta.shape[0], target, theta)
    misfit -= dot(theta, target)
    for a in range(target.shape[0]):
        volume -= 2.0 * math.log(prior.factor[a, a] / scale)  # pivots are inverted
    return volume, misfit


@inner
def _add(value: float, largest: float, total: float) -> tuple[float, float]:
    """Add exp(value) to total * exp(largest)."""
    if value > largest:
        return value, total * math.exp(largest - value) + 1.0
    return largest, total + math.exp(value - largest)


@inner
def mixture_price(X: Matrix, weights: Vector, means: Vector, prior: Mixture) -> float:
    """How far the threshold lies above ln(1/delta); arms never measured drop out.

    Keeps it in `prior`, with the price of the volumes alone.
    """
    n = prior.scales.shape[0]
    largest, total, least_largest, least_total = -np.inf, 0.0, -np.inf, 0.0
    shared_volume, shared_misfit, weight = 0.0, 0.0, 0.0
    for c in range(n):
        if c == 0 or prior.variances[c] != prior.variances[c - 1]:
            shared_volume, shared_misfit = _shrink(X, weights, means, prior.variances[c], prior)
        volume, misfit = _linear_price(prior.scales[c], prior)
        volume += shared_volume
        misfit += shared_misfit
        largest, total = _add(-0.5 * (volume + misfit), largest, total)
        least_largest, least_total = _add(-0.5 * volume, least_largest, least_total)
    for k in range(weights.shape[0]):
        weight += weights[k]
    prior.least = math.log(n) - least_largest - math.log(least_total)
    prior.price = math.log(n) - largest - math.log(total)
    prior.weight = weight
    return prior.price


@inner
def price_above(X: Matrix, weights: Vector, means: Vector, surplus: float, prior: Mixture) -> float:
    """`mixture_price`, or an earlier one where `surplus` is sure to be below both.

    The price takes longer than the rest of a round. It is evaluated where it matters or the weights
    have grown by RENEWAL since.
    """
    weight = 0.0
    for k in range(weights.shape[0]):
        weight += weights[k]
    recent = prior.weight <= weight <= RENEWAL * prior.weight
    if recent and surplus < prior.least * (1.0 - 1e-9):
        return prior.price
    return mixture_price(X, weights, means, prior)
