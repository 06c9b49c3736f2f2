"""Evidence for an answer, pair by pair, at any misspecification.

M does not depend on the misspecification eps; only the set over which its infimum is taken does.
So the proofs by one M for all eps hold on one event; docs/checks.md has the details.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from mislid._validation import Vector
from mislid.errors import CertificateError
from mislid.geometry.alternatives import Alternative, AlternativeSearch, pair_alternative
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs
from mislid.model import Model
from mislid.stopping.equal import Spread
from mislid.stopping.evidence import (
    Families,
    LinearForms,
    Pairs,
    by_two_arms,
    diagonal_weights,
    linear_forms,
)

# Relative accuracy of the largest proved misspecification; it counts as 0 if it is below NEGLIGIBLE
# times the means' size.
ACCURACY, NEGLIGIBLE = 1e-3, 1e-9
# Most doublings of the means' size in the search for the largest proved misspecification.
DOUBLINGS = 20
# Most pairs with a search of their own closest alternative (six solves each) at one
# misspecification, and the largest product of their number and the number of arms.
MOST_SOLVED, MOST_WORK = 100, 20_000


@dataclass(frozen=True, eq=False)
class Standing:
    """Measurements, and the M that weighs them.

    Attributes
    ----------
    model
        The features; its misspecification does not matter.
    families
        All displacements in M, with features.
    tolerance
        By how much a challenger has to be better.
    weights, means
        Counts over squared noise, and empirical means (K,).
    own_values
        With undeclared noise, the evidence of pairs (n, 2) by the values of their own two arms,
        less the share of a pair: `mislid.stopping.noise.by_own_values`.
    spread
        The scatter, with one unknown noise for all arms; weights and families are then those of a
        noise of 1.
    """

    model: Model
    families: Families
    tolerance: float
    weights: Vector
    means: Vector
    own_values: Callable[[Pairs], Vector] | None = None
    spread: Spread | None = None

    def by_two_arms(self, pairs: Pairs) -> Vector:
        """Evidence (n,) of pairs (n, 2) by their two arms, valid for every misspecification."""
        family, (i, j) = self.families.two_arms, pairs.T
        if self.own_values is not None:
            return family.total + self.own_values(pairs)
        gap = self.means[j] - self.means[i] + self.tolerance
        return by_two_arms(family, gap, self.weights[i], self.weights[j], self.spread)

    @cached_property
    def diagonal(self) -> list[tuple[Vector, float]]:
        """Weights (K,) and price of the diagonal family, scale by scale."""
        scales = self.families.diagonal.scales
        return [diagonal_weights(self.weights, float(scale)) for scale in scales]


@dataclass(frozen=True, eq=False)
class AnswerEvidence:
    """Evidence, pair by pair, that the incumbents of an answer beat all challengers.

    Attributes
    ----------
    data
        The measurements.
    answer
        The m incumbents.
    known, declared
        Evidence (n,) from earlier times, minus infinity for none, and the misspecification up to
        which it holds.
    always
        Evidence (n,) from earlier times that holds for every misspecification.

    Examples
    --------
    >>> from mislid.stopping.evidence import families_of
    >>> families = families_of(3, 1, True, 0.05, np.ones(3))
    >>> model, means = Model([[1.0], [2.0], [3.0]], 0.0), np.array([1.0, 2.0, 3.0])
    >>> found = AnswerEvidence(Standing(model, families, 0.0, np.full(3, 12.0), means), (2,))
    >>> found.pairs.tolist(), found.weakest(0.0) > found.weakest(0.1), 0.0 < found.reach(3.0) < 1.0
    ([[0, 2], [1, 2]], True, True)
    """

    data: Standing
    answer: tuple[int, ...]
    known: Vector | None = None
    declared: float = math.inf
    always: Vector | None = None
    _cheap: dict[float, Vector] = field(default_factory=dict, repr=False)
    _searched: dict[float, float] = field(default_factory=dict, repr=False)

    @cached_property
    def pairs(self) -> Pairs:
        """Challengers and incumbents (n, 2)."""
        return all_pairs(self.data.model.K, np.array(sorted(self.answer)))

    def weakest(self, misspecification: float, enough: float = math.inf) -> float:
        """The least evidence of a pair, each by its best family.

        There is no separate search for a pair that has `enough` evidence without one.
        """
        base = self._without_own_search(misspecification, enough)
        order = np.argsort(base, kind="stable")
        least = math.inf
        for solved, place in enumerate(order.tolist()):
            found = float(base[place])
            if found >= min(least, enough) or solved == self._most_solved:
                return min(least, found)
            least = min(least, max(found, self._by_own_search(misspecification, place)))
        return least

    def at(self, misspecification: float, enough: float = math.inf) -> Vector:
        """Evidence of all pairs (n,), as in `weakest`."""
        found = self._without_own_search(misspecification, enough).copy()
        below = np.flatnonzero(found < enough)
        for place in below[np.argsort(found[below], kind="stable")][: self._most_solved].tolist():
            found[place] = max(found[place], self._by_own_search(misspecification, place))
        return found

    def reach(self, level: float) -> float | None:
        """The largest misspecification at which every pair has evidence of at least `level`.

        Evidence falls as the misspecification grows, so all smaller ones are proved with it.

        Parameters
        ----------
        level
            ln(1/delta).

        Returns
        -------
        float or None
            A lower bound within a thousandth; None if not even 0 is proved.
        """
        size = float(np.max(np.abs(self.data.means))) + self.data.tolerance
        knots = [0.0, size, *(size * 2.0**n for n in range(1, DOUBLINGS)), math.inf]
        if math.isfinite(self.declared):
            knots = sorted({*knots, self.declared})
        # Most knots are not proved, so bisect the knots first.
        low, high = -1, len(knots)
        while high - low > 1:
            middle = (low + high) // 2
            if self.weakest(knots[middle], level) >= level:
                low = middle
            else:
                high = middle
        if low < 0:
            return None
        return knots[low] if high == len(knots) else self._end(knots[low], knots[high], level)

    def _end(self, low: float, high: float, level: float) -> float:
        """Bisect for the largest proved misspecification."""
        least = NEGLIGIBLE * high if math.isfinite(high) else 0.0
        while math.isfinite(high) and high - low > ACCURACY * high and high > least:
            middle = 0.5 * (low + high)
            if self.weakest(middle, level) >= level:
                low = middle
            else:
                high = middle
        return low

    def _without_own_search(self, misspecification: float, enough: float) -> Vector:
        """Evidence (n,) by two arms, the features, earlier times, and one search for all pairs."""
        if misspecification not in self._cheap:
            found = np.maximum(self._by_two_arms, self._by_features(misspecification))
            if self.known is not None and misspecification <= self.declared:
                found = np.maximum(found, self.known)
            self._cheap[misspecification] = found
        found = self._cheap[misspecification]
        if np.all(found >= enough):
            return found
        return np.maximum(found, self._by_search(misspecification))

    @property
    def _most_solved(self) -> int:
        return min(MOST_SOLVED, max(1, MOST_WORK // self.data.model.K))

    @cached_property
    def _by_two_arms(self) -> Vector:
        """Evidence (n,) that holds for every misspecification."""
        now = self.data.by_two_arms(self.pairs)
        return now if self.always is None else np.maximum(now, self.always)

    @cached_property
    def _forms(self) -> LinearForms | None:
        """Differences of the pairs' means, incumbent less challenger, by the features."""
        data, (i, j) = self.data, self.pairs.T
        X = coordinates(data.model).matrix
        return linear_forms(X, data.weights, data.means, data.families.linear, j, i, data.spread)

    def _by_features(self, misspecification: float) -> Vector:
        """Evidence (n,) by the linear model, as in `mislid.stopping.evidence.by_features`."""
        weightless = math.isinf(self.data.families.linear.total)
        if weightless or math.isinf(misspecification) or (forms := self._forms) is None:
            return np.full(len(self.pairs), -math.inf)
        bias = misspecification * forms.biases
        return forms.evidence(forms.values + self.data.tolerance - bias)

    def _by_search(self, misspecification: float) -> float:
        """A lower bound on the evidence of every pair by displacements of all arms."""
        if misspecification not in self._searched:
            model = self.data.model.with_misspecification(misspecification)
            search = AlternativeSearch(model, len(self.answer))
            self._searched[misspecification] = self._by_all_arms(
                partial(search.closest, incumbents=self.answer)
            )
        return self._searched[misspecification]

    def _by_own_search(self, misspecification: float, place: int) -> float:
        """Evidence of one pair by displacements of all arms."""
        model = self.data.model.with_misspecification(misspecification)
        i, j = self.pairs[place].tolist()
        return self._by_all_arms(
            lambda means, q, *, tolerance: pair_alternative(
                model, means, q, i, j, tolerance=tolerance
            )
        )

    def _by_all_arms(self, nearest: Callable[..., Alternative]) -> float:
        """The sum over the scales of the diagonal family that can be certified."""
        data, family = self.data, self.data.families.diagonal
        if not np.any(data.weights > 0.0):
            return -math.inf
        heights, costs = np.full(len(family.logs), -math.inf), np.zeros(len(family.logs))
        for n, ((q, price), log) in enumerate(zip(data.diagonal, family.logs, strict=True)):
            if log == -math.inf:
                continue
            with suppress(CertificateError):
                costs[n] = nearest(data.means, q, tolerance=data.tolerance).bound
                heights[n] = log - price
        if data.spread is not None:
            return data.spread.by_costs(family.scales, heights, costs)
        return float(np.logaddexp.reduce(heights + costs))
