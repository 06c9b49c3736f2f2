"""Top-two Thompson sampling with information-directed selection (You, Qin, Wang and Yang, 2023).

One draw from the posterior gives the leader's answer, another the challenger's; the two arms that
they differ in are the pair. An arm is measured in proportion to what its measurements so far say
about that pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mislid._jit import PerArm, Struct, inner, kernel
from mislid.algorithms._draws import Drawing, Posterior, draw, drawn, stream_of
from mislid.algorithms.best_response import less_measured
from mislid.algorithms.registry import CompiledSampling, register
from mislid.geometry.linalg import fill
from mislid.geometry.newton import INFEASIBLE, STALLED, means_below, solve
from mislid.geometry.order import mark_top
from mislid.geometry.problem import NOBODY, set_problem
from mislid.geometry.search import forget_means, set_start
from mislid.geometry.two_arms import ACCURACY, is_wide, move_pair
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State, closest


@dataclass(frozen=True)
class TopTwoIDS(Drawing):
    """Top-two Thompson sampling, information-directed (You, Qin, Wang and Yang 2023).

    Two draws with different answers give a pair; an arm is measured in proportion to what its
    measurements so far say about it.

    Attributes
    ----------
    draws
        At most so many a round for the second; then the closest alternative gives the pair.
    """


class TopTwoIDSStruct(Struct):
    """The draws, and the information of arms about the pair."""

    posterior: Posterior
    leaders: PerArm  # 1 for the m best arms of the first draw
    others: PerArm  # and of the second
    shares: PerArm


@inner
def _mark_answer(setting: Setting, rule: TopTwoIDSStruct, state: State, flags: PerArm) -> None:
    """Mark the m best arms of the draw."""
    shift, values = rule.posterior.shift, rule.posterior.values
    for k in range(shift.shape[0]):
        values[k] = state.projected[k] + shift[k]
    mark_top(values, setting.m, state.heap, flags)


@inner
def _drawn_pair(rule: TopTwoIDSStruct) -> tuple[int, int]:
    """The best arm of the other answer only, and the worst leader only; -1 for equal answers."""
    i, j, values = -1, -1, rule.posterior.values
    for k in range(values.shape[0]):
        if rule.others[k] > rule.leaders[k] and (i < 0 or values[k] > values[i]):
            i = k
        if rule.others[k] < rule.leaders[k] and (j < 0 or values[k] < values[j]):
            j = k
    return i, j


@inner
def _draw_pair(
    setting: Setting, rule: TopTwoIDSStruct, state: State, key: np.uint64
) -> tuple[int, int]:
    """Two arms of which two draws prefer different ones; -1 without such draws.

    After `draws` attempts the estimate takes the place of the second draw, and it takes the place
    of a first one that could not be projected.
    """
    if not draw(setting, state, key, 0, rule.posterior):
        fill(rule.posterior.shift, 0.0)
    _mark_answer(setting, rule, state, rule.leaders)
    for at in range(1, 1 + rule.posterior.draws):
        if draw(setting, state, key, at, rule.posterior):
            _mark_answer(setting, rule, state, rule.others)
            i, j = _drawn_pair(rule)
            if i >= 0:
                return i, j
    fill(rule.posterior.shift, 0.0)
    _mark_answer(setting, rule, state, rule.others)
    return _drawn_pair(rule)


@inner
def _move_pair(setting: Setting, state: State, i: int, j: int) -> bool:
    """Leave the closest alternative of a pair in `state.test.below`; whether there is one."""
    space, eps = state.test, setting.eps + setting.widening
    if is_wide(eps, state.projected, setting.tol):
        move_pair(state.projected, state.weights, i, j, setting.tol, space.below)
        return True
    tolerance = setting.tol + (space.linear[j] - space.linear[i])
    set_start(int(NOBODY), space)
    set_problem(i, j, eps, tolerance, space.level, space.newton)
    status, _, _, _, _ = solve(space.local, ACCURACY, space.newton)
    means_below(space.newton, space.below)
    return status != STALLED and status != INFEASIBLE


@inner
def _find_pair(
    setting: Setting, rule: TopTwoIDSStruct, state: State, key: np.uint64
) -> tuple[int, int, bool]:
    """The challenger and the leader, and whether `below` has their alternative.

    Of the two, the leader is the one with the better estimate: their order is to be reversed.
    """
    i, j = _draw_pair(setting, rule, state, key)
    forget_means(state.test)
    if i < 0:
        status, _, i, j = closest(setting, state, state.weights, state.test)
        return i, j, status != STALLED and i >= 0
    if state.projected[i] > state.projected[j]:
        i, j = j, i
    return i, j, _move_pair(setting, state, i, j)


@kernel
def top_two_ids_arm(setting: Setting, rule: TopTwoIDSStruct, state: State, uniform: float) -> int:
    """The arm to measure next: k in proportion to what its measurements add to the pair's cost."""
    i, j, found = _find_pair(setting, rule, state, stream_of(uniform))
    shares, total = rule.shares, 0.0
    if found:
        for k in range(shares.shape[0]):
            shares[k] = 0.5 * state.weights[k] * state.test.below[k] ** 2
            total += shares[k]
        state.rounds += 1
    if not 0.0 < total < np.inf:
        return less_measured(state, max(i, 0), max(j, 0))
    for k in range(shares.shape[0]):
        shares[k] /= total
    return drawn(shares, uniform)


@register({"top-two-ids": TopTwoIDS()})
def _compile(rule: TopTwoIDS, setup: Setup) -> CompiledSampling:
    K, d = setup.setting.X.shape
    posterior = Posterior.zeros({"K": K, "d": d}, draws=rule.draws)
    struct = TopTwoIDSStruct.zeros({"K": K}, posterior=posterior)
    return CompiledSampling(struct, top_two_ids_arm, estimates=True, plays=True)
