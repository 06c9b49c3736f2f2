"""Measure where the alternative closest to the data so far is told apart best."""

from __future__ import annotations

import math

from mislid._kernels.compile import inner, kernel
from mislid._kernels.gains import Gains, set_gains
from mislid._kernels.newton import STALLED
from mislid._kernels.problem import NOBODY
from mislid._kernels.rounds import Round, keep_recent, least_measured, leave_out, search_around
from mislid._kernels.search import forget_means
from mislid._kernels.state import Setting, State
from mislid._kernels.two_arms import leave_nothing_out, move_pair


class BestResponse(Gains, Round):
    """The rule's options, and its gains."""

    power: float  # gain / counts^power
    exploration: float  # arms with fewer than this times sqrt(t) measurements come first


@inner
def _per_measurement(gain: float, count: float, power: float) -> float:
    """gain / count^power; a power costs more than all else here, and by default it is 0."""
    return gain if power == 0.0 else gain / max(count, 0.5) ** power


@inner
def most_telling_arm(rule: BestResponse, state: State, i: int, j: int, uniform: float) -> int:
    """The arm with the largest gain / counts^power; among equals, `uniform` in [0, 1) decides.

    Where no arm has any, because the arms of the closest pair are level, the less measured of them.
    """
    best, highest, equals = 0, -1.0, 0
    for k in range(rule.gains.shape[0]):
        gain = _per_measurement(rule.gains[k], state.counts[k], rule.power)
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
        if _per_measurement(rule.gains[k], state.counts[k], rule.power) == highest:
            best = k
            place -= 1
    return best


@inner
def _is_answered(rule: BestResponse, state: State) -> bool:
    """Whether the stopping test has just found the alternative that this is the response to."""
    return rule.subset == 0 and state.answered == state.samples


@kernel
def best_response(setting: Setting, rule: BestResponse, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is all the randomness there is.

    The one that tells the closest alternative at the counts apart; where a proof by two arms alone
    is likely to end first, the one that helps it most. An arm with fewer than `exploration`
    sqrt(t) measurements goes first: a misleading estimate of one that seems useless would never
    be corrected. Where the alternative could not be certified, that is counted.
    """
    if state.queued > 0:
        state.queued -= 1
        return most_telling_arm(rule, state, int(NOBODY), int(NOBODY), uniform)
    least, space = least_measured(state.counts), state.test
    if state.counts[least] < rule.exploration * math.sqrt(float(state.samples)):
        return least
    state.queued = rule.pulls - 1
    leave_out(rule, state, space, uniform)
    i, j = state.doubt_challenger, state.doubt_incumbent
    paired = state.paired == state.samples
    if paired:
        i, j = state.lagging_challenger, state.lagging_incumbent
        move_pair(state.means, state.weights, i, j, setting.tol, space.below)
    elif not _is_answered(rule, state):
        forget_means(space)
        status, _, i, j = search_around(setting, state, state.weights, space)
        if status == STALLED:
            state.stalls += 1
            leave_nothing_out(space)
            return least
        keep_recent(rule, i)
    set_gains(setting, rule, state, space.below)
    state.rounds += not paired
    leave_nothing_out(space)
    return most_telling_arm(rule, state, i, j, uniform)
