"""Sampling rules that do not look for alternatives, with their own widths and stopping tests."""

from __future__ import annotations

from typing import NamedTuple

from mislid.geometry._compile import inner
from mislid.rules._lingape import lingape_arm
from mislid.rules._lingifa import GapSpace, gap_answer, lingifa_arm
from mislid.rules._lucb import lucb_arm
from mislid.rules._plan import LINGAPE, LINGIFA, LUCB, OWN_INDEX, OWN_THRESHOLD, Memory, Plan
from mislid.rules._ridge import ridge_answer
from mislid.rules._select import list_top
from mislid.rules._state import SAMPLES, THRESHOLD, Setting, State
from mislid.rules._thresholds import heuristic


class Rivals(NamedTuple):
    """What LUCB, LinGapE and LinGIFA need besides a plan and a memory."""

    gaps: GapSpace
    log_inverse: float  # ln(1/delta), of their widths


@inner
def _beta(rivals: Rivals, state: State) -> float:
    """The threshold behind the widths: their own, or that of a stricter rule that is to stop them.

    With widths narrower than the stopping rule asks for they would leave arms alone too early, and
    hardly ever stop.
    """
    own = heuristic(float(state.clock[SAMPLES]), rivals.log_inverse)
    return max(own, state.evidence[THRESHOLD])


@inner
def rival_arm(setting: Setting, plan: Plan, memory: Memory, rivals: Rivals, state: State) -> int:
    """The arm to measure next."""
    beta = _beta(rivals, state)
    if plan.sampler == LUCB:
        return lucb_arm(setting, plan, state, memory, beta)
    if plan.sampler == LINGAPE:
        return lingape_arm(setting, state, memory, rivals.gaps.ridge, beta)
    return lingifa_arm(setting, state, memory, rivals.gaps, beta, plan.greedy)


@inner
def own_test(setting: Setting, plan: Plan, memory: Memory, rivals: Rivals, state: State) -> bool:
    """Whether the index of the last `rival_arm` settles the question.

    As in the published runs, it is the index from before the last measurement. Fills the answer,
    with that measurement, into `state.incumbents`.
    """
    if not memory.scalars[OWN_INDEX] <= memory.scalars[OWN_THRESHOLD]:
        return False
    if plan.sampler == LINGAPE:
        ridge_answer(setting, state, rivals.gaps.ridge, state.incumbents)
    elif plan.sampler == LINGIFA:
        gap_answer(setting, state, rivals.gaps, _beta(rivals, state), state.incumbents)
    else:
        list_top(state.means, state.heap, state.work, state.incumbents)
    return True
