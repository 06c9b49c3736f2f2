"""Rules that draw from the posterior, in plain Python: numbers by position, draws by projection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid import pair_alternative, project
from oracles.plans import Known, alternatives

Floats = NDArray[np.float64]
WORD = (1 << 64) - 1


def uniform(key: int, position: int) -> float:
    """SplitMix64."""
    z = (key + (position + 1) * 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def normal(key: int, position: int) -> float:
    """Box-Muller."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * position)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * position + 1))


class Measured(NamedTuple):
    """What is known, empirical means and counts (K,), and features in spanner coordinates."""

    known: Known
    means: Floats
    counts: Floats
    spanned: Floats


def draw(data: Measured, key: int, at: int) -> Floats:
    """Means drawn from the posterior."""
    known, eps = data.known, data.known.model.misspecification
    K, d = data.spanned.shape
    weights = data.counts / known.noise**2
    if eps == 0.0:
        V = data.spanned.T @ (weights[:, None] * data.spanned)
        z = np.array([normal(key, at * d + a) for a in range(d)])
        return known.estimate + data.spanned @ np.linalg.solve(np.linalg.cholesky(V).T, z)
    z = np.array([normal(key, at * K + k) for k in range(K)])
    values = data.means + z * known.noise / np.sqrt(data.counts)
    return project(known.model, values, weights).means


def answer_of(values: Floats, m: int) -> list[int]:
    """The m best arms."""
    return sorted(int(k) for k in np.argsort(-values, kind="stable")[:m])


def alternative(data: Measured, key: int, first: int, draws: int) -> Floats:
    """A draw with another answer, or the closest alternative where there is none among them."""
    known = data.known
    for at in range(first, first + draws):
        drawn = draw(data, key, at)
        if answer_of(drawn, len(known.incumbents)) != known.incumbents:
            return drawn
    near = min(alternatives(known, data.counts), key=lambda one: one.cost)
    # All that rules ask of it are squared distances.
    return known.estimate + np.sqrt(2.0 * near.slopes) * known.noise


class AdaHedge:
    """AdaHedge on gains, from its definition."""

    def __init__(self, K: int) -> None:
        self.total, self.gap = np.zeros(K), 0.0

    def _rate(self) -> float:
        return math.log(len(self.total)) / self.gap if self.gap > 0 else math.inf

    def play(self) -> Floats:
        if self.gap == 0.0:
            leads = self.total == self.total.max()
            return leads / leads.sum()
        shares = np.exp(self._rate() * (self.total - self.total.max()))
        return shares / shares.sum()

    def learn(self, gains: Floats) -> None:
        shares, rate = self.play(), self._rate()
        best = gains[shares > 0].max()
        mix = best
        if math.isfinite(rate):
            mix += math.log(shares @ np.exp(rate * (gains - best))) / rate
        self.gap += max(mix - float(shares @ gains), 0.0)
        self.total = self.total + gains


def drawn_arm(shares: Floats, number: float) -> int:
    """The arm at a position of a distribution."""
    return int(np.argmax(np.cumsum(shares) > number))


def _pair(data: Measured, key: int, draws: int) -> tuple[int, int]:
    """Two arms in which two draws with different answers differ."""
    known, m = data.known, len(data.known.incumbents)
    leaders = set(answer_of(draw(data, key, 0), m))
    for values in [*(draw(data, key, at) for at in range(1, 1 + draws)), known.estimate]:
        others = set(answer_of(values, m))
        if others != leaders:
            gained = max(sorted(others - leaders), key=lambda k: values[k])
            lost = min(sorted(leaders - others), key=lambda k: values[k])
            return gained, lost
    return min(alternatives(known, data.counts), key=lambda one: one.cost).pair


def directed_shares(data: Measured, key: int, draws: int) -> Floats:
    """How often information-directed selection measures every arm, after these draws."""
    known = data.known
    i, j = sorted(_pair(data, key, draws), key=lambda k: known.estimate[k])
    weights = data.counts / known.noise**2
    near = pair_alternative(known.model, known.estimate, weights, i, j, tolerance=known.tolerance)
    told = weights * (known.estimate - near.means) ** 2
    return told / told.sum()
