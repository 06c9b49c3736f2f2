"""LinGame (Degenne et al. 2020) in plain NumPy, by least squares: slow and short."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from oracles.rivals import best

Floats = NDArray[np.float64]


@dataclass
class PlainGame:
    """One learner for every answer, or one in all; C-tracking; noise 1."""

    features: Floats  # (K, d)
    m: int
    per_answer: bool
    optimistic: bool
    gap: float = 0.01
    learners: dict[object, tuple[Floats, float]] = field(default_factory=dict)
    tracked: Floats | None = None

    def propose(self, counts: Floats, sums: Floats) -> int:
        """The arm after these counts and sums (K,); the learner learns."""
        X, K = self.features, len(self.features)
        V = X.T @ (counts[:, None] * X)
        means = X @ np.linalg.solve(V, X.T @ sums)
        inside = best(means, self.m)
        who = inside[0] if self.per_answer else None
        total, gap = self.learners.get(who, (np.zeros(K), self.gap))
        rate = math.log(K) / gap
        omega = np.exp(rate * (total - total.max()))
        omega /= omega.sum()
        below = self._alternative(means, inside, omega)
        gains = 0.5 * below**2
        if self.optimistic:
            t = counts.sum()
            lengths = np.einsum("ka,ab,kb->k", X, np.linalg.inv(V), X)
            gains = 0.5 * (np.abs(below) + np.sqrt(2.0 * math.log(t) * lengths)) ** 2
            gains = np.minimum(gains, math.log(t))
        mix = math.log(omega @ np.exp(rate * (gains - gains.max()))) / rate + gains.max()
        self.learners[who] = total + gains, gap + max(mix - omega @ gains, 0.0)
        self.tracked = omega if self.tracked is None else self.tracked + omega
        return int(np.argmax(self.tracked - counts))

    def _alternative(self, means: Floats, inside: list[int], omega: Floats) -> Floats:
        """The means less the closest ones at these weights in which another answer is best."""
        X = self.features
        inverse = np.linalg.inv(X.T @ (omega[:, None] * X))
        cheapest, found = math.inf, np.zeros(len(means))
        for i in (k for k in range(len(means)) if k not in inside):
            for j in inside:
                direction = X[j] - X[i]
                gap, length = means[j] - means[i], direction @ inverse @ direction
                if gap**2 / (2.0 * length) < cheapest:
                    cheapest = gap**2 / (2.0 * length)
                    found = X @ (inverse @ direction) * gap / length
        return found
