"""One noise for all arms that is not known: whether evidence holds for every size of it.

Rules go on as if the noise were what values let one expect. What they find to be enough then is
settled only if it is enough whatever the noise is. `stopping.spread` has the definition.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from mislid._jit import Struct, Vector, inner, inner_loop, kernel, linked
from mislid.stopping.evidence import SPREAD, Families, Family
from mislid.stopping.state import ALL_ARMS, LINEAR, NOTHING, TWO_ARMS, Setting, State

# Pairs are looked at when samples have grown by this factor since the last time.
PAUSE = 1.005
# The variance that rules are told is the one estimated, times 1 + this over degrees of freedom.
FEW = 3.0
# Of the level of the means, the part below which distances from them are rounding.
DIGITS = 1e-14
# Logarithms beyond this are enough whatever is added.
AMPLE = 600.0


class Spread(Struct):
    """Tilts, cells, and what values say of the noise; the rest is work."""

    take: int  # address of `take_noise`, 0 where the noise is known or arms differ in it
    hold: int  # of `hold_for_every_noise`
    units: Families  # all displacements at a noise of 1
    dimension: int  # of the features
    tilts: Annotated[Vector, ("R",)]  # in units of s^2 / dimension
    shares: Annotated[Vector, ("R",)]  # logarithms of their weights
    ends: Annotated[Vector, ("J",)]  # lower ends of cells, in units of the estimated 1 / variance
    freedom: float
    scatter: float
    next: float  # samples before which nothing is looked at again
    worst: int  # the cell where it was not enough last
    tilted: int  # the family that `gains` and `falls` are of
    # Of each scale: what does not depend on the gap, and how the rest does.
    heights: Annotated[Vector, ("S",)]
    rates: Annotated[Vector, ("S",)]
    starts: Annotated[Vector, ("S",)]
    # And of each of its tilts: what it adds where the noise is infinite, and how that falls.
    gains: Annotated[npt.NDArray[np.float64], 2, ("S", "R")]
    falls: Annotated[npt.NDArray[np.float64], 2, ("S", "R")]


@kernel
def take_noise(setting: Setting, families: Families, spread: Spread, state: State) -> bool:
    """Let rules know the noise that values let one expect; whether anything can be proved by it."""
    spread.freedom, spread.scatter, spread.tilted = 0.0, 0.0, NOTHING
    level = 0.0
    for k in range(state.counts.shape[0]):
        spread.freedom += max(state.counts[k] - 1.0, 0.0)
        spread.scatter += state.scatter[k]
        level = max(level, abs(state.means[k]))
    if spread.scatter <= state.samples * (DIGITS * level) * (DIGITS * level):
        spread.scatter = 0.0
    variance = 1.0
    if spread.scatter > 0.0:
        variance = spread.scatter / spread.freedom * (1.0 + FEW / spread.freedom)
    for k in range(state.counts.shape[0]):
        setting.variance[k] = variance
        state.weights[k] = state.counts[k] / variance
    unit = math.sqrt(variance)
    _scale(spread.units.two_arms, unit, families.two_arms)
    _scale(spread.units.linear, unit, families.linear)
    _scale(spread.units.diagonal, unit, families.diagonal)
    return spread.scatter > 0.0


@inner
def _scale(sizes: Family, unit: float, family: Family) -> None:
    for n in range(sizes.scales.shape[0]):
        family.scales[n] = unit * sizes.scales[n]


@kernel
def hold_for_every_noise(
    spread: Spread,
    counts: Vector,
    family: int,
    i: int,
    j: int,
    gap: float,
    width: float,
    curvature: float,
    half_volumes: Vector,
    level: float,
) -> bool:
    """Whether evidence that is enough at the noise that was expected is so at every other one.

    Of two arms the gap, with the tolerance. Along features how far it is beyond the bias, and
    g'V^-1 g and g'V^-2 g at a noise of 1. Of all arms, at scale i, the square root of the cost at a
    noise of 1, and as the width the price, less the logarithm of the weight.
    """
    if not gap > 0.0:
        return False
    if family == TWO_ARMS:
        count = _begin_with_two_arms(spread, counts, i, j)
    elif family == LINEAR:
        if width == 0.0:  # no model reverses two arms with the same features
            return True
        count = _begin_with_features(spread, width, curvature, half_volumes)
    else:
        count = _begin_with_all_arms(spread, i, width)
    if spread.tilted != family:
        spread.tilted = family
        _tilt(spread, counts, count, family)
    if not _is_enough(spread, count, spread.worst, gap, level):
        return False
    for cell in range(spread.ends.shape[0]):
        if not _is_enough(spread, count, cell, gap, level):
            spread.worst = cell
            return False
    return True


@inner
def _begin_with_two_arms(spread: Spread, counts: Vector, i: int, j: int) -> int:
    family = spread.units.two_arms
    vi, vj = 1.0 / counts[i], 1.0 / counts[j]
    for n in range(family.scales.shape[0]):
        size = family.scales[n]
        precision = 1.0 / (SPREAD * size * SPREAD * size)
        price = size * size * precision
        price += 0.5 * math.log((1.0 + counts[i] / precision) * (1.0 + counts[j] / precision))
        spread.heights[n] = family.logs[n] - price
        spread.starts[n] = size * precision * (vi + vj)
        spread.rates[n] = 0.5 / (vi + vj + (vi * vi + vj * vj) * precision)
    return family.scales.shape[0]


@inner
def _begin_with_features(
    spread: Spread, width: float, curvature: float, half_volumes: Vector
) -> int:
    family = spread.units.linear
    for n in range(family.scales.shape[0]):
        size = family.scales[n]
        spread.heights[n] = family.logs[n] - half_volumes[n]
        spread.starts[n] = 0.0
        spread.rates[n] = 0.5 / (width + curvature / (size * size))
    return family.scales.shape[0]


@inner
def _begin_with_all_arms(spread: Spread, scale: int, price: float) -> int:
    family = spread.units.diagonal
    for n in range(family.scales.shape[0]):
        spread.heights[n] = -price if n == scale else -np.inf
        spread.starts[n], spread.rates[n] = 0.0, 1.0
    return family.scales.shape[0]


@inner
def _tilt(spread: Spread, counts: Vector, count: int, family: int) -> None:
    """The tilts of all scales of a family."""
    sizes, dimension = spread.units.two_arms.scales, float(counts.shape[0])
    if family == LINEAR:
        sizes, dimension = spread.units.linear.scales, float(spread.dimension)
    elif family == ALL_ARMS:
        sizes = spread.units.diagonal.scales
    for n in range(count):
        for r in range(spread.tilts.shape[0]):
            h = spread.tilts[r] / dimension * sizes[n] * sizes[n]
            spread.falls[n, r] = 0.5 * h * spread.scatter
            spread.gains[n, r] = spread.shares[r]
            if h > 0.0:
                spread.gains[n, r] += 0.5 * _volume(counts, h)


@inner_loop
def _volume(counts: Vector, h: float) -> float:
    """The sum of ln(1 + h (n - 1) / n) over the values, the n-th of its arm each."""
    eta, total = h / (1.0 + h), 0.0
    one, each = math.log1p(h), math.lgamma(1.0 - eta)
    for k in range(counts.shape[0]):
        n = counts[k]
        if n > 1.0:
            total += n * one + math.lgamma(n + 1.0 - eta) - math.lgamma(n + 1.0) - each
    return total


@inner_loop
def _is_enough(spread: Spread, count: int, cell: int, gap: float, level: float) -> bool:
    """Whether `count` scales together are enough for every noise of a cell.

    They grow with 1 / variance, tilts fall: those are taken at the lower end, these at the upper.
    """
    unit = spread.freedom / spread.scatter
    lower, upper = math.sqrt(unit * spread.ends[cell]), np.inf
    if cell + 1 < spread.ends.shape[0]:
        upper = unit * spread.ends[cell + 1]
    total = 0.0
    for n in range(count):
        apart = lower * gap + spread.starts[n]
        height = spread.heights[n] + spread.rates[n] * apart * apart - level
        for r in range(spread.tilts.shape[0]):
            value = height + spread.gains[n, r]
            if spread.falls[n, r] > 0.0:
                value -= spread.falls[n, r] * upper
            if value > AMPLE:
                return True
            total += math.exp(value)
    return total >= 1.0


call_take, call_hold = linked(take_noise), linked(hold_for_every_noise)
