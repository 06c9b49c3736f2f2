"""Measure where the alternative closest to the data so far is told apart best."""

from __future__ import annotations

import math

from mislid._jit import inner, kernel
from mislid._kernels.gains import Gains, set_gains, set_slopes
from mislid._kernels.rounds import (
    Round,
    keep_recent,
    least_explored,
    least_measured,
    leave_out,
    search_around,
)
from mislid.geometry.newton import STALLED
from mislid.geometry.problem import NOBODY
from mislid.geometry.search import forget_means
from mislid.geometry.two_arms import is_wide, leave_nothing_out
from mislid.stopping.aims import Aims, aimed_arm, find_overdue, lagging_arm
from mislid.stopping.state import ALL_ARMS, NOTHING, Setting, State

# Where sampling aims at all arms, two arms have this share of the turns. To the alternatives an arm
# that misleads may seem useless for long; its own pair asks for it, so that none waits for ever.
TURN = 0.125


class BestResponse(Gains, Round):
    """The rule's options, and its gains."""

    power: float  # gain / counts^power
    exploration: float  # arms with fewer than this times sqrt(t) measurements come first
    aims: Aims


@inner
def _per_measurement(gain: float, count: float, power: float) -> float:
    """gain / count^power; a power costs more than all else here, and by default it is 0."""
    return gain if power == 0.0 else gain / max(count, 0.5) ** power


@inner
def most_telling_arm(
    setting: Setting, rule: BestResponse, state: State, i: int, j: int, uniform: float
) -> int:
    """The arm with the largest gain / (counts^power price); among equals, `uniform` decides.

    Where no arm has any, because the arms of the closest pair are level, the less measured of them.
    """
    best, highest, equals = 0, -1.0, 0
    for k in range(rule.gains.shape[0]):
        gain = _per_measurement(rule.gains[k], state.counts[k], rule.power) / setting.price[k]
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
        gain = _per_measurement(rule.gains[k], state.counts[k], rule.power) / setting.price[k]
        if gain == highest:
            best = k
            place -= 1
    return best


@inner
def _find_alternative(setting: Setting, rule: BestResponse, state: State) -> tuple[int, int, bool]:
    """Leave the alternative to respond to in `state.test.below`; its pair, and if it is one."""
    known = rule.subset == 0 and not rule.selective and state.answered == state.samples
    if known:  # the stopping test has just found it
        state.rounds += 1
        return state.doubt_challenger, state.doubt_incumbent, True
    forget_means(state.test)
    status, _, i, j = search_around(setting, state, state.weights, state.test)
    if status == STALLED:
        state.stalls += 1
        return i, j, False
    state.rounds += 1
    return i, j, True


@inner
def _spared_arm(setting: Setting, rule: BestResponse, state: State, uniform: float) -> int:
    """An arm that needs no search, or NOBODY.

    A later pull of a round; the one that a proof asks for, unless it aims at all arms; or one with
    fewer than `exploration` sqrt(t) measurements: a misleading estimate of an arm that seems
    useless would never be corrected.
    """
    if state.queued > 0:
        state.queued -= 1
        return most_telling_arm(setting, rule, state, int(NOBODY), int(NOBODY), uniform)
    if state.aim == ALL_ARMS:
        if uniform < TURN:
            return lagging_arm(setting, state, uniform / TURN)
    elif state.aim != NOTHING:
        return aimed_arm(setting, rule.aims, state, uniform)
    least = least_explored(setting, state.counts)
    if state.counts[least] < rule.exploration * math.sqrt(float(state.samples)):
        return least
    state.queued = rule.pulls - 1
    return NOBODY


@kernel
def best_response(setting: Setting, rule: BestResponse, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is all the randomness there is.

    The one that tells the closest alternative at the counts apart, by empirical gains and with all
    challengers: what the default needs, and nothing else to compile.
    """
    if state.aim == NOTHING and is_wide(setting.eps, state.projected, setting.tol):
        find_overdue(setting, state)
        return lagging_arm(setting, state, uniform)
    arm = _spared_arm(setting, rule, state, uniform)
    if arm >= 0:
        return arm
    i, j, found = _find_alternative(setting, rule, state)
    if not found:
        return least_measured(state.counts)
    set_slopes(setting, state.test.below, rule.gains)
    return most_telling_arm(setting, rule, state, i, j, uniform)


@kernel
def any_response(setting: Setting, rule: BestResponse, state: State, uniform: float) -> int:
    """`best_response` with any gains, and with the trick of few challengers."""
    arm = _spared_arm(setting, rule, state, uniform)
    if arm >= 0:
        return arm
    leave_out(rule, state, state.test, uniform)
    i, j, found = _find_alternative(setting, rule, state)
    leave_nothing_out(state.test)
    if not found:
        return least_measured(state.counts)
    keep_recent(rule, i)
    set_gains(setting, rule, state, state.test.below)
    return most_telling_arm(setting, rule, state, i, j, uniform)
