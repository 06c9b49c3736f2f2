"""Alternatives that answer an allocation, for rules that plan one."""

from __future__ import annotations

from mislid._jit import Vector, inner
from mislid._kernels.near_pairs import NearPairs, find_near
from mislid._kernels.rounds import search_around
from mislid.geometry.newton import STALLED
from mislid.geometry.search import aim_at_projection
from mislid.geometry.two_arms import Closest
from mislid.stopping.state import Setting, State

# Shares of an allocation below this are never drawn; squared, they would underflow in the solver.
NEGLIGIBLE = 1e-100
# Weights over many orders of magnitude can be more than the solver certifies. Shares below these,
# in turn, are neglected then: a learner that is taught nothing would play the same for ever.
COARSER = (1e-30, 1e-15, 1e-8)
# Of linear means no share counts as less. Smaller ones would still decide where an alternative puts
# arms that its pair has nothing to do with, and in the solver's rounding it puts them anywhere: a
# learner that sees such gains plays all arms alike for long. So it is in a tube where the solver's
# first attempt fails: its others would take a hundred times as long.
LEAST_SHARE, FLOORED = 1e-9, -1.0


@inner
def _set_weights(setting: Setting, plan: Vector, neglected: float, weights: Vector) -> None:
    """Shares (K,) over variances, without those that are neglected, or none but FLOORED ones."""
    for k in range(plan.shape[0]):
        share = plan[k] if plan[k] > neglected else 0.0
        if neglected == FLOORED:
            share = max(plan[k], LEAST_SHARE)
        weights[k] = share / setting.variance[k]


@inner
def closest_at_plan(
    setting: Setting, state: State, plan: Vector, weights: Vector, patient: bool
) -> Closest:
    """The alternative closest to the estimate where arms have these shares (K,).

    In a tube by the shares as they are, if the solver certifies that, at its first attempt unless
    `patient`. Otherwise no share counts as less than LEAST_SHARE, or small ones are neglected.
    """
    newton, linear = state.play.newton, setting.eps == 0.0
    found = (STALLED, 0.0, -1, -1)
    for attempt in range(1 + len(COARSER)):
        least = NEGLIGIBLE if attempt == 0 else COARSER[attempt - 1]
        if linear or (attempt == 1 and not patient):
            least = FLOORED
        _set_weights(setting, plan, least, weights)
        aim_at_projection(weights, state.test, state.play)
        newton.hasty = attempt == 0 and not linear and not patient
        found = search_around(setting, state, weights, state.play)
        newton.hasty = False
        if found[0] != STALLED or linear:
            break
    return found


@inner
def answer_plan(
    setting: Setting, state: State, plan: Vector, weights: Vector, near: NearPairs
) -> bool:
    """Fill `near` with the alternatives closest to the estimate where arms have these shares.

    Whether there is one that tells: not where two arms of the closest are level, nor where the
    search certified nothing.
    """
    _set_weights(setting, plan, FLOORED if setting.eps == 0.0 else 0.0, weights)
    aim_at_projection(weights, state.test, state.play)
    if not find_near(setting, state, weights, state.play, near):
        return False
    state.rounds += 1
    return near.costs[near.closest] > 0.0
