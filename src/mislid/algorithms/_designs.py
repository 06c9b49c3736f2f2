"""Experimental designs: allocations that estimate all differences between some arms well.

The XY-design (Soare et al., 2014) makes the largest variance of a pair smallest,
    rho = min over shares of max over pairs of |x_i - x_j|^2 in the inverse of
          sum_k share_k x_k x_k' / sigma_k^2,
by Frank-Wolfe: step k, of size 2 / (k + 2), goes to the arm that reduces the variance of the widest
pair most. Unnormalised shares then grow by k + 1 at this arm, so that information never shrinks.
Without features, a pair's variance is that of its two means, and the best shares have a closed
form.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import PerArm, Struct, Vector, inner, kernel
from mislid.geometry.linalg import fill
from mislid.stopping.ridge import RidgeSpace, apply_measurement, invert, squared_distance
from mislid.stopping.state import Setting

# Steps of Frank-Wolfe; the largest variance is then within a few per cent of the optimum.
STEPS = 1_000
# Steps between two inversions.
PERIOD = 64
# Smaller shares are remainders of the initial allocation.
NEGLIGIBLE = 1e-5
# A ridge relative to the information: designs for a few pairs need not span all features.
SPAN = 1e-10


class Designs(Struct):
    """A design for all pairs of the candidates, and the regression at some information."""

    candidates: PerArm  # 1 for candidates
    share: PerArm  # of all measurements, sums to one
    information: PerArm  # counts over squared noise, or shares over it
    ridge: RidgeSpace  # least squares at that information
    wide_one: int  # the widest pair of candidates at the last search
    wide_other: int


def new_designs(setting: Setting) -> dict[str, object]:
    """Initial values of the fields of `Designs`."""
    K, d = setting.X.shape
    everyone = np.arange(K, dtype=np.int64)
    ridge = RidgeSpace.zeros({"K": K, "d": d, "none": 0}, ridge=np.zeros((d, d)), everyone=everyone)
    return {"ridge": ridge, "candidates": np.ones(K)}


@inner
def regress(setting: Setting, design: Designs, total: float) -> None:
    """Invert the information matrix; `total` sets the scale of the ridge."""
    ridge = design.ridge
    for a in range(ridge.ridge.shape[0]):
        ridge.ridge[a, a] = SPAN * total
    invert(setting.X, design.information, ridge)


@inner
def total_of(values: Vector) -> float:
    """The sum of the values."""
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k]
    return total


@inner
def widest_pair(setting: Setting, design: Designs) -> float:
    """Find the pair of candidates with the largest variance along the features; that variance.

    Of equals the first, into `wide_one` and `wide_other`.
    """
    widest, candidates = -1.0, design.candidates
    for i in range(candidates.shape[0]):
        for j in range(i):
            if candidates[i] > 0.0 and candidates[j] > 0.0:
                square = squared_distance(setting.X, design.ridge.images, i, j)
                if square > widest:
                    design.wide_one, design.wide_other, widest = i, j, square
    return max(widest, 0.0)


@inner
def most_shortening(setting: Setting, design: Designs, i: int, j: int) -> int:
    """The arm by which the pair's variance falls fastest, of those that can be measured."""
    X, ridge = setting.X, design.ridge
    best, steepest = 0, -1.0
    for a in range(X.shape[1]):
        ridge.direction[a] = ridge.images[i, a] - ridge.images[j, a]
    for k in range(X.shape[0]):
        if setting.price[k] == np.inf:
            continue
        product = 0.0
        for a in range(X.shape[1]):
            product += X[k, a] * ridge.direction[a]
        fall = product * product / setting.variance[k]
        if fall > steepest:
            best, steepest = k, fall
    return best


@inner
def normalise(setting: Setting, design: Designs, negligible: float) -> None:
    """Drop negligible shares, scale the others to sum to one, and set their information.

    A small share of an arm with little noise may still have much information.
    """
    share, variance, kept = design.share, setting.variance, 0.0
    total, known = total_of(share), 0.0
    for k in range(share.shape[0]):
        known += share[k] / variance[k]
    for k in range(share.shape[0]):
        if share[k] < negligible * total and share[k] / variance[k] < negligible * known:
            share[k] = 0.0
        kept += share[k]
    for k in range(share.shape[0]):
        share[k] /= kept
        design.information[k] = share[k] / variance[k]


@kernel
def xy_design(setting: Setting, design: Designs) -> float:
    """Compute the XY-design for the candidates; return its largest variance, rho."""
    share, information, able = design.share, design.information, 0
    for k in range(share.shape[0]):
        able += setting.price[k] < np.inf
    for k in range(share.shape[0]):
        share[k] = 1.0 / able if setting.price[k] < np.inf else 0.0
        information[k] = share[k] / setting.variance[k]
    regress(setting, design, total_of(information))
    for step in range(1, STEPS + 1):
        widest_pair(setting, design)
        arm = most_shortening(setting, design, design.wide_one, design.wide_other)
        share[arm] += step + 1.0
        gained = (step + 1.0) / setting.variance[arm]
        information[arm] += gained
        if step % PERIOD == 0:
            regress(setting, design, total_of(information))
        else:
            apply_measurement(setting.X, arm, gained, design.ridge)
    normalise(setting, design, NEGLIGIBLE)
    regress(setting, design, total_of(information))
    return widest_pair(setting, design)


@kernel
def own_design(setting: Setting, design: Designs) -> float:
    """The XY-design without features; return its largest variance.

    Shares are in proportion to the candidates' variances; where one has more than all others
    together, the square roots of the two count. Candidates that cannot be measured are left out.
    """
    share, variance = design.share, setting.variance
    fill(share, 0.0)
    total, loudest = 0.0, -1
    for k in range(share.shape[0]):
        if design.candidates[k] > 0.0 and setting.price[k] < np.inf:
            share[k] = variance[k]
            total += variance[k]
            if loudest < 0 or variance[k] > variance[loudest]:
                loudest = k
    if loudest < 0:  # no candidate can be measured
        for k in range(share.shape[0]):
            share[k] = 1.0 if setting.price[k] < np.inf else 0.0
    elif 0.0 < total - variance[loudest] < variance[loudest]:
        share[loudest] = math.sqrt(variance[loudest] * (total - variance[loudest]))
    normalise(setting, design, 0.0)
    return widest_own(design)


@inner
def widest_own(design: Designs) -> float:
    """The largest variance of a pair of measured candidates, by their own measurements alone."""
    first, second = 0.0, 0.0
    for k in range(design.candidates.shape[0]):
        if design.candidates[k] > 0.0 and design.information[k] > 0.0:
            mine = 1.0 / design.information[k]
            if mine > first:
                first, second = mine, first
            else:
                second = max(second, mine)
    return first + second


@inner
def pair_bias(setting: Setting, design: Designs, i: int, j: int) -> float:
    """How far the regression's estimate of mean_i - mean_j may be off in the tube.

    The estimate weighs deviation k by c_k = (x_i - x_j)'V^-1 x_k w_k, the truth by one at i and
    minus one at j: misspecification times the 1-norm of the difference.
    """
    if setting.eps == 0.0:
        return 0.0
    X, images, norm = setting.X, design.ridge.images, 0.0
    for k in range(X.shape[0]):
        weight = 0.0
        if design.information[k] > 0.0:
            for a in range(X.shape[1]):
                weight += X[k, a] * (images[i, a] - images[j, a])
            weight *= design.information[k]
        if k == i:
            weight -= 1.0
        if k == j:
            weight += 1.0
        norm += abs(weight)
    return setting.eps * norm


@inner
def largest_bias(setting: Setting, design: Designs) -> float:
    """The largest bias of a pair of candidates."""
    largest = 0.0
    if setting.eps == 0.0:
        return largest
    for i in range(setting.X.shape[0]):
        if design.candidates[i] > 0.0:
            for j in range(i):
                if design.candidates[j] > 0.0:
                    largest = max(largest, pair_bias(setting, design, i, j))
    return largest


@inner
def support_of(share: Vector) -> int:
    """The number of arms with a share."""
    support = 0
    for k in range(share.shape[0]):
        support += share[k] > 0.0
    return support


@inner
def apportion(share: Vector, samples: float, plan: Vector) -> None:
    """Whole numbers of measurements in proportion to the shares (Pukelsheim and Rieder, 1992).

    With n measurements of p arms, information is at least 1 - p / n of that of the exact shares.
    """
    support, total = support_of(share), 0.0
    for k in range(share.shape[0]):
        plan[k] = math.ceil((samples - 0.5 * support) * share[k])
        total += plan[k]
    while total != samples:
        step = 1.0 if total < samples else -1.0
        best, extreme = -1, np.inf
        for k in range(share.shape[0]):
            if share[k] > 0.0:
                ratio = plan[k] / share[k] if step > 0.0 else -(plan[k] - 1.0) / share[k]
                if ratio < extreme:
                    best, extreme = k, ratio
        plan[best] += step
        total += step
