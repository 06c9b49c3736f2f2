"""Frank-Wolfe sampling (Wang, Tzeng and Proutiere, 2021).

A target allocation takes a step of Frank-Wolfe in every round, towards what would raise the cost of
all alternatives that are nearly the closest; the counts follow the target.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import PerArm, Struct, Vector, inner, kernel
from mislid._kernels.allocations import answer_plan
from mislid._kernels.near_pairs import NearPairs, new_near_pairs
from mislid._kernels.rounds import leave_out_settled
from mislid._kernels.zero_sum import ZeroSum, best_mixture, new_zero_sum
from mislid.geometry.linalg import dot, fill
from mislid.geometry.order import first_largest
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping.state import Setting, State

# An alternative is near within t^-POWER / K of the closest.
POWER = 0.9


class FrankWolfe(Struct):
    """The target, and where it moves."""

    selective: bool  # whether pairs that are settled are left out
    plan: PerArm
    towards: PerArm
    weights: PerArm
    near: NearPairs
    game: ZeroSum


def new_frank_wolfe(K: int, m: int) -> FrankWolfe:
    """With an even target."""
    near = new_near_pairs(K, m)
    return FrankWolfe.zeros(
        {"K": K},
        plan=np.full(K, 1.0 / K),
        near=near,
        game=new_zero_sum(near.costs.shape[0], K),
    )


@inner
def _is_square(n: int) -> bool:
    root = int(math.sqrt(float(n)))
    return root * root == n or (root + 1) * (root + 1) == n


@inner
def _aim_higher(rule: FrankWolfe) -> None:
    """Let `towards` be the z with the largest min_j <z - plan, slopes_j>."""
    near, towards = rule.near, rule.towards
    if near.count > 1:
        for j in range(near.count):
            now = dot(near.slopes[j], rule.plan)
            for k in range(towards.shape[0]):
                near.slopes[j, k] -= now
        if best_mixture(near.slopes, near.count, rule.game, towards):
            return
    fill(towards, 0.0)
    towards[first_largest(near.slopes[near.closest])] = 1.0


@inner
def _furthest_behind(plan: Vector, counts: Vector, price: Vector) -> int:
    """The arm with the largest plan / count, one that was never measured first."""
    best, largest = 0, -1.0
    for k in range(plan.shape[0]):
        ratio = plan[k] / counts[k] if counts[k] > 0.0 else np.inf
        if ratio > largest and price[k] < np.inf:
            best, largest = k, ratio
    return best


@inner
def _look_around(setting: Setting, rule: FrankWolfe, state: State) -> bool:
    """The alternatives that are nearly the closest at the target; whether they tell anything."""
    if rule.selective:
        leave_out_settled(state, state.play)
    found = answer_plan(setting, state, rule.plan, rule.weights, rule.near)
    leave_nothing_out(state.play)
    return found


@kernel
def frank_wolfe_arm(setting: Setting, rule: FrankWolfe, state: State, uniform: float) -> int:
    """The arm to measure next; the target moves evenly to all arms where floor(t / K) is a square.

    It does so too where nothing is to be learnt from the closest alternative.
    """
    K, t = rule.plan.shape[0], state.samples + 1
    rule.near.reach = float(t) ** -POWER / K
    if not _is_square(t // K) and _look_around(setting, rule, state):
        _aim_higher(rule)
    else:
        fill(rule.towards, 1.0 / K)
    for k in range(K):
        rule.plan[k] += (rule.towards[k] - rule.plan[k]) / t
    return _furthest_behind(rule.plan, state.counts, setting.price)
