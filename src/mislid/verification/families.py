"""How much evidence displaced means give against a pair: the rule `guaranteed`.

For means lambda, M(lambda) is an average of likelihood ratios of displaced means lambda + z against
lambda, with weights fixed beforehand: `docs/certificate-proof.md` says why a pair is settled once
one family alone brings ln M to ln(1/delta) for every lambda that reverses the pair. Here is how
much each family proves, rounded down. Scales are in units of the geometric mean of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mislid.verification import intervals as iv
from mislid.verification.geometry import Centred, Duality, Frame, Model, Pair, Witness
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.variances import Cells

TWO_ARMS, LINEAR, DIAGONAL = "two arms", "linear", "diagonal"
# Shares of the families in M; where nothing is linear, two arms have all of it.
SHARES = {TWO_ARMS: 0.78, LINEAR: 0.19, DIAGONAL: 0.03}
SCALES = {
    TWO_ARMS: tuple(2.0**power for power in range(-9, 3)),
    LINEAR: tuple(0.004 * 2.5**power for power in range(8)),
    DIAGONAL: tuple(0.015 * 3.0**power for power in range(6)),
}
# A scale's weight falls by a factor e for every factor exp(TAIL) away from its family's centre.
CENTRES = {TWO_ARMS: 0.035, LINEAR: 0.15, DIAGONAL: 0.15}
TAIL = 2.0
# Spread of the displacements of two arms around their scale, in multiples of it.
SPREAD = 0.45
# Numbers (pairs times arms) that are in memory at once.
AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class Family:
    """Scales (n,) in the unit of the means, and the logarithms of their weights in M (n,)."""

    scales: Interval
    logs: Interval

    @property
    def total(self) -> Interval:
        """The logarithm of all weights together."""
        return iv.log_sum(self.logs)


def families_of(K: int, m: int, structured: bool, noise: Interval) -> dict[str, Family]:
    """The families that take part in M; the m (K - m) pairs of two arms share their weight."""
    unit = iv.exp(iv.log(noise).sum() / float(K))
    shares = SHARES if structured else {TWO_ARMS: 1.0}
    found = {}
    for name, share in shares.items():
        sizes = around(SCALES[name])
        weights = iv.fading(sizes, CENTRES[name], TAIL)
        pairs = float(m * (K - m)) if name == TWO_ARMS else 1.0
        logs = iv.log(weights * around(share) / weights.sum() / pairs)
        found[name] = Family(sizes * unit, logs)
    return found


def by_two_arms(
    family: Family, gap: Interval, wi: Interval, wj: Interval, cells: Cells | None = None
) -> Interval:
    """What the own two arms of pairs (n,) prove, `gap` apart with the tolerance, at their weights.

    Not a number where an arm was never measured. With cells, the least over all noises.
    """
    ahead = gap.low > 0.0
    gap, wi, wj = gap[:, None], wi[:, None], wj[:, None]
    s = family.scales[None, :]
    # In units of s: tau^2 = 0.45^2 s^2 and s / tau^2 = 1 / (0.45^2 s).
    t2, ratio = (s * around(SPREAD)).square, exactly(1.0) / around(SPREAD).square
    vi, vj = exactly(1.0) / wi, exactly(1.0) / wj
    v, u = vi + vj, vi.square + vj.square
    starts, sizes = ratio / s * v, (v + u / t2) * 2.0
    heights = family.logs[None, :] - ratio - (iv.log1p(wi * t2) + iv.log1p(wj * t2)) * 0.5
    if cells is None:
        return iv.log_sum((gap + starts).positive.square / sizes + heights)

    def at(precision: Interval) -> Interval:
        return (gap * iv.sqrt(precision) + starts).positive.square / sizes

    return cells.least(at, heights).where(ahead, -math.inf)


def summed(squares: Interval, heights: Interval, cells: Cells | None) -> Interval:
    """The logarithm of a sum over scales; with cells, the least over all noises.

    Squares (..., S) are those at a noise of 1.
    """
    if cells is None:
        return iv.log_sum(squares + heights)
    return cells.least(lambda precision: squares * precision, heights)


class Moment:
    """Means (K,) and weights (K,), counts over squared noise, at one time, in a model.

    Means are rational, and `lost` (K,) what rounding may have taken from each.
    """

    def __init__(
        self,
        model: Model,
        means: list[Fraction],
        weights: Interval,
        lost: list[Fraction] | None = None,
    ) -> None:
        self.model, self.means, self.weights, self._lost = model, means, weights, lost
        self._scaled: dict[int, tuple[Duality, Interval]] = {}

    @cached_property
    def centred(self) -> Centred:
        """What a linear model near the means leaves of them."""
        return Centred(self.model, self.means, self.weights.middle, self._lost)

    @cached_property
    def _duality(self) -> Duality:
        return Duality(self.model, self.weights, self.centred.off)

    def by_features(
        self, family: Family, pairs: list[Pair], tol: float, cells: Cells | None = None
    ) -> Interval:
        """What the linear model proves of pairs (n,), less the largest bias that the tube allows.

        Let g = x_j - x_i, V = X'WX, y the means without a linear model near them, and a any numbers
        (d,), best V^-1 g. With p = W X a, z = e_i - e_j + p, rho = X'z, H = V + I/s^2 and
        u = X'W(y - lambda), each lambda of the null has

            a'u = p'(y - lambda) >= p'y + tol - eps |z|_1 - |rho'b|
            |rho'b| <= h ( |y|_w + |u|_(V^-1) + eps |1|_w ),    h = |rho|_(V^-1),

        as in `geometry`; a'u <= |a|_H |u|_(H^-1), and |u|_(V^-1)^2 <= (1 + 1/(s^2 l)) |u|_(H^-1)^2
        for V >= l I. The evidence at the scale s is 1/2 |u|^2_(H^-1) less the volume's price. In
        units of another noise all of the bound on a'u is multiplied by the same number.
        """
        frame = self._duality.frame
        squares = family.scales.square
        prices = frame.volume(squares) * 0.5
        widest = iv.sqrt(exactly(1.0) / (squares * frame.least) + 1.0)
        K, found = len(self.means), list[Interval]()
        for first in range(0, len(pairs), max(1, AT_ONCE // K)):
            some = pairs[first : first + max(1, AT_ONCE // K)]
            beyond, square, length, h = self._along(frame, some, tol)
            sizes = iv.sqrt(square[:, None] + length[:, None] / squares) + h[:, None] * widest
            costs, heights = (beyond[:, None] / sizes).square * 0.5, family.logs - prices
            found.append(summed(costs, heights[None, :], cells))
        return iv.joined(found)

    def _along(
        self, frame: Frame, pairs: list[Pair], tol: float
    ) -> tuple[Interval, Interval, Interval, Interval]:
        """Of pairs (n,): a'u without what h takes with u, |a|_V^2, |a|^2 and h."""
        X, w, duality = self.model.X, self.weights, self._duality
        i, j = np.array(pairs).T
        rows: NDArray[np.int64] = np.arange(len(pairs))
        g = X.middle[j] - X.middle[i]
        a = exactly(g @ frame.Q / frame.D.middle @ frame.Q.T)
        along = iv.product(a, Interval(X.low.T, X.high.T))
        p = along * w
        e = np.zeros((len(pairs), len(self.means)))
        e[rows, i], e[rows, j] = 1.0, -1.0
        z = p + e
        h = frame.length(iv.product(z, X))
        gaps = iv.stack([self.centred.gap(pair, tol) for pair in pairs])
        value = (p * duality.off).sum(axis=1) + gaps
        value = value - exactly(z.size).sum(axis=1) * self.model.eps - h * duality.far
        return value.positive, (along.square * w).sum(axis=1), a.square.sum(axis=1), h

    def by_all_arms(
        self,
        family: Family,
        scale: int,
        witness: Witness,
        pair: Pair,
        tol: float,
        cells: Cells | None = None,
    ) -> Interval:
        """What displacements of every arm prove at one scale: a distance in weights q."""
        duality, price = self.scaled(family, scale)
        values = self.centred.values(witness.values).middle
        gap = self.centred.gap(pair, tol)
        found = duality.pair_distance(values, witness.alpha, pair, gap)
        height = family.logs[[scale]] - price * 0.5
        one = Interval(np.atleast_1d(found.low), np.atleast_1d(found.high))
        return summed(one, height, None if cells is None else cells.of_scale(scale))

    def scaled(self, family: Family, scale: int) -> tuple[Duality, Interval]:
        """Distances in weights q = w^2 s^2 / (1 + w s^2), and sum_k ln(1 + w_k s^2)."""
        if scale not in self._scaled:
            expected = self.weights * family.scales[scale].square
            q = self.weights * expected / (expected + 1.0)
            q = q.where(self.weights.low > 0.0, 0.0)
            self._scaled[scale] = Duality(self.model, q, self.centred.off), iv.log1p(expected).sum()
        return self._scaled[scale]
