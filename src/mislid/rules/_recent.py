"""A trick of the paper: the alternative may only use recent challengers and a few random ones.

With all pairs solved by a general solver a round costs m (K - m) programs; this left fewer of them.
It gives up exactness: an alternative outside the subset is not seen in that round.
"""

from __future__ import annotations

import numpy as np

from mislid.geometry._compile import inner
from mislid.geometry._linalg import fill
from mislid.geometry._search import CHALLENGERS, EXEMPT, SearchSpace
from mislid.rules._plan import Memory, Plan
from mislid.rules._random import uniform as number_at
from mislid.rules._state import State
from mislid.rules._wide import list_challengers


@inner
def keep_recent(plan: Plan, memory: Memory, challenger: int) -> None:
    """Remember the challenger of the closest alternative; the one remembered longest goes."""
    recent = memory.recent
    if plan.subset == 0 or challenger < 0:
        return
    last = recent.shape[0] - 1
    for n in range(recent.shape[0]):
        if recent[n] == challenger:
            return
        if recent[n] < 0:
            recent[n] = challenger
            return
    for n in range(last):
        recent[n] = recent[n + 1]
    recent[last] = challenger


@inner
def leave_out(plan: Plan, state: State, memory: Memory, space: SearchSpace, uniform: float) -> None:
    """Exempt the pairs of challengers that are neither recent nor among `plan.subset` random ones.

    `uniform` seeds the choice, so that a round depends on nothing else.
    """
    if plan.subset == 0:
        return
    K, m, heap = state.counts.shape[0], state.incumbents.shape[0], state.heap
    n, challengers, kept = K - m, space.places[CHALLENGERS], state.work
    list_challengers(K, state.incumbents, challengers)
    for a in range(n):
        heap[a] = challengers[a]
    fill(kept, 0.0)
    for a in range(memory.recent.shape[0]):
        if memory.recent[a] >= 0:
            kept[memory.recent[a]] = 1.0
    key = np.uint64(uniform * 2.0**53)
    for a in range(min(plan.subset, n)):  # the first of a random order of the challengers
        other = a + int(number_at(key, a) * (n - a))
        heap[a], heap[other] = heap[other], heap[a]
        kept[heap[a]] = 1.0
    for a in range(n):
        for b in range(m):
            space.pairs[EXEMPT, a * m + b] = kept[challengers[a]] == 0.0
