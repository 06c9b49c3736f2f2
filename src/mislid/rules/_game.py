"""MisLid's sampling: a learner against the closest alternative, and arms from its allocation."""

from __future__ import annotations

import math

from mislid._validation import Vector
from mislid.geometry._compile import inner
from mislid.geometry._newton import STALLED
from mislid.rules._closest import closest
from mislid.rules._gains import set_gains
from mislid.rules._learners import allocate, learn
from mislid.rules._plan import (
    C_TRACKING,
    DIRECT,
    Memory,
    Plan,
)
from mislid.rules._state import QUEUED, ROUNDS, SAMPLES, STALLS, Setting, State


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
def _least_measured(counts: Vector) -> int:
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
        least = _least_measured(counts)
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
def _teach(setting: Setting, plan: Plan, state: State, memory: Memory, which: int) -> None:
    """One round of the game: the alternative answers the allocation, the learner sees its gains.

    A round whose alternative could not be certified teaches nothing; it is counted.
    """
    for k in range(memory.omega.shape[0]):
        memory.weights[k] = memory.omega[k] / setting.variance[k]
    status, _, _, _ = closest(
        setting, state.projected, memory.weights, state.incumbents, setting.tol, state.play
    )
    if status == STALLED:
        state.clock[STALLS] += 1
        return
    set_gains(setting, plan, state, state.play.below, memory)
    state.clock[ROUNDS] += 1
    learn(plan, memory, which)


@inner
def game_arm(setting: Setting, plan: Plan, state: State, memory: Memory, uniform: float) -> int:
    """The next arm of the game (Algorithm 1 of the paper): chosen first, then the learner learns.

    With several learners, the one of the present answer plays. With several pulls a round, the
    later ones come from the same allocation.
    """
    if state.clock[QUEUED] > 0:
        state.clock[QUEUED] -= 1
        return allocated_arm(plan, state, memory, uniform)
    state.clock[QUEUED] = plan.pulls - 1
    which = state.incumbents[0] if plan.per_answer else 0
    allocate(plan, memory, which)
    arm = allocated_arm(plan, state, memory, uniform)
    for step in range(plan.steps):
        if step > 0:
            allocate(plan, memory, which)
        _teach(setting, plan, state, memory, which)
    return arm


@inner
def best_response_arm(setting: Setting, plan: Plan, state: State, memory: Memory) -> int:
    """The arm with the largest gain / counts^power against the alternative at the counts.

    An arm with fewer than `exploration` sqrt(t) measurements goes first: a misleading estimate of
    an arm that seems useless would otherwise never be corrected.
    """
    least = _least_measured(state.counts)
    if state.counts[least] < plan.exploration * math.sqrt(float(state.clock[SAMPLES])):
        return least
    status, _, _, _ = closest(
        setting, state.projected, state.weights, state.incumbents, setting.tol, state.play
    )
    if status == STALLED:
        state.clock[STALLS] += 1
        return least
    set_gains(setting, plan, state, state.play.below, memory)
    best, highest = 0, -1.0
    for k in range(memory.gains.shape[0]):
        gain = memory.gains[k] / max(state.counts[k], 0.5) ** plan.power
        if gain > highest:
            best, highest = k, gain
    return best
