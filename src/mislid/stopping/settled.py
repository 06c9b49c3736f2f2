"""Pairs that were settled once stay so, also while other arms are the incumbents.

A row for every arm that was an incumbent of late: when it was proved better than each other arm.
Rows are few, so that nothing grows like K^2; the one used longest ago is given up first. To forget
that a pair was settled costs measurements and never the proof.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mislid._jit import ArmOrder, IndexTable, Indices, Struct, inner

# Of what was settled, besides two for each of the m best.
SPARE_ROWS = 32


class Settled(Struct):
    """times[rows[j], i] is the number of samples when j was proved better than i; 0 before."""

    rows: ArmOrder  # of an arm, -1 where it has none
    owners: Indices  # (R,) the arm of a row, -1 for nobody
    used: Indices  # (R,) when the owner was an incumbent last
    times: Annotated[IndexTable, ("R", "K")]


@inner
def give_rows(settled: Settled, incumbents: Indices, samples: int) -> None:
    """See to it that every incumbent has a row."""
    for b in range(incumbents.shape[0]):
        j = incumbents[b]
        if settled.rows[j] >= 0:
            settled.used[settled.rows[j]] = samples
    for b in range(incumbents.shape[0]):
        j = incumbents[b]
        if settled.rows[j] < 0:
            _take_oldest(settled, j, samples)


@inner
def _take_oldest(settled: Settled, j: int, samples: int) -> None:
    oldest = 0
    for r in range(settled.owners.shape[0]):
        if settled.used[r] < settled.used[oldest]:
            oldest = r
    if settled.owners[oldest] >= 0:
        settled.rows[settled.owners[oldest]] = -1
    settled.owners[oldest], settled.used[oldest], settled.rows[j] = j, samples, oldest
    for k in range(settled.rows.shape[0]):
        settled.times[oldest, k] = 0


@inner
def is_settled(settled: Settled, i: int, j: int) -> bool:
    """Whether incumbent j was proved better than i."""
    return bool(settled.times[settled.rows[j], i] > 0)


@inner
def settle(settled: Settled, i: int, j: int, samples: int) -> None:
    """Incumbent j has just been proved better than i."""
    settled.times[settled.rows[j], i] = samples


def new_settled(K: int, m: int) -> Settled:
    """No pair is settled."""
    count = min(K, 2 * m + SPARE_ROWS)
    return Settled.zeros(
        {"K": K, "R": count},
        rows=np.full(K, -1, np.int64),
        owners=np.full(count, -1, np.int64),
        used=np.zeros(count, np.int64),
    )
