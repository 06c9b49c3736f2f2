"""The next arm, whatever the sampling rule."""

from __future__ import annotations

from typing import NamedTuple

from mislid.geometry._compile import inner, kernel
from mislid.geometry._newton import STALLED
from mislid.geometry._search import ALL, BELOW, search
from mislid.rules._gains import set_gains
from mislid.rules._game import (
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
from mislid.rules._state import ROUNDS, STALLS, Setting, State
from mislid.rules._wide import ACCURACY, closest_unstructured, is_wide


class Sampler(NamedTuple):
    """A sampling rule with all that it remembers."""

    plan: Plan
    memory: Memory


@inner
def needs_estimate(plan: Plan) -> bool:
    """Whether the rule looks at the projected means."""
    return plan.sampler == GAME or plan.sampler == BEST_RESPONSE


@inner
def propose(setting: Setting, plan: Plan, memory: Memory, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is all the randomness there is.

    The game (Algorithm 1 of the paper) first takes an arm from the learner's allocation, then the
    closest alternative answers and the learner learns. A best response is the arm that tells the
    alternative at the counts apart. A round whose alternative could not be certified teaches
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
    given, incumbents, tol = state.projected, state.incumbents, setting.tol
    eps, part = setting.eps + setting.widening, int(ALL)
    leave_out(plan, state, memory, uniform)
    for step in range(plan.steps):
        if step > 0:
            allocate(plan, memory, which)
        set_play_weights(setting, plan, state, memory)
        weights = memory.weights
        if is_wide(eps, given, tol):
            status, _, i, _ = closest_unstructured(given, weights, incumbents, tol, state.play)
        else:
            status, _, _, i, _, _, _ = search(
                part, setting.X, eps, given, weights, incumbents, tol, ACCURACY, state.play
            )
        if status == STALLED:
            state.clock[STALLS] += 1
            return arm
        keep_recent(plan, memory, i)
        set_gains(setting, plan, state, state.play.arms[BELOW], memory)
        state.clock[ROUNDS] += 1
        if plan.sampler == GAME:
            learn(plan, memory, which)
    return arm if plan.sampler == GAME else most_telling_arm(plan, state, memory, uniform)


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
