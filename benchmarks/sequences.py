"""Means and weights as they follow each other in a run of an identification."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid import Model, project
from mislid.geometry.alternatives import AlternativeSearch

from .cases import Case, Floats
from .measuring import timed


class Sequence(NamedTuple):
    """Means and weights (T, K) and incumbents (T, m), sorted, call after call."""

    means: Floats
    weights: Floats
    incumbents: NDArray[np.int64]


def simulated_run(
    case: Case, calls: int, *, pulls: int = 1, counts: int = 1, noise: float = 1.0, seed: int = 0
) -> Sequence:
    """One call a round along a simulated run: weights are pull counts, means are projected.

    Every arm starts with `counts` pulls. A round pulls `pulls` arms, each the one whose mean the
    closest alternative moves most (the best response) or, every other time, an arm at random; the
    rewards are Gaussian. The means (K,) are the projection of the empirical ones, weighted by the
    pulls.
    """
    rng = np.random.default_rng(seed)
    model = Model(case.features, case.misspecification)
    search = AlternativeSearch(model, case.m)
    pulled = np.full(len(case.means), float(counts))
    totals = pulled * case.means + noise * np.sqrt(pulled) * rng.normal(size=len(pulled))
    rows = []
    for _ in range(calls):
        means = project(model, totals / pulled, pulled).means
        answer = search.closest(means, pulled)
        rows.append((means, pulled.copy(), np.array(answer.incumbents, dtype=np.int64)))
        best = int(np.argmax(np.abs(answer.means - means)))
        for _ in range(pulls):
            arm = best if rng.random() < 0.5 else int(rng.integers(len(pulled)))
            pulled[arm] += 1
            totals[arm] += case.means[arm] + noise * rng.normal()
    return Sequence(*(np.array(column) for column in zip(*rows, strict=True)))


class PublicCalls(NamedTuple):
    """Seconds and solves of `AlternativeSearch.closest`, call by call; the first one is cold."""

    seconds: list[float]
    solves: list[int]


def public_calls(model: Model, m: int, sequence: Sequence) -> PublicCalls:
    """Search along a sequence as users do."""
    search = AlternativeSearch(model, m)
    calls = [
        timed(partial(search.closest, means, weights))
        for means, weights in zip(sequence.means, sequence.weights, strict=True)
    ]
    return PublicCalls([call.wall for call in calls], [call.found.pairs_solved for call in calls])
