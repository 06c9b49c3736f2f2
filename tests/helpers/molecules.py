"""Made-up molecules: activities that their descriptors explain only in part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

MISSED = 0.74  # how far the best linear model is from some activity
NOISE = 0.3


class Molecules(NamedTuple):
    """Labels, descriptors (K, 6) with a column of ones behind them, and activities (K,)."""

    labels: list[str]
    descriptors: NDArray[np.float64]
    activities: NDArray[np.float64]

    def best(self, m: int) -> set[str]:
        """The m most active ones."""
        return {self.labels[k] for k in np.argsort(-self.activities)[:m]}


def made_up_molecules(seed: int, K: int = 40) -> Molecules:
    """Descriptors have an optimum, and two of them act together; a linear model sees neither.

    What it misses is scaled to be MISSED at the molecule where it misses most.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(K, 6))
    bent = -0.5 * (z[:, 0] - 0.8) ** 2 + 0.6 * z[:, 1] * z[:, 2] + 0.4 * np.sin(2.0 * z[:, 3])
    X = np.column_stack([z, np.ones(K)])
    bent *= MISSED / _missed(X, bent)
    straight = z @ rng.normal(size=6)
    labels = [f"M{k:02d}" for k in range(K)]
    return Molecules(labels, X, bent + straight / np.std(straight))


def _missed(X: NDArray[np.float64], means: NDArray[np.float64]) -> float:
    """The least of the largest deviations from linear: a linear program."""
    K, d = X.shape
    ones = np.ones((K, 1))
    A = np.block([[X, -ones], [-X, -ones]])
    found = linprog(
        np.append(np.zeros(d), 1.0),
        A_ub=A,
        b_ub=np.concatenate([means, -means]),
        bounds=[(None, None)] * d + [(0.0, None)],
    )
    return float(found.x[-1])
