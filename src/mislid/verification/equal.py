"""One noise for all arms that is not known.

Beside each displacement stands a process that grows if sigma is too large. For a tilt h it is

    S_h = exp(1/2 sum over values of ln(1 + h (n - 1) / n) - h SS / (2 sigma^2)),

the n-th value of its arm each, and SS the squared distances of all values from the means of their
arms. `docs/certificate.md` says why the product is a supermartingale. Evidence in units of sigma
grows with theta = 1/sigma^2, and S_h falls. So where theta is in a cell, the product is at least
the evidence at the lower end of the cell times S_h at its upper end; the least over cells that
cover everything counts, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.reading import Vector

# Tilts in units of s^2 / dimension for a scale s, and their shares.
TILTS, SHARES = (0.0, 1.0, 4.0, 16.0), (0.2, 0.3, 0.3, 0.2)
# Lower ends of 256 cells of theta up to 1.5 times the estimated one, and of 16 ever wider ones up
# to 8 times that, of which the last has no end.
_WIDE = iv.exp(iv.log(around(8.0 / 1.5)) * around(np.arange(16.0) / 15.0)) * 1.5
ENDS = iv.joined([exactly(1.5 / 256.0 * np.arange(256.0)), _WIDE])
# Of the level of the means, the part below which distances from them are rounding.
DIGITS = 1e-14
# A logarithm of nothing.
NOTHING = -1e9


@dataclass(frozen=True, eq=False)
class Cells:
    """Lower ends (J,) of cells of theta, and logarithms (J, S) that tilts add to the scales."""

    precisions: Interval
    logs: Interval

    def least(self, at: Callable[[Interval], Interval], heights: Interval) -> Interval:
        """The least over the cells of the logarithm of a sum over the scales.

        Terms (..., S) are `heights` and what `at` says of several theta at once, which grows.
        """
        ranks = heights.low.ndim
        precisions = self.precisions[(slice(None), *[None] * ranks)]
        logs = self.logs[(slice(None), *[None] * (ranks - 1))]
        found = iv.log_sum(at(precisions) + heights + logs)
        return Interval(np.min(found.low, axis=0), np.min(found.high, axis=0))


def cells_of(
    counts: Vector, means: Vector, scatter: Interval, sizes: Interval, dimension: int
) -> Cells:
    """The cells for displacements of these sizes (S,) in units of the noise.

    `dimension` is the number of arms or, along features, of these. Values that scatter by rounding
    alone are not taken for a sign that there is no noise: then tilts add nothing.
    """
    shape, share = (ENDS.low.size, sizes.low.size), iv.log(around(SHARES[0]))
    alone = Interval(np.full(shape, share.low), np.full(shape, share.high))
    total, freedom = scatter.sum(), float(np.sum(np.maximum(counts - 1.0, 0.0)))
    if not total.low > np.sum(counts) * (DIGITS * np.max(np.abs(means))) ** 2:
        return Cells(ENDS, alone)
    upper = iv.joined([ENDS[1:], ENDS[-1:]])[:, None]
    parts = [alone]
    for tilt, part in list(zip(TILTS, SHARES, strict=True))[1:]:
        h = sizes.square * tilt / float(dimension)
        # SS theta is the freedom times the end of a cell.
        falls = h[None, :] * upper * (0.5 * freedom)
        process = volume(counts, h)[None, :] * 0.5 - falls + iv.log(around(part))
        ended = np.arange(1, shape[0] + 1)[:, None] < shape[0]
        parts.append(process.where(np.broadcast_to(ended, shape), NOTHING))
    low, high = (np.stack([getattr(one, end) for one in parts], -1) for end in ("low", "high"))
    return Cells(ENDS * (exactly(freedom) / total), iv.log_sum(Interval(low, high)))


def volume(counts: Vector, h: Interval) -> Interval:
    """The sum of ln(1 + h (n - 1) / n) over values, the n-th of its arm each, for tilts (S,).

    For an arm, with e = h / (1 + h), that is n ln(1 + h) - ln Gamma(1 - e) and
    ln Gamma(n + 1 - e) - ln Gamma(n + 1), of which the large parts are taken together:
    (n + 1/2 - e) ln(1 - e / (n + 1)) - e ln(n + 1) + e, and what Binet's function adds.
    """
    n = exactly(counts[counts > 1.0])[None, :]
    h = h[:, None]
    e = h / (h + 1.0)
    below = exactly(1.0) / (h + 1.0)  # 1 - e
    first = iv.log1p(-e / (n + 1.0)) * (n + below - 0.5) - iv.log(n + 1.0) * e + e
    first = first + iv.log_gamma_beyond(n + below) - iv.log_gamma_beyond(n + 1.0)
    # ln Gamma(1 - e), by Binet's function; its constant ln(2 pi) / 2 is that of Gamma(1) = 1.
    one = iv.log(below) * (below - 0.5) - below + iv.log_gamma_beyond(below)
    one = one + 1.0 - iv.log_gamma_beyond(exactly(np.ones_like(below.low)))
    return (first + iv.log1p(h) * n - one).sum(axis=1)
