"""Rounds of rules that respond to the closest alternative, and gains of arms at an alternative.

Gains are divided by the arm's variance: information per measurement, free of units.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mislid._jit import Indices, PerArm, Struct, Vector, inner
from mislid._validation import as_count
from mislid.algorithms._draws import stream_of
from mislid.algorithms._draws import uniform as number_at
from mislid.geometry.linalg import fill
from mislid.geometry.newton import STALLED
from mislid.geometry.search import SearchSpace, aim_at_projection, search_pairs
from mislid.geometry.two_arms import (
    ACCURACY,
    Closest,
    closest_unstructured,
    is_wide,
    list_challengers,
)
from mislid.stopping.pairs_left import leave_out_pairs
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


class Round(Struct):
    """Several measurements for one alternative, which may use a few challengers only.

    This is a trick of the paper: with a general solver, all pairs would cost m (K - m) programs a
    round. It is not exact, since a round misses alternatives outside the subset.
    """

    pulls: int  # measurements a round
    subset: int  # challengers drawn at random besides the recent ones; 0 for all
    selective: bool  # whether pairs that are settled are left out
    published: bool  # whether other details follow the published runs
    recent: Indices  # (n,) recent challengers, first in first out, -1 where there are fewer
    gains: PerArm  # of the last round


def check_round(rule: Any) -> None:
    """Check the options `pulls` and `subset` of a record."""
    if rule.pulls is not None:
        as_count(rule.pulls, "pulls", 1)
    if rule.subset is not None:
        as_count(rule.subset, "subset", 0)


def round_fields(rule: Any, setting: Setting) -> dict[str, Any]:
    """Initial values of the fields of `Round`, by the options pulls, subset and authors."""
    d = setting.X.shape[1]
    return {
        "pulls": d if rule.pulls is None else rule.pulls,
        "subset": d if rule.subset is None else rule.subset,
        "published": rule.authors,
        # As many recent challengers as the published runs kept.
        "recent": np.full(setting.m + d + 2, -1, np.int64),
    }


@inner
def set_slopes(setting: Setting, below: Vector, slopes: Vector) -> None:
    """Fill slopes (K,) with (mu - lambda)^2 / 2 for `below` (K,), the estimate minus lambda."""
    for k in range(below.shape[0]):
        slopes[k] = 0.5 * below[k] * below[k] / setting.variance[k]


@inner
def clip_gains(state: State, gains: Vector) -> None:
    """Clip gains at ln t, as the published runs and LinGame do."""
    most = math.log(float(state.samples))
    for k in range(gains.shape[0]):
        gains[k] = min(gains[k], most)


@inner
def least_measured(counts: Vector) -> int:
    """The arm with the fewest measurements, of several the first."""
    best = 0
    for k in range(counts.shape[0]):
        if counts[k] < counts[best]:
            best = k
    return best


@inner
def search_around(setting: Setting, state: State, weights: Vector, space: SearchSpace) -> Closest:
    """The alternative closest to the projected means, around which `space` is ready to search."""
    eps = setting.eps + setting.widening
    if is_wide(eps, state.projected, setting.tol):
        return closest_unstructured(state.projected, weights, state.incumbents, setting.tol, space)
    status, cost, _, i, j, _, _ = search_pairs(eps, state.incumbents, setting.tol, ACCURACY, space)
    return status, cost, i, j


@inner
def keep_recent(rule: Round, challenger: int) -> None:
    """Add the challenger of the closest alternative to the recent ones, and drop the oldest."""
    recent = rule.recent
    if rule.subset == 0 or challenger < 0:
        return
    last = recent.shape[0] - 1
    for n in range(recent.shape[0]):
        if recent[n] == challenger:
            return
        if recent[n] < 0:
            recent[n] = challenger
            return
    for n in range(last):
        recent[n] = recent[n + 1]
    recent[last] = challenger


@inner
def leave_out(rule: Round, state: State, space: SearchSpace, uniform: float) -> None:
    """Exempt pairs from a search: those of challengers outside the subset, and settled ones.

    The subset has the recent challengers and `subset` random ones. `uniform` seeds the choice, so
    that a round depends on nothing else.
    """
    K, m, heap = state.counts.shape[0], state.incumbents.shape[0], state.heap
    n, challengers, kept = K - m, space.challengers, state.work
    if rule.subset > 0:
        list_challengers(K, state.incumbents, challengers)
        for a in range(n):
            heap[a] = challengers[a]
        fill(kept, 0.0)
        for a in range(rule.recent.shape[0]):
            if rule.recent[a] >= 0:
                kept[rule.recent[a]] = 1.0
        key = stream_of(uniform)
        for a in range(min(rule.subset, n)):  # the first of a random order of the challengers
            other = a + int(number_at(key, a) * (n - a))
            heap[a], heap[other] = heap[other], heap[a]
            kept[heap[a]] = 1.0
        for a in range(n):
            for b in range(m):
                space.exempt[a * m + b] = kept[challengers[a]] == 0.0
    if rule.selective:
        leave_out_settled(state, space)


@inner
def leave_out_settled(state: State, space: SearchSpace) -> None:
    """Exempt pairs that are settled from a search."""
    list_challengers(state.counts.shape[0], state.incumbents, space.challengers)
    leave_out_pairs(state.left, state.incumbents, space.challengers, space.exempt)


@inner
def set_weights(setting: Setting, plan: Vector, neglected: float, weights: Vector) -> None:
    """Fill weights (K,) with shares over variances; small shares become 0, or LEAST_SHARE."""
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
        set_weights(setting, plan, least, weights)
        aim_at_projection(weights, state.test, state.play)
        newton.hasty = attempt == 0 and not linear and not patient
        found = search_around(setting, state, weights, state.play)
        newton.hasty = False
        if found[0] != STALLED or linear:
            break
    return found
