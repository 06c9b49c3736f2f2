"""MisLid's game: a learner against the closest alternative, and arms from its allocation."""

from __future__ import annotations

import math

from mislid._jit import PerArm, Vector, inner, kernel
from mislid._kernels.allocations import closest_at_plan
from mislid._kernels.gains import Gains, set_gains
from mislid._kernels.learners import Learners, allocate, learn
from mislid._kernels.rounds import Round, keep_recent, least_measured, leave_out
from mislid.geometry.newton import STALLED
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping.state import Setting, State

# From an allocation to an arm.
DIRECT, C_TRACKING, D_TRACKING = range(3)


class Game(Gains, Round, Learners):
    """The rule's options, and what its n learners remember."""

    steps: int  # learner updates a measurement
    per_answer: bool  # one learner per answer (m = 1) instead of one in all
    tracking: int
    forced: bool  # forced exploration with tracking
    weights: PerArm  # omega / variance
    tracked: PerArm  # sums of allocations


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
def tracked_arm(game: Game, counts: Vector, samples: float) -> int:
    """The arm furthest behind the sums of allocations (C-tracking) or samples * omega (D-tracking).

    `forced` first serves an arm with fewer than sqrt(samples) - K / 2 measurements.
    """
    K = counts.shape[0]
    if game.forced:
        least = least_measured(counts)
        if counts[least] < math.sqrt(samples) - 0.5 * K:
            return least
    best, behind = 0, -math.inf
    for k in range(K):
        goal = game.tracked[k] if game.tracking == C_TRACKING else samples * game.omega[k]
        if goal - counts[k] > behind:
            best, behind = k, goal - counts[k]
    return best


@inner
def allocated_arm(game: Game, state: State, uniform: float) -> int:
    """From the learner's allocation to an arm: drawn from it, or tracking it."""
    for k in range(game.omega.shape[0]):
        game.tracked[k] += game.omega[k]
    if game.tracking == DIRECT:
        return drawn(game.omega, uniform)
    return tracked_arm(game, state.counts, float(state.samples))


@inner
def _answer(setting: Setting, game: Game, state: State) -> bool:
    """Let the closest alternative answer the allocation; whether it could be certified."""
    status, _, i, _ = closest_at_plan(setting, state, game.omega, game.weights, game.published)
    if status != STALLED:
        keep_recent(game, i)
    return status != STALLED


@kernel
def play(setting: Setting, game: Game, state: State, uniform: float) -> int:
    """The arm to measure next (Algorithm 1 of the paper); `uniform` is in [0, 1).

    First an arm from the learner's allocation, then the closest alternative answers and the learner
    learns; with several learners, that of the present answer. With several pulls a round, the later
    ones come from the same allocation. A round whose alternative could not be certified
    teaches nothing; it is counted.
    """
    if state.queued > 0:
        state.queued -= 1
        return allocated_arm(game, state, uniform)
    state.queued = game.pulls - 1
    which = state.incumbents[0] if game.per_answer else 0
    allocate(game, which)
    arm = allocated_arm(game, state, uniform)
    leave_out(game, state, state.play, uniform)
    for step in range(game.steps):
        if step > 0:
            allocate(game, which)
        if not _answer(setting, game, state):
            state.stalls += 1
            break
        set_gains(setting, game, state, state.play.below)
        state.rounds += 1
        learn(game, which)
    leave_nothing_out(state.play)
    return arm
