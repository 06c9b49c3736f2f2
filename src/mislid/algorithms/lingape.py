"""LinGapE (Xu et al., 2018) for the m best arms (Reda et al., 2021): the published baseline.

Arms are estimated by ridge regression as if means were linear in the features: where they are not,
the answer can be wrong however long it measures. The index of a pair is
    mean_i - mean_j + sqrt(2 beta) |x_i - x_j|_{V^-1},   i a challenger, j an incumbent,
and its largest value says how far the m best are from being settled: the rule stops by it, once it
is at most the tolerance. The arm that most shortens x_i - x_j of that pair is measured (the
"greedy" selection).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mislid._jit import inner, kernel
from mislid._validation import as_number
from mislid.algorithms._index_rules import Index, IndexRule, beta_of, corner_of, unchosen
from mislid.algorithms.registry import CompiledSampling, register
from mislid.geometry.order import mark_top
from mislid.stopping.pairs_left import is_left
from mislid.stopping.ridge import (
    RidgeSpace,
    most_reducing,
    new_ridge_space,
    squared_distance,
    update_ridge,
)
from mislid.stopping.rules import Setup
from mislid.stopping.state import PairsLeft, Setting, State, take_best

# Bounds on a pair's distance are lifted by this share, lest rounding hide the largest index.
SAFETY = 1e-6


@dataclass(frozen=True)
class LinGapE(IndexRule):
    """LinGapE for top-m: trusts the linear model, with a ridge of one.

    Attributes
    ----------
    growth
        Pairs are chosen by widths sqrt(2 (ln(1/delta) + growth ln(t + 1))); None for those that the
        stopping rule asks for.
    """

    can_select = True
    needs_noise = True

    growth: float | None = None

    def __post_init__(self) -> None:
        if self.growth is not None:
            as_number(self.growth, "growth", low=0.0, high=math.inf, low_open=True)


@inner
def separate_extremes(beta: float, space: RidgeSpace) -> tuple[int, int]:
    """The challenger with the largest upper and the incumbent with the smallest lower bound.

    Bounds of arms by themselves: an index is at most the first less the second, because
    |x_i - x_j| <= |x_i| + |x_j|. They go to `column` (K,).
    """
    challenger, incumbent = -1, -1
    for k in range(space.means.shape[0]):
        radius = (1.0 + SAFETY) * math.sqrt(2.0 * beta * max(space.squares[k], 0.0))
        if space.flags[k] > 0.0:
            space.column[k] = space.means[k] - radius
            if incumbent < 0 or space.column[k] < space.column[incumbent]:
                incumbent = k
        else:
            space.column[k] = space.means[k] + radius
            if challenger < 0 or space.column[k] > space.column[challenger]:
                challenger = k
    return challenger, incumbent


@inner
def pair_index(setting: Setting, space: RidgeSpace, beta: float, i: int, j: int) -> float:
    """mean_i - mean_j + sqrt(2 beta) |x_i - x_j|_{V^-1}."""
    square = squared_distance(setting.X, space.images, i, j)
    return space.means[i] - space.means[j] + math.sqrt(2.0 * beta * square)


@inner
def most_ambiguous(
    setting: Setting, space: RidgeSpace, beta: float, left: PairsLeft, selective: bool
) -> tuple[int, int, float]:
    """Challenger, incumbent and index of the pair with the largest, of equal ones the first.

    Pairs that their arms' own bounds rule out are not evaluated. With `selective`, of the pairs
    that are left; no arms where none is.
    """
    K, challenger, incumbent, largest = setting.X.shape[0], -1, -1, -math.inf
    top, low = separate_extremes(beta, space)
    if not selective or is_left(left, top, low):
        challenger, incumbent = top, low
        largest = pair_index(setting, space, beta, top, low)
    for j in range(K):
        if space.flags[j] == 0.0 or space.column[top] - space.column[j] < largest:
            continue
        for i in range(K):
            if space.flags[i] > 0.0 or space.column[i] - space.column[j] < largest:
                continue
            if selective and not is_left(left, i, j):
                continue
            index = pair_index(setting, space, beta, i, j)
            earlier = j < incumbent or (j == incumbent and i < challenger)
            if index > largest or (index == largest and earlier):
                challenger, incumbent, largest = i, j, index
    return challenger, incumbent, largest


class LinGapEStruct(Index):
    """The regression, and the index of the last choice."""

    ridge: RidgeSpace


@kernel
def lingape_arm(setting: Setting, rule: LinGapEStruct, state: State, uniform: float) -> int:
    """The arm to measure next; `index` is for LinGapE's own stopping test.

    O(K d) and O(d) for every pair that has to be evaluated, m (K - m) at worst.
    """
    space, beta = rule.ridge, beta_of(rule, state)
    update_ridge(setting, state, space)
    mark_top(space.means, setting.m, space.heap, space.flags)
    i, j, rule.index = most_ambiguous(setting, space, beta, state.left, rule.selective)
    if i < 0:  # all pairs are settled
        i, j, rule.index = most_ambiguous(setting, space, beta, state.left, False)
    return most_reducing(setting, space, i, j)


@kernel
def lingape_test(setting: Setting, rule: LinGapEStruct, state: State) -> bool:
    """Whether the index settles the question: then `incumbents` are the best estimates."""
    if not rule.index <= setting.tol:
        return False
    update_ridge(setting, state, rule.ridge)
    take_best(state, rule.ridge.means)
    return True


@register({"lingape": LinGapE()})
def _compile(rule: LinGapE, setup: Setup) -> CompiledSampling:
    setting = setup.setting
    struct = LinGapEStruct.zeros(
        {},
        **unchosen(setting),
        growth=0.0 if rule.growth is None else float(rule.growth),
        ridge=new_ridge_space(setting, corner_of(setting, setup.question)),
    )
    return CompiledSampling(struct, lingape_arm, lingape_test)
