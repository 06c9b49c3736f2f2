"""Selective elimination and the likelihood ratio test, from their definitions, slow and short."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from oracles.rivals import Data, best, greedy, regression

Pairs = set[tuple[int, int]]


@dataclass
class PlainPairs:
    """Which pairs (challenger, incumbent) were settled, and what follows for single arms.

    With a tolerance a settled pair says that j is hardly worse than i, which is no order.
    """

    K: int
    m: int
    tolerance: float = 0.0
    settled: Pairs = field(default_factory=set)
    accepted: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)

    def settle(self, pairs: Pairs) -> None:
        self.settled |= pairs
        before = -1
        while before != len(self.accepted) + len(self.dropped):
            before = len(self.accepted) + len(self.dropped)
            for k in range(self.K):
                worse = {i for i, j in self.settled if j == k} | (self.dropped - {k})
                better = {j for i, j in self.settled if i == k} | (self.accepted - {k})
                if len(worse) >= self.K - self.m:
                    self.accepted.add(k)
                if self.m == 1 and self.tolerance == 0.0 and better:
                    self.dropped.add(k)

    def is_left(self, i: int, j: int) -> bool:
        return not ((i, j) in self.settled or i in self.dropped or j in self.accepted)

    def left(self, incumbents: list[int]) -> Pairs:
        outside = [k for k in range(self.K) if k not in incumbents]
        return {(i, j) for i in outside for j in incumbents if self.is_left(i, j)}


def possible_answers(K: int, m: int, settled: Pairs) -> list[set[int]]:
    """The m best arms in every order in which all that was settled is true."""
    found = []
    for order in itertools.permutations(range(K)):
        place = {arm: n for n, arm in enumerate(order)}
        if all(place[j] < place[i] for i, j in settled) and set(order[:m]) not in found:
            found.append(set(order[:m]))
    return found


def ratios(data: Data, incumbents: list[int], tolerance: float) -> dict[tuple[int, int], float]:
    """The statistic of every pair of these incumbents."""
    _, means, squares = regression(data)
    outside = [k for k in range(len(means)) if k not in incumbents]
    return {
        (i, j): max(means[j] - means[i] + tolerance, 0.0) ** 2 / (2.0 * squares[i, j])
        for i in outside
        for j in incumbents
    }


@dataclass
class PlainRatioTest:
    """The test along a run: `judge` after every measurement."""

    pairs: PlainPairs
    selective: bool
    delta: float
    tolerance: float = 0.0

    def judge(self, data: Data) -> tuple[bool, float, float]:
        """Whether it stops, the least statistic of the pairs looked at, and the threshold."""
        t = float(np.sum(data.counts))
        threshold = math.log((t + 1.0) / self.delta)
        incumbents = best(regression(data)[1], data.m)
        found = ratios(data, incumbents, self.tolerance)
        if self.selective:
            found = {pair: found[pair] for pair in self.pairs.left(incumbents)}
        least = min(found.values(), default=math.nan)
        if not self.selective:
            return least > threshold, least, threshold
        self.pairs.settle({pair for pair, ratio in found.items() if ratio > threshold})
        return not self.pairs.left(incumbents), least, threshold


def selective_lingape(data: Data, beta: float, pairs: PlainPairs) -> int | None:
    """The arm that LinGapE measures for the pairs that are left; None where none is."""
    V, means, squares = regression(data)
    left = sorted((j, i) for i, j in pairs.left(best(means, data.m)))
    if not left:
        return None
    index = {(j, i): means[i] - means[j] + math.sqrt(2.0 * beta * squares[i, j]) for j, i in left}
    j, i = max(left, key=lambda pair: (index[pair], -pair[0], -pair[1]))
    return greedy(data, V, i, j)
