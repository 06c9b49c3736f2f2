"""One standard deviation that all arms share and nobody knows: evidence for every size of it.

Beside each displacement stands a process that grows if sigma is too large: for a tilt h

    S_h = exp(1/2 sum over values of ln(1 + h (n - 1) / n) - h SS / (2 sigma^2)),

the n-th value of its arm each, and SS the squared distances of all values from the means of their
arms. `docs/certificate.md` says why the product is a supermartingale. Evidence M in units of sigma
falls as sigma grows, S_h rises. So where 1/sigma^2 is in a cell, the product is at least M at the
lower end of the cell times S_h at its upper end; the least over cells that cover everything counts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mislid.verification.families import Family
from mislid.verification.reading import Matrix, Vector

# Tilts in units of s^2 / dimension for a scale s, and their shares.
TILTS = {0.0: 0.2, 1.0: 0.3, 4.0: 0.3, 16.0: 0.2}
# 256 cells of 1/sigma^2 up to 1.5 times the estimated one, 16 ever wider ones from there to 8 times
# that, of which the last has no end.
EDGES = np.concatenate([1.5 / 256 * np.arange(256), 1.5 * (8.0 / 1.5) ** (np.arange(16) / 15)])
# Of the level of the means, the part below which distances from them are rounding.
DIGITS = 1e-14


@dataclass(frozen=True, eq=False)
class Cells:
    """Lower ends (J,) of cells of 1/sigma^2, and logarithms of weights with the tilts (J, S)."""

    precisions: Vector
    logs: Matrix

    def least(self, at: Callable[[float, Vector], float]) -> float:
        """The least of what `at` says of the lower end of a cell and the logarithms there.

        It grows with both. So for cells in a row it is at least what it says of the first one's
        lower end and the last one's logarithms. Rows with the least bound are halved first: a
        single cell that has it is the least of all.
        """

        def row(first: int, end: int) -> tuple[float, int, int]:
            found = at(float(self.precisions[first]), self.logs[end - 1])
            return (-math.inf if math.isnan(found) else found), first, end

        rows = [row(0, len(self.precisions))]
        while True:
            bound, first, end = heapq.heappop(rows)
            if end - first == 1 or not math.isfinite(bound):
                return bound
            middle = (first + end) // 2
            heapq.heappush(rows, row(first, middle))
            heapq.heappush(rows, row(middle, end))


def cells_of(
    counts: Vector, means: Vector, scatter: Vector, family: Family, dimension: int
) -> Cells:
    """The cells for displacements that have a noise of 1 as their unit."""
    freedom = float(np.sum(np.maximum(counts - 1.0, 0.0)))
    total = math.fsum(scatter.tolist())
    logs = np.tile(family.logs + math.log(TILTS[0.0]), (len(EDGES), 1))
    # Values that do not scatter but by rounding are not taken for a sign that there is no noise.
    if total <= float(np.sum(counts)) * (DIGITS * float(np.max(np.abs(means)))) ** 2:
        return Cells(EDGES, logs)
    precisions = freedom / total * EDGES
    upper = np.append(precisions[1:], math.inf)
    for n, size in enumerate(family.scales.tolist()):
        for tilt, share in list(TILTS.items())[1:]:
            h = tilt / dimension * size**2
            process = 0.5 * volume(counts, h) - 0.5 * h * total * upper
            logs[:, n] = np.logaddexp(logs[:, n], family.logs[n] + math.log(share) + process)
    return Cells(precisions, logs)


def volume(counts: Vector, h: float) -> float:
    """The sum of ln(1 + h (n - 1) / n) over values, the n-th of its arm each.

    For an arm, with eta = h / (1 + h), that is the logarithm of
    (1 + h)^n Gamma(n + 1 - eta) / (Gamma(1 - eta) Gamma(n + 1)).
    """
    eta, total = h / (1.0 + h), 0.0
    for n in counts[counts > 1.0].tolist():
        total += n * math.log1p(h) + math.lgamma(n + 1.0 - eta) - math.lgamma(n + 1.0)
        total -= math.lgamma(1.0 - eta)
    return total
