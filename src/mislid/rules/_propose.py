"""The next arm, whatever the sampling rule; and the rival rules' own stopping tests."""

from __future__ import annotations

from typing import NamedTuple

from mislid.geometry._compile import inner, kernel
from mislid.rules._game import best_response_arm, game_arm
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
    Memory,
    Plan,
)
from mislid.rules._ridge import ridge_answer
from mislid.rules._simple import fixed_arm, uniform_arm
from mislid.rules._state import SAMPLES, Setting, State, top
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
def propose(setting: Setting, sampler: Sampler, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is all the randomness there is."""
    plan, memory, rule = sampler.plan, sampler.memory, sampler.plan.sampler
    if rule == GAME:
        return game_arm(setting, plan, state, memory, uniform)
    if rule == BEST_RESPONSE:
        return best_response_arm(setting, plan, state, memory)
    if rule == FIXED:
        return fixed_arm(plan, state, memory)
    beta = _rival_beta(sampler, state)
    if rule == LUCB:
        return lucb_arm(setting, plan, state, memory, beta)
    if rule == LINGAPE:
        return lingape_arm(setting, state, memory, sampler.gaps.ridge, beta)
    if rule == LINGIFA:
        return lingifa_arm(setting, state, memory, sampler.gaps, beta, plan.greedy)
    return uniform_arm(state)


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
