"""Evidence of pairs at one time: displacements of two arms, along features, and of all arms.

For means lambda, M(lambda) is an average of likelihood ratios of displaced means lambda + z against
lambda, with weights fixed beforehand. The evidence of a family in a pair is a lower bound on its
logarithm over all lambda that reverse the pair: docs/certificate.md has the proof. Scales are in
units of the geometric mean of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mislid.verification import bets, equal, unknown
from mislid.verification import intervals as iv
from mislid.verification.equal import Cells
from mislid.verification.geometry import Distances, Model, Pair, centred
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.question import By, Kind, Question
from mislid.verification.record import Moment

SCALES = {
    By.TWO_ARMS: tuple(2.0**power for power in range(-9, 3)),
    By.LINEAR: tuple(0.004 * 2.5**power for power in range(8)),
    By.DIAGONAL: tuple(0.015 * 3.0**power for power in range(6)),
}
CENTRES = {By.TWO_ARMS: 0.035, By.LINEAR: 0.15, By.DIAGONAL: 0.15}
TAIL = 2.0
# Spread of the displacements of two arms around their scale, in multiples of it.
SPREAD = 0.45


@dataclass(frozen=True, eq=False)
class Family:
    """Scales (n,) in the unit of the means, and the logarithms (n,) of weights that sum to 1."""

    scales: Interval
    logs: Interval


def family_of(name: By, question: Question) -> Family:
    """A family's scales and weights."""
    first = exactly(question.noise[: question.K])
    unit = iv.exp(iv.log(first).sum() / float(question.K))
    sizes = around(SCALES[name])
    return Family(sizes * unit, iv.weights(sizes, CENTRES[name], TAIL))


class Proofs:
    """Evidence of pairs (challenger, incumbent) by the data of one time."""

    def __init__(
        self, question: Question, families: dict[By, Family], model: Model, moment: Moment
    ) -> None:
        self.question, self.families = question, families
        self.model, self.moment = model, moment
        counts = exactly(moment.counts)
        self.weights = (counts / exactly(question.noise).square).where(moment.counts > 0.0, 0.0)

    def of(self, name: By, pairs: list[Pair]) -> Interval:
        """What a family proves of pairs (n,); minus infinity where that is nothing."""
        try:
            if name == By.LINEAR:
                return self._by_features(pairs)
            if name == By.DIAGONAL:
                return self._by_all_arms(pairs)
        except (np.linalg.LinAlgError, OverflowError):  # measured arms do not span the features
            return exactly(np.full(len(pairs), -math.inf))
        i, j = np.array(pairs).T
        measured = (self.moment.counts[i] > 0.0) & (self.moment.counts[j] > 0.0)
        return self._by_two_arms(pairs).where(measured, -math.inf)

    def _cells(self, name: By) -> Cells | None:
        """Where the noise is one that is not known, what the values say of it."""
        if self.question.kind != Kind.EQUAL:
            return None
        dimension = self.model.d if name == By.LINEAR else self.question.K
        moment = self.moment
        means = np.array([float(mean) for mean in moment.means])
        sizes = self.families[name].scales
        return equal.cells_of(
            moment.counts, means, iv.of_fractions(moment.scatter), sizes, dimension
        )

    def _by_two_arms(self, pairs: list[Pair]) -> Interval:
        question, moment = self.question, self.moment
        if question.has_bets:
            return bets.by_bets(question, moment, pairs)
        means, tol = moment.means, Fraction(question.tol)
        gaps = iv.of_fractions(means[j] - means[i] + tol for i, j in pairs)
        if question.kind == Kind.UNKNOWN:
            given = enumerate(moment.counts.tolist())
            arms = [unknown.Arm(n, iv.of_fraction(moment.scatter[k])) for k, n in given]
            return iv.stack([
                unknown.by_two_arms(arms[i], arms[j], gaps[n])
                if arms[i].n and arms[j].n
                else exactly(-math.inf)
                for n, (i, j) in enumerate(pairs)
            ])  # fmt: skip
        i, j = np.array(pairs).T
        family = self.families[By.TWO_ARMS]
        return by_two_arms(family, gaps, self.weights[i], self.weights[j], self._cells(By.TWO_ARMS))

    @cached_property
    def centred(self) -> tuple[list[Fraction], Interval]:
        """A linear model near the means, and the rest of them."""
        return centred(self.model, self.moment.means, self.weights.middle)

    def _by_features(self, pairs: list[Pair]) -> Interval:
        """What the linear model proves of pairs (n,), less the largest bias that the tube allows.

        Let g = x_j - x_i, V = X'WX, y the means without a linear model near them, and a any numbers
        (d,), best V^-1 g. With p = W X a, z = e_i - e_j + p, rho = X'z, H = V + G/s^2 and
        u = X'W(y - lambda), each lambda of the null has

            a'u = p'(y - lambda) >= p'y + tol - eps |z|_1 - |rho'b|
            |rho'b| <= h ( |y|_w + |u|_(V^-1) + eps |1|_w ),    h = |rho|_(V^-1),

        as in `geometry`; a'u <= |a|_H |u|_(H^-1). For V >= l I and rows of G - I that add up to at
        most f, |u|_(V^-1)^2 <= (1 + (1 + f)/(s^2 l)) |u|_(H^-1)^2. The evidence at the scale s is
        1/2 |u|^2_(H^-1) less the volume's price, ln det(V + G/s^2) - ln det(G/s^2) <=
        ln det(I + s^2 V) + d ln((1 + f)/(1 - f)), halved.
        """
        model, family, w = self.model, self.families[By.LINEAR], self.weights
        distances, squares, X = self._along, family.scales.square, model.X
        frame, wide = distances.frame, exactly(1.0) + model.off
        uneven = (iv.log(wide) - iv.log(exactly(1.0) - model.off)) * float(model.d)
        prices = (frame.volume(squares) + uneven) * 0.5
        i, j = np.array(pairs).T
        g = X.middle[j] - X.middle[i]
        a = exactly(g @ frame.Q / frame.D.middle @ frame.Q.T)
        along = iv.product(a, Interval(X.low.T, X.high.T))
        p, eye = along * w, np.eye(self.question.R)
        z = p + (eye[i] - eye[j])
        h = frame.length(iv.product(z, X))
        beyond = (p * distances.off).sum(axis=1) + self._gaps(pairs)
        beyond = beyond - exactly(z.size).sum(axis=1) * model.eps - h * distances.far
        lengths = (along.square * w).sum(axis=1)[:, None]
        sizes = iv.sqrt(lengths + (a.square.sum(axis=1) * wide)[:, None] / squares)
        sizes = sizes + h[:, None] * iv.sqrt(wide / (squares * frame.least) + 1.0)
        costs = (beyond.positive[:, None] / sizes).square * 0.5
        return summed(costs, (family.logs - prices)[None, :], self._cells(By.LINEAR))

    def _gaps(self, pairs: list[Pair]) -> Interval:
        """tol, from where the linear model is taken off: nulls have lambda_i >= lambda_j + it."""
        linear, tol = self.centred[0], Fraction(self.question.tol)
        return iv.of_fractions(tol + linear[j] - linear[i] for i, j in pairs)

    @cached_property
    def _along(self) -> Distances:
        """Distances in the weights of the arms."""
        return Distances(self.model, self.weights, self.centred[1])

    def _by_all_arms(self, pairs: list[Pair]) -> Interval:
        """What displacements of every arm prove: distances in weights q, one for each scale."""
        (scaled, heights), cells = self._scaled, self._cells(By.DIAGONAL)
        found, gaps = [], self._gaps(pairs)
        for n, pair in enumerate(pairs):
            costs = iv.stack([distances.of_pair(pair, gaps[n]) for distances in scaled])
            found.append(summed(costs, heights, cells))
        return iv.stack(found)

    @cached_property
    def _scaled(self) -> tuple[list[Distances], Interval]:
        """Distances in weights q = w^2 s^2 / (1 + w s^2), and what is added to their squares."""
        family, found, prices = self.families[By.DIAGONAL], list[Distances](), []
        for scale in range(family.logs.low.size):
            expected = self.weights * family.scales[scale].square
            q = self.weights * expected / (expected + 1.0)
            q = q.where(self.weights.low > 0.0, 0.0)
            found.append(Distances(self.model, q, self.centred[1]))
            prices.append(iv.log1p(expected.positive).sum())
        return found, family.logs - iv.stack(prices) * 0.5

    def against_tube(self, threshold: float) -> bool:
        """Whether displacements of every arm may refute every model of the tube.

        Any model of the tube bounds the evidence against the nearest one from above.
        """
        (scaled, heights), cells = self._scaled, self._cells(By.DIAGONAL)
        values, costs = np.zeros(self.model.d), list[Interval]()
        for distances in scaled:
            values = distances.nearest(values)
            costs.append(distances.from_model(values))
        return not float(summed(iv.stack(costs), heights, cells).high) < threshold


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
