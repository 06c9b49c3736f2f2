"""Frank-Wolfe sampling (Wang, Tzeng and Proutiere, 2021).

In every round, a target allocation takes a step of Frank-Wolfe in the direction that raises the
cost of all nearly closest alternatives; the counts follow the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mislid._jit import Indices, Matrix, PerArm, Struct, Vector, inner, inner_loop, kernel
from mislid.algorithms.best_response import FLOORED, set_weights
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.algorithms.top_two import NearPairs, find_near, new_near_pairs
from mislid.geometry.linalg import dot, fill
from mislid.geometry.order import first_largest
from mislid.geometry.search import aim_at_projection
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping.elimination import exempt_settled
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State

# An alternative is near within t^-POWER / K of the closest.
POWER = 0.9

# Payoffs are shifted and scaled to [1, 2]; smaller numbers than this are rounding.
ROUNDING = 1e-11
# Exchanges before the method turns from the steepest to the first column, which cannot cycle, and
# before it gives up, in numbers of rows and columns together.
STEEPEST, MOST = 4, 50


@dataclass(frozen=True)
class FrankWolfe(Algorithm):
    """FWS: one step of Frank-Wolfe a round (Wang, Tzeng and Proutiere 2021).

    A small linear program finds the step that raises the cost of all nearly closest alternatives.
    The arm furthest behind the plan is measured.
    """

    can_select = True
    every_arm = True


class ZeroSum(Struct):
    """A tableau of at most n rows and K columns, one more of each for constants.

    The row player wants sum q as large as A'q <= 1 allows; its multipliers are the columns' shares.
    """

    table: Annotated[Matrix, ("n1", "K1")]
    rows: Annotated[Indices, ("n",)]  # variable of each row: a row, or n plus a column
    columns: Annotated[Indices, ("K",)]


@inner
def _fill_table(payoffs: Matrix, n: int, game: ZeroSum) -> None:
    K, table = game.columns.shape[0], game.table
    low, high = np.inf, -np.inf
    for j in range(n):
        for k in range(K):
            low, high = min(low, payoffs[j, k]), max(high, payoffs[j, k])
    scale = 1.0 / (high - low) if high > low else 0.0
    for j in range(n):
        game.rows[j] = j
        table[j, K] = 1.0
        for k in range(K):
            table[j, k] = 1.0 + scale * (payoffs[j, k] - low)
    for k in range(K):
        game.columns[k] = n + k
        table[n, k] = 1.0
    table[n, K] = 0.0


@inner
def _entering(game: ZeroSum, n: int, steepest: bool) -> int:
    """The entering row: the one with the largest gain, or the first with any; -1 for none."""
    K, best = game.columns.shape[0], -1
    for j in range(n):
        gain = game.table[j, K]
        if gain <= ROUNDING:
            continue
        if best < 0 or (gain > game.table[best, K] if steepest else game.rows[j] < game.rows[best]):
            best = j
    return best


@inner
def _leaving(game: ZeroSum, n: int, row: int) -> int:
    """The leaving column: the first bound that the row meets."""
    table, best, nearest = game.table, -1, np.inf
    for k in range(game.columns.shape[0]):
        if table[row, k] <= ROUNDING:
            continue
        ratio = max(table[n, k], 0.0) / table[row, k]
        if ratio < nearest or (ratio == nearest and game.columns[k] < game.columns[best]):
            best, nearest = k, ratio
    return best


@inner_loop
def _exchange(table: Matrix, n: int, row: int, column: int) -> None:
    K = table.shape[1] - 1
    pivot = 1.0 / table[row, column]
    for j in range(n + 1):
        if j == row:
            continue
        share = table[j, column] * pivot
        for k in range(K + 1):
            if k != column:
                table[j, k] -= share * table[row, k]
        table[j, column] = share
    for k in range(K + 1):
        table[row, k] *= -pivot
    table[row, column] = pivot


@inner
def best_mixture(payoffs: Matrix, n: int, game: ZeroSum, shares: Vector) -> bool:
    """Fill shares (K,) with the z of the simplex that maximises min_j sum_k payoffs_jk z_k.

    The minimum is over the first n rows. False if the method did not converge; shares are then
    invalid.
    """
    K, ended = game.columns.shape[0], False
    _fill_table(payoffs, n, game)
    for step in range(MOST * (n + K)):
        row = _entering(game, n, step < STEEPEST * (n + K))
        ended = row < 0
        if ended:
            break
        column = _leaving(game, n, row)
        if column < 0:
            break
        _exchange(game.table, n, row, column)
        game.rows[row], game.columns[column] = game.columns[column], game.rows[row]
    fill(shares, 0.0)
    total = 0.0
    for j in range(n):
        if game.rows[j] >= n:
            share = max(-game.table[j, K], 0.0)
            shares[game.rows[j] - n] = share
            total += share
    for k in range(K):
        shares[k] = shares[k] / total if total > 0.0 else 1.0 / K
    return ended


class FrankWolfeStruct(Struct):
    """The target, and the direction in which it moves."""

    plan: PerArm
    towards: PerArm
    weights: PerArm
    near: NearPairs
    game: ZeroSum


@inner
def _is_square(n: int) -> bool:
    root = int(math.sqrt(float(n)))
    return root * root == n or (root + 1) * (root + 1) == n


@inner
def _aim_higher(rule: FrankWolfeStruct) -> None:
    """Set `towards` to the z with the largest min_j <z - plan, slopes_j>."""
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
    """The arm with the largest plan / count; arms without measurements come first."""
    best, largest = 0, -1.0
    for k in range(plan.shape[0]):
        ratio = plan[k] / counts[k] if counts[k] > 0.0 else np.inf
        if ratio > largest and price[k] < np.inf:
            best, largest = k, ratio
    return best


@inner
def _look_around(setting: Setting, rule: FrankWolfeStruct, state: State) -> bool:
    """Find the alternatives that are nearly the closest at the target; whether they can be used.

    They cannot if the arms of the closest pair are level, or if the search certified none.
    """
    exempt_settled(setting, state, state.play)
    set_weights(setting, rule.plan, FLOORED if setting.eps == 0.0 else 0.0, rule.weights)
    aim_at_projection(rule.weights, state.test, state.play)
    found = find_near(setting, state, rule.weights, state.play, rule.near)
    leave_nothing_out(state.play)
    state.rounds += found
    return found and rule.near.costs[rule.near.closest] > 0.0


@kernel
def frank_wolfe_arm(setting: Setting, rule: FrankWolfeStruct, state: State, uniform: float) -> int:
    """The arm to measure next; the target moves evenly to all arms where floor(t / K) is a square.

    It does so too if the closest alternative cannot be used.
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


@register({"fws": FrankWolfe()})
def _compile(rule: FrankWolfe, setup: Setup) -> CompiledSampling:
    K = setup.question.K
    near = new_near_pairs(K, setup.question.m)
    n = near.costs.shape[0]
    game = ZeroSum.zeros({"n": n, "K": K, "n1": n + 1, "K1": K + 1})
    struct = FrankWolfeStruct.zeros({"K": K}, plan=np.full(K, 1.0 / K), near=near, game=game)
    return CompiledSampling(struct, frank_wolfe_arm, estimates=True, plays=True)
