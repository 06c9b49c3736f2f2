"""Gaussian values with one unknown standard deviation for all arms.

The null is means lambda and a standard deviation sigma. Evidence M of `stopping.evidence`, with
displacements in units of sigma, cannot refute means at a sigma much larger than the scatter of the
values. So M is multiplied by a process that grows if sigma is too large: for a tilt h >= 0

    S_h(sigma) = exp(1/2 L(h) - h SS / (2 sigma^2)),  L(h) = sum_k sum_{n <= n_k} ln(1 + h (n-1)/n)

with SS the squared distances of all values from the means of their arms. For
every displacement the product is a supermartingale under the null, whatever rule chooses the arms:
docs/certificate-proof.md has the proof. The tilts of a scale s are multiples of s^2, because the
scale serves for about 1 / s^2 values; one tilt is 0.

The evidence of a pair is the least over all sigma. With theta = 1/sigma^2, M grows in theta and S_h
falls. So on a cell between two values of theta M is at least that of the lower one, and S_h at
least that of the upper one: the least over the cells is a bound from below.

Weights are counts, and scales are those of a noise of 1; gaps are divided by sigma.

`Spread` computes this for many pairs. In a run, rules use an estimate of the noise. Evidence that
is enough at the estimate settles a pair only if compiled code finds it enough at every other noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from mislid._jit import Matrix, Struct, Vector, inner, inner_loop, kernel, linked
from mislid.stopping.evidence import SPREAD, Families, Family
from mislid.stopping.state import ALL_ARMS, LINEAR, NOTHING, TWO_ARMS, Setting, State

# Tilts of a scale s, in units of s^2 over the number of arms (or of features), and their
# shares. The tilt 0 leaves M unchanged; it serves for a sigma below the estimate.
TILTS, SHARES = (0.0, 1.0, 4.0, 16.0), (0.2, 0.3, 0.3, 0.2)
# Lower ends of the cells, in units of the estimated 1/sigma^2: EVEN even ones below END, then WIDE
# geometric ones up to LAST. The last cell is infinite.
EVEN, END, WIDE, LAST = 256, 1.5, 16, 8.0
# Distances below this part of the level of the means are rounding.
DIGITS = 1e-14
# Largest number of array entries at a time.
AT_ONCE = 2_000_000
# The noise is estimated again when samples have grown by this factor.
PAUSE = 1.005
# Rules use the estimated variance times 1 + this over the degrees of freedom.
FEW = 3.0
# A term with a larger logarithm is enough alone.
AMPLE = 600.0


def spread_of(
    noise_model: str, counts: Vector, means: Vector, scatter: Vector | None
) -> Spread | None:
    """The scatter of the values, if the noise model is one unknown noise for all arms.

    Parameters
    ----------
    noise_model
        The noise model of the question.
    counts, means, scatter
        Numbers of values, their means, and sums of squared distances from these (K,).

    Returns
    -------
    Spread or None
        None for all other noise models.

    Examples
    --------
    >>> spread_of("known", np.ones(2), np.ones(2), None) is None
    True
    """
    if noise_model != "unknown-equal":
        return None
    apart = np.zeros_like(counts) if scatter is None else scatter
    return Spread(counts, apart, float(np.max(np.abs(means))))


def cell_ends() -> Vector:
    """Lower ends of the cells (J,), in units of the estimated 1/sigma^2.

    Examples
    --------
    >>> ends = cell_ends()
    >>> ends[[0, 256, -1]].round(9).tolist(), len(ends)
    ([0.0, 1.5, 8.0], 272)
    """
    even = END / EVEN * np.arange(EVEN)
    return np.concatenate([even, END * (LAST / END) ** (np.arange(WIDE) / (WIDE - 1))])


@dataclass(frozen=True, eq=False)
class Spread:
    """The scatter of values with one unknown standard deviation.

    Attributes
    ----------
    counts, scatter
        Numbers of values, and sums of their squared distances from the mean of their arm (K,).
    level
        The largest absolute value of the means. Scatter within its rounding counts as 0.

    Examples
    --------
    >>> spread = Spread(np.array([50.0, 51.0, 1.0]), np.array([180.0, 216.0, 0.0]))
    >>> spread.freedom, spread.variance
    (99.0, 4.0)
    """

    counts: Vector
    scatter: Vector
    level: float = 0.0

    @property
    def freedom(self) -> float:
        """Number of values less number of measured arms."""
        return float(np.sum(np.maximum(self.counts - 1.0, 0.0)))

    @property
    def total(self) -> float:
        """The scatter of all arms together; 0 if it is only rounding."""
        found = float(np.sum(self.scatter))
        return found if found > float(np.sum(self.counts)) * (DIGITS * self.level) ** 2 else 0.0

    @property
    def variance(self) -> float:
        """The estimate of sigma^2; 1 if values do not scatter at all."""
        return self.total / self.freedom if self.total > 0.0 else 1.0

    @cached_property
    def precisions(self) -> Vector:
        """Lower ends (J,) of the cells of 1/sigma^2."""
        return cell_ends() / self.variance

    def logs(self, sizes: Vector, dimension: int) -> Matrix:
        """ln of the tilts' average at the upper ends of the cells, for scales (S,): (S, J).

        Parameters
        ----------
        sizes
            The scales of displacements, in units of the noise.
        dimension
            The number of arms or, along features, of these.

        Returns
        -------
        ndarray
            In the last cell, which has no upper end, only the share of the tilt 0 counts. The same
            holds in all cells if values do not scatter at all: rounded values do not prove that
            the noise is small.
        """
        upper = np.append(self.precisions[1:], math.inf)
        found = np.full((len(sizes), len(upper)), math.log(SHARES[0]))
        if self.total == 0.0:
            return found
        for tilt, share in zip(TILTS[1:], SHARES[1:], strict=True):
            h = tilt / dimension * sizes**2
            halves = np.array([0.5 * volume(self.counts, one) for one in h.tolist()])
            fallen = 0.5 * self.total * h[:, None] * upper
            found = np.logaddexp(found, math.log(share) + halves[:, None] - fallen)
        return found

    def by_costs(self, sizes: Vector, heights: Vector, costs: Vector) -> float:
        """The least evidence over sigma of exp(heights + costs / sigma^2) at scales (S,)."""
        given = heights[None, :], costs[None, :], np.ones(1)
        return float(self.least(sizes, len(self.counts), *given)[0])

    def least(
        self,
        sizes: Vector,
        dimension: int,
        heights: Matrix,
        rates: Matrix,
        gaps: Vector,
        starts: Matrix | None = None,
    ) -> Vector:
        """Lower bounds on the least evidence over sigma, from the evidence at every sigma.

        At sigma it is the logarithm of the sum of exp(heights + rates (gaps / sigma + starts)^2)
        over the scales.

        Parameters
        ----------
        sizes, dimension
            As of `logs`.
        heights, rates, starts
            Of all scales, for n pairs (n, S); no starts are 0.
        gaps
            (n,).

        Returns
        -------
        ndarray
            Bounds from below (n,); minus infinity where a gap is not above 0.
        """
        found = np.full(len(gaps), -math.inf)
        roots, logs = np.sqrt(self.precisions), self.logs(sizes, dimension)
        begun = np.zeros((1, 1)) if starts is None else starts
        heights, rates, begun = (
            np.broadcast_to(one, (len(gaps), len(sizes))) for one in (heights, rates, begun)
        )
        positive, size = np.flatnonzero(gaps > 0.0), max(1, AT_ONCE // logs.size)
        for first in range(0, len(positive), size):
            at = positive[first : first + size]
            apart = gaps[at, None, None] * roots + begun[at][:, :, None]
            with np.errstate(over="ignore"):
                terms = heights[at][:, :, None] + rates[at][:, :, None] * apart**2 + logs
            found[at] = np.min(np.logaddexp.reduce(terms, axis=1), axis=1)
        return found


class EveryNoise(Struct):
    """Tilts, cells and the scatter of the values; all other fields are workspace."""

    take: int  # address of `take_noise`, 0 for other noise models
    hold: int  # of `hold_for_every_noise`
    units: Families  # all displacements at a noise of 1
    dimension: int  # of the features
    tilts: Annotated[Vector, ("R",)]  # in units of s^2 / dimension
    shares: Annotated[Vector, ("R",)]  # logarithms of their weights
    ends: Annotated[Vector, ("J",)]  # lower ends of cells, in units of the estimated 1 / variance
    freedom: float
    scatter: float
    next: float  # samples at the next estimate
    worst: int  # the cell that failed last
    tilted: int  # the family of `gains` and `falls`
    # For each scale the evidence is heights + rates (gap / sigma + starts)^2.
    heights: Annotated[Vector, ("S",)]
    rates: Annotated[Vector, ("S",)]
    starts: Annotated[Vector, ("S",)]
    # For each of its tilts: the value at infinite noise, and its fall in 1 / sigma^2.
    gains: Annotated[npt.NDArray[np.float64], 2, ("S", "R")]
    falls: Annotated[npt.NDArray[np.float64], 2, ("S", "R")]


@kernel
def take_noise(setting: Setting, families: Families, spread: EveryNoise, state: State) -> bool:
    """Estimate the noise for the rules; whether values scatter, so that proofs are possible."""
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


# Evidence that is enough: family, challenger and incumbent, gap, width and curvature. For two arms
# the gap, with the tolerance. Along features the gap beyond the bias, and g'V^-1 g and g'V^-2 g at
# a noise of 1. For all arms the scale's index in place of the challenger, the root of the cost at a
# noise of 1 as the gap, and as the width the price less the logarithm of the weight.
Claim = tuple[int, int, int, float, float, float]


@kernel
def hold_for_every_noise(
    spread: EveryNoise, counts: Vector, claim: Claim, half_volumes: Vector, level: float
) -> bool:
    """Whether evidence that is enough at the expected noise is enough at every other one."""
    family, i, j, gap, width, curvature = claim
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
def _begin_with_two_arms(spread: EveryNoise, counts: Vector, i: int, j: int) -> int:
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
    spread: EveryNoise, width: float, curvature: float, half_volumes: Vector
) -> int:
    family = spread.units.linear
    for n in range(family.scales.shape[0]):
        size = family.scales[n]
        spread.heights[n] = family.logs[n] - half_volumes[n]
        spread.starts[n] = 0.0
        spread.rates[n] = 0.5 / (width + curvature / (size * size))
    return family.scales.shape[0]


@inner
def _begin_with_all_arms(spread: EveryNoise, scale: int, price: float) -> int:
    family = spread.units.diagonal
    for n in range(family.scales.shape[0]):
        spread.heights[n] = -price if n == scale else -np.inf
        spread.starts[n], spread.rates[n] = 0.0, 1.0
    return family.scales.shape[0]


@inner
def _tilt(spread: EveryNoise, counts: Vector, count: int, family: int) -> None:
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
                spread.gains[n, r] += 0.5 * volume(counts, h)


@inner_loop
def volume(counts: Vector, h: float) -> float:
    """L(h): the sum of ln(1 + h (n - 1) / n) over the values, the n-th of its arm each."""
    eta, total = h / (1.0 + h), 0.0
    one, each = math.log1p(h), math.lgamma(1.0 - eta)
    for k in range(counts.shape[0]):
        n = counts[k]
        if n > 1.0:
            total += n * one + math.lgamma(n + 1.0 - eta) - math.lgamma(n + 1.0) - each
    return total


@inner_loop
def _is_enough(spread: EveryNoise, count: int, cell: int, gap: float, level: float) -> bool:
    """Whether `count` scales together are enough for every noise of a cell.

    Scales grow with 1 / variance and are evaluated at the lower end of the cell. Tilts fall and are
    evaluated at the upper end.
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
