"""Which pairs are left to tell apart: those that the stopping rule has settled are not looked at.

A pair is a challenger i and an incumbent j. It is left unless j was proved better than i, or j is
accepted, or i is dropped. An arm is accepted once K - m others were proved worse or are dropped,
and for m = 1 dropped once another was proved better, which is elimination of arms: if all that was
proved is true, so are these, whatever the incumbents are by then. For m > 1 dropping would be as
true; the published rule does without. With a tolerance "better" means hardly worse, which does not
carry over from one pair to the next: then nothing is dropped.

A stopping rule that settles pairs one by one leaves them in `state.left`; a sampling rule that is
to be selective asks `is_left`, or lets its search leave out what is not (`leave_out_pairs`).
"""

from __future__ import annotations

from mislid._jit import Indices, inner
from mislid.stopping.state import PairsLeft, Settled


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


@inner
def is_left(left: PairsLeft, i: int, j: int) -> bool:
    """Whether it is open that incumbent j is better than i."""
    if left.dropped[i] > 0 or left.accepted[j] > 0:
        return False
    row = left.settled.rows[j]
    return bool(row < 0 or left.settled.times[row, i] == 0)


@inner
def _worse(left: PairsLeft, j: int) -> int:
    """How many others were proved worse than j or are dropped."""
    row, count = left.settled.rows[j], 0
    for k in range(left.dropped.shape[0]):
        beaten = row >= 0 and left.settled.times[row, k] > 0
        count += k != j and (beaten or left.dropped[k] > 0)
    return count


@inner
def _is_beaten(left: PairsLeft, i: int) -> bool:
    """Whether another was proved better than i or is accepted."""
    beaten = False
    for k in range(left.accepted.shape[0]):
        row = left.settled.rows[k]
        beats = row >= 0 and left.settled.times[row, i] > 0
        beaten = beaten or (k != i and (beats or left.accepted[k] > 0))
    return beaten


@inner
def draw_conclusions(left: PairsLeft, m: int, tol: float) -> None:
    """Accept and drop arms, after pairs were settled, until nothing more follows."""
    K, more = left.accepted.shape[0], True
    while more:
        more = False
        for k in range(K):
            if left.accepted[k] == 0 and _worse(left, k) >= K - m:
                left.accepted[k], more = 1, True
            if m == 1 and tol == 0.0 and left.dropped[k] == 0 and _is_beaten(left, k):
                left.dropped[k], more = 1, True


@inner
def count_left(left: PairsLeft, incumbents: Indices, challengers: Indices) -> int:
    """How many pairs of these incumbents are left; the first K - m challengers count."""
    m, count = incumbents.shape[0], 0
    for a in range(left.accepted.shape[0] - m):
        for b in range(m):
            count += is_left(left, challengers[a], incumbents[b])
    return count


@inner
def leave_out_pairs(
    left: PairsLeft, incumbents: Indices, challengers: Indices, exempt: Indices
) -> None:
    """Exempt the pairs that are not left from a search; where none is left, leave out none.

    Challengers as `list_challengers` gives them, `exempt` of the search's space.
    """
    m = incumbents.shape[0]
    if count_left(left, incumbents, challengers) == 0:
        return
    for a in range(left.accepted.shape[0] - m):
        for b in range(m):
            if not is_left(left, challengers[a], incumbents[b]):
                exempt[a * m + b] = 1
