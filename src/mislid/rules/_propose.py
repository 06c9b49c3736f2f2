"""The next arm, whatever the sampling rule; and the rival rules' own stopping tests."""

from __future__ import annotations

from typing import NamedTuple

from mislid.geometry._compile import inner, kernel
from mislid.geometry._newton import STALLED
from mislid.geometry._search import BELOW
from mislid.rules._closest import closest
from mislid.rules._gains import set_gains
from mislid.rules._game import (
    begin_game,
    least_measured,
    most_telling_arm,
    neglected_arm,
    set_play_weights,
)
from mislid.rules._learners import allocate, learn
from mislid.rules._lingape import lingape_arm
from mislid.rules._lingifa import GapSpace, gap_answer, lingifa_arm
from mislid.rules._lucb import lucb_arm
from mislid.rules._plan import (
    BEST_RESPONSE,
    FIXED,
    GAME,
    LINGAPE,
    LINGIFA,
    LUCB,
    OWN_INDEX,
    OWN_THRESHOLD,
    UNIFORM,
    Memory,
    Plan,
)
from mislid.rules._ridge import ridge_answer
from mislid.rules._simple import fixed_arm, uniform_arm
from mislid.rules._state import ROUNDS, SAMPLES, STALLS, Setting, State, top
from mislid.rules._thresholds import heuristic


class Sampler(NamedTuple):
    """A sampling rule with all that it remembers."""

    plan: Plan
    memory: Memory
    gaps: GapSpace  # of LinGapE and LinGIFA
    log_inverse: float  # ln(1/delta), of the rivals' widths


@inner
def _rival_beta(sampler: Sampler, state: State) -> float:
    return heuristic(float(state.clock[SAMPLES]), sampler.log_inverse)


@inner
def needs_estimate(sampler: Sampler) -> bool:
    """Whether the rule looks at the projected means."""
    return sampler.plan.sampler == GAME or sampler.plan.sampler == BEST_RESPONSE


@inner
def _rival_arm(setting: Setting, sampler: Sampler, state: State) -> int:
    """The next arm of a rule that does not look for alternatives."""
    plan, memory, rule = sampler.plan, sampler.memory, sampler.plan.sampler
    if rule == FIXED:
        return fixed_arm(plan, state, memory)
    if rule == UNIFORM:
        return uniform_arm(state)
    beta = _rival_beta(sampler, state)
    if rule == LUCB:
        return lucb_arm(setting, plan, state, memory, beta)
    if rule == LINGAPE:
        return lingape_arm(setting, state, memory, sampler.gaps.ridge, beta)
    return lingifa_arm(setting, state, memory, sampler.gaps, beta, plan.greedy)


@inner
def propose(setting: Setting, sampler: Sampler, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is all the randomness there is.

    The game (Algorithm 1 of the paper) first takes an arm from the learner's allocation, then the
    closest alternative answers and the learner learns. A best response is the arm that tells the
    alternative at the counts apart. A round whose alternative could not be certified teaches
    nothing; it is counted.
    """
    plan, memory = sampler.plan, sampler.memory
    if not needs_estimate(sampler):
        return _rival_arm(setting, sampler, state)
    arm, which = neglected_arm(plan, state), -1
    if plan.sampler == GAME:
        arm, which = begin_game(plan, state, memory, uniform)
        if which < 0:
            return arm
    elif arm >= 0:
        return arm
    for step in range(plan.steps):
        if step > 0:
            allocate(plan, memory, which)
        set_play_weights(setting, plan, state, memory)
        status, _, _, _ = closest(
            setting, state.projected, memory.weights, state.incumbents, setting.tol, state.play
        )
        if status == STALLED:
            state.clock[STALLS] += 1
            return arm if arm >= 0 else least_measured(state.counts)
        set_gains(setting, plan, state, state.play.arms[BELOW], memory)
        state.clock[ROUNDS] += 1
        if plan.sampler == GAME:
            learn(plan, memory, which)
    return arm if plan.sampler == GAME else most_telling_arm(plan, state, memory)


@inner
def own_test(setting: Setting, sampler: Sampler, state: State) -> bool:
    """Whether the index of the last `propose` settles the question for a rival rule.

    As in the published runs, it is the index from before the last measurement. Fills the answer,
    with that measurement, into `state.incumbents`.
    """
    scalars = sampler.memory.scalars
    if not scalars[OWN_INDEX] <= scalars[OWN_THRESHOLD]:
        return False
    rule = sampler.plan.sampler
    if rule == LINGAPE:
        ridge_answer(setting, state, sampler.gaps.ridge, state.incumbents)
    elif rule == LINGIFA:
        beta = _rival_beta(sampler, state)
        gap_answer(setting, state, sampler.gaps, beta, state.incumbents)
    else:
        top(state.means, state.incumbents)
    return True


@kernel
def next_arm(setting: Setting, sampler: Sampler, state: State, uniform: float) -> int:
    """`propose` for Python callers."""
    return propose(setting, sampler, state, uniform)
