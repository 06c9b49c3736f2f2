"""MisLid's sampling: a learner against the closest alternative, and arms from its allocation."""

from __future__ import annotations

import math

from mislid._validation import Vector
from mislid.geometry._compile import inner
from mislid.rules._learners import allocate
from mislid.rules._plan import (
    C_TRACKING,
    DIRECT,
    Memory,
    Plan,
)
from mislid.rules._state import QUEUED, SAMPLES, Setting, State

# Shares of an allocation below this are never drawn; squared, they would underflow in the solver.
NEGLIGIBLE = 1e-100
# Weights over many orders of magnitude can be more than the solver certifies. Shares below these,
# in turn, are neglected then: a learner that is taught nothing would play the same for ever.
COARSER = (1e-30, 1e-15, 1e-8)


@inner
def drawn(omega: Vector, uniform: float) -> int:
    """The arm at position `uniform` in [0, 1) of the distribution omega (K,)."""
    total = 0.0
    last = 0
    for k in range(omega.shape[0]):
        if omega[k] > 0.0:
            last = k
            total += omega[k]
            if uniform < total:
                return k
    return last


@inner
def least_measured(counts: Vector) -> int:
    best = 0
    for k in range(counts.shape[0]):
        if counts[k] < counts[best]:
            best = k
    return best


@inner
def tracked_arm(
    counts: Vector, omega: Vector, tracked: Vector, by_sums: bool, forced: bool, samples: float
) -> int:
    """The arm furthest behind the sums of allocations (C-tracking) or samples * omega (D-tracking).

    `forced` first serves an arm with fewer than sqrt(samples) - K / 2 measurements.
    """
    K = counts.shape[0]
    if forced:
        least = least_measured(counts)
        if counts[least] < math.sqrt(samples) - 0.5 * K:
            return least
    best, behind = 0, -math.inf
    for k in range(K):
        due = (tracked[k] if by_sums else samples * omega[k]) - counts[k]
        if due > behind:
            best, behind = k, due
    return best


@inner
def allocated_arm(plan: Plan, state: State, memory: Memory, uniform: float) -> int:
    """From the learner's allocation to an arm: drawn from it, or tracking it."""
    for k in range(memory.omega.shape[0]):
        memory.tracked[k] += memory.omega[k]
    if plan.tracking == DIRECT:
        return drawn(memory.omega, uniform)
    samples = float(state.clock[SAMPLES])
    by_sums = plan.tracking == C_TRACKING
    return tracked_arm(state.counts, memory.omega, memory.tracked, by_sums, plan.forced, samples)


@inner
def begin_game(plan: Plan, state: State, memory: Memory, uniform: float) -> tuple[int, int]:
    """The arm of the round and the learner who plays it (-1: nobody, a later pull of the round).

    With several learners, it is the one of the present answer. With several pulls a round, the
    later ones come from the same allocation.
    """
    if state.clock[QUEUED] > 0:
        state.clock[QUEUED] -= 1
        return allocated_arm(plan, state, memory, uniform), -1
    state.clock[QUEUED] = plan.pulls - 1
    which = state.incumbents[0] if plan.per_answer else 0
    allocate(plan, memory, which)
    return allocated_arm(plan, state, memory, uniform), which


@inner
def begin_response(plan: Plan, state: State, memory: Memory, uniform: float) -> tuple[int, int]:
    """An arm that needs no search, and -1; or nothing yet, and 0.

    The former are a later pull of the round, or an arm with fewer than `exploration` sqrt(t)
    measurements: a misleading estimate of one that seems useless would never be corrected.
    """
    if state.clock[QUEUED] > 0:
        state.clock[QUEUED] -= 1
        return most_telling_arm(plan, state, memory, -1, -1, uniform), -1
    least = least_measured(state.counts)
    if state.counts[least] < plan.exploration * math.sqrt(float(state.clock[SAMPLES])):
        return least, -1
    state.clock[QUEUED] = plan.pulls - 1
    return least, 0


@inner
def set_play_weights(setting: Setting, memory: Memory, least: float) -> None:
    """The weights that the alternative answers in the game: the learner's shares above `least`."""
    for k in range(memory.omega.shape[0]):
        share = memory.omega[k] if memory.omega[k] > least else 0.0
        memory.weights[k] = share / setting.variance[k]


@inner
def _per_measurement(gain: float, count: float, power: float) -> float:
    """gain / count^power; a power costs more than all else here, and by default it is 0."""
    return gain if power == 0.0 else gain / max(count, 0.5) ** power


@inner
def most_telling_arm(
    plan: Plan, state: State, memory: Memory, i: int, j: int, uniform: float
) -> int:
    """The arm with the largest gain / counts^power; among equals, `uniform` in [0, 1) decides.

    Where no arm has any, because the arms of the closest pair are level, the less measured of them.
    """
    best, highest, equals = 0, -1.0, 0
    for k in range(memory.gains.shape[0]):
        gain = _per_measurement(memory.gains[k], state.counts[k], plan.power)
        if gain > highest:
            best, highest, equals = k, gain, 1
        elif gain == highest:
            equals += 1
    if highest <= 0.0:
        if i < 0:
            return least_measured(state.counts)
        return i if state.weights[i] < state.weights[j] else j
    place, k = int(uniform * equals), best
    while place > 0:
        k += 1
        if _per_measurement(memory.gains[k], state.counts[k], plan.power) == highest:
            best = k
            place -= 1
    return best
