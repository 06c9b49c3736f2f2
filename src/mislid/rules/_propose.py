"""The next arm, whatever the sampling rule."""

from __future__ import annotations

from typing import NamedTuple

from mislid.geometry._compile import inner, kernel
from mislid.geometry._newton import STALLED
from mislid.geometry._search import BELOW, PAIRS, aim_at_projection, forget_means, search
from mislid.rules._gains import set_gains
from mislid.rules._game import (
    COARSER,
    NEGLIGIBLE,
    begin_game,
    begin_response,
    most_telling_arm,
    set_play_weights,
)
from mislid.rules._learners import allocate, learn
from mislid.rules._plan import BEST_RESPONSE, FIXED, GAME, UNIFORM, Memory, Plan
from mislid.rules._recent import keep_recent, leave_out
from mislid.rules._rivals import Rivals, rival_arm
from mislid.rules._simple import fixed_arm, uniform_arm
from mislid.rules._state import (
    ANSWERED,
    LAGGING,
    PAIRED,
    ROUNDS,
    SAMPLES,
    STALLS,
    Setting,
    State,
)
from mislid.rules._wide import ACCURACY, closest_unstructured, is_wide, leave_nothing_out, move_pair


class Sampler(NamedTuple):
    """A sampling rule with all that it remembers."""

    plan: Plan
    memory: Memory


@inner
def needs_estimate(plan: Plan) -> bool:
    """Whether the rule looks at the projected means."""
    return plan.sampler == GAME or plan.sampler == BEST_RESPONSE


@inner
def _is_answered(plan: Plan, state: State) -> bool:
    """Whether the stopping test has just found the alternative that a best response is to."""
    return plan.subset == 0 and state.clock[ANSWERED] == state.clock[SAMPLES]


@inner
def propose(setting: Setting, plan: Plan, memory: Memory, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is all the randomness there is.

    The game (Algorithm 1 of the paper) first takes an arm from the learner's allocation, then the
    closest alternative answers and the learner learns. A best response is the arm that tells the
    alternative at the counts apart; where a proof by two arms alone is likely to end first, the arm
    that helps it most. A round whose alternative could not be certified teaches
    nothing; it is counted.
    """
    if plan.sampler == FIXED:
        return fixed_arm(plan, state, memory)
    if plan.sampler == UNIFORM:
        return uniform_arm(state)
    if plan.sampler == GAME:
        arm, which = begin_game(plan, state, memory, uniform)
    else:
        arm, which = begin_response(plan, state, memory, uniform)
    if which < 0:
        return arm
    responding = plan.sampler == BEST_RESPONSE
    weights = state.weights if responding else memory.weights
    space = state.test if responding else state.play
    eps, part = setting.eps + setting.widening, int(PAIRS)
    paired = responding and state.clock[PAIRED] == state.clock[SAMPLES]
    leave_out(plan, state, memory, space, uniform)
    for step in range(plan.steps):
        if step > 0:
            allocate(plan, memory, which)
        if not responding:
            set_play_weights(setting, memory, NEGLIGIBLE)
        i, j = state.doubted[0], state.doubted[1]
        if paired:
            i, j = state.doubted[LAGGING], state.doubted[LAGGING + 1]
            move_pair(state.means, weights, i, j, setting.tol, space.arms[BELOW])
        elif not (responding and _is_answered(plan, state)):
            status = STALLED
            for attempt in range(1 if responding else 1 + len(COARSER)):
                if attempt > 0:
                    set_play_weights(setting, memory, COARSER[attempt - 1])
                if is_wide(eps, state.projected, setting.tol):
                    status, _, i, j = closest_unstructured(
                        state.projected, weights, state.incumbents, setting.tol, space
                    )
                else:
                    if responding:
                        forget_means(space)
                    else:
                        aim_at_projection(setting.X, weights, state.test, space)
                    status, _, _, i, j, _, _ = search(
                        part,
                        setting.X,
                        eps,
                        state.projected,
                        weights,
                        state.incumbents,
                        setting.tol,
                        ACCURACY,
                        space,
                    )
                if status != STALLED:
                    break
            if status == STALLED:
                state.clock[STALLS] += 1
                break
            keep_recent(plan, memory, i)
        set_gains(setting, plan, state, space.arms[BELOW], memory)
        state.clock[ROUNDS] += not paired
        if responding:
            arm = most_telling_arm(plan, state, memory, i, j, uniform)
        else:
            learn(plan, memory, which)
    leave_nothing_out(space)
    return arm


@kernel
def next_arm(
    setting: Setting, sampler: Sampler, state: State, uniform: float, rivals: Rivals | None
) -> int:
    """`propose` or `rival_arm` for Python callers.

    Only the one that `rivals` calls for is compiled.
    """
    if rivals is None:
        return propose(setting, sampler.plan, sampler.memory, state, uniform)
    return rival_arm(setting, sampler.plan, sampler.memory, rivals, state)
