"""LinGapE (Xu et al., 2018) for the m best arms, and LinGIFA (Reda et al., 2021).

Arms are estimated by ridge regression as if means were linear in the features: where they are not,
the answer can be wrong however long they measure. The index of a pair is
    B_ij = mean_i - mean_j + sqrt(2 beta) |x_i - x_j|_{V^-1}.

LinGapE. The rule takes the challenger i and the incumbent j with the largest index, and stops once
this index is at most the tolerance. Otherwise it measures the arm that most shortens x_i - x_j (the
"greedy" selection).

LinGIFA (Reda, Kaufmann and Delahaye-Duriez). Gap indices also choose the answer. The score of arm j
is the m-th largest B_ij over i != j; below zero, it proves that fewer than m arms are better. As
in that paper's table of rules,
- the answer J are the m arms with the smallest scores;
- b is the arm of J with the largest score, c the arm outside J with the largest B_cb;
- it stops (the paper's UGapE rule) once the score of b is at most the tolerance;
- it measures the arm that most shortens x_b - x_c (that paper's greedy selection).
Ties go to the first arm. That paper's code starts without measurements and with another ridge; here
ridge and start are LinGapE's, so that the two differ in their rules only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mislid._jit import Matrix, PerArm, Vector, inner, inner_loop, kernel
from mislid.algorithms.lucb import Index, IndexRule, beta_of, is_answer, unchosen
from mislid.algorithms.registry import CompiledSampling, register
from mislid.geometry.order import mark_top, nth_largest
from mislid.stopping.elimination import is_left
from mislid.stopping.ridge import (
    INVERTED,
    UNCHANGED,
    RidgeSpace,
    most_reducing,
    new_ridge_space,
    squared_distance,
    update_ridge,
)
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, Settled, State, take_best


@dataclass(frozen=True)
class LinGapE(IndexRule):
    """LinGapE for top-m: trusts the linear model, with a ridge of one."""

    can_select = True
    needs_noise = True


@inner
def most_ambiguous(
    setting: Setting, rule: LinGapEStruct, beta: float, settled: Settled, selective: bool
) -> tuple[int, int]:
    """Challenger and incumbent with the largest index, the first of ties; sets the index.

    With `selective`, only open pairs count; no arms if there is none.
    """
    space, challenger, incumbent, rule.index = rule.ridge, -1, -1, -np.inf
    for j in range(space.means.shape[0]):
        if space.flags[j] == 0.0:
            continue
        for i in range(space.means.shape[0]):
            if space.flags[i] > 0.0 or (selective and not is_left(settled, i, j)):
                continue
            square = squared_distance(setting.X, space.images, i, j)
            index = space.means[i] - space.means[j] + math.sqrt(2.0 * beta * square)
            if index > rule.index:
                challenger, incumbent, rule.index = i, j, index
    return challenger, incumbent


class LinGapEStruct(Index):
    """The regression, and the index of the last choice."""

    ridge: RidgeSpace


@kernel
def lingape_arm(setting: Setting, rule: LinGapEStruct, state: State, uniform: float) -> int:
    """The arm to measure next; `index` is for LinGapE's own stopping test.

    O(m (K - m) d).
    """
    space, beta = rule.ridge, beta_of(rule, state)
    update_ridge(setting, state, space)
    mark_top(space.means, setting.m, space.heap, space.flags)
    i, j = most_ambiguous(setting, rule, beta, state.settled, setting.selective)
    if i < 0:  # all pairs are settled
        i, j = most_ambiguous(setting, rule, beta, state.settled, False)
    return most_reducing(setting, space, i, j)


@kernel
def lingape_test(setting: Setting, rule: LinGapEStruct, state: State) -> bool:
    """Whether the index settles the question: then `incumbents` are the best estimates."""
    update_ridge(setting, state, rule.ridge)
    return is_answer(setting, rule, state, rule.ridge.means)


@register({"lingape": LinGapE()})
def _compile_lingape(rule: LinGapE, setup: Setup) -> CompiledSampling:
    setting = setup.setting
    struct = LinGapEStruct.zeros(
        {},
        **unchosen(setting),
        ridge=new_ridge_space(setting, setup.question.model),
    )
    return CompiledSampling(struct, lingape_arm, lingape_test)


@dataclass(frozen=True)
class LinGIFA(IndexRule):
    """LinGIFA (Réda, Kaufmann and Delahaye-Duriez 2021): gap indices of all pairs of arms."""

    can_select = True
    needs_noise = True


class LinGIFAStruct(Index):
    """A regression with the distances of all pairs, which every score needs."""

    ridge: RidgeSpace
    distances: Annotated[Matrix, ("K", "K")]  # |x_i - x_j|^2_{V^-1}
    scores: PerArm  # negated, so that the answer has the largest
    row: PerArm  # indices against one arm


@inner_loop
def shrink_distances(column: Vector, scale: float, distances: Matrix) -> None:
    """Distances after V^-1 -= scale p p', where column_k = x_k'p, in O(K^2)."""
    K = column.shape[0]
    for i in range(K):
        for j in range(K):
            product = column[i] - column[j]
            distances[i, j] = max(distances[i, j] - scale * product * product, 0.0)


@inner
def update_distances(setting: Setting, state: State, space: LinGIFAStruct) -> None:
    """Add new measurements: O(K^2), or O(K^2 d) when the regression is inverted."""
    change = update_ridge(setting, state, space.ridge)
    if change == INVERTED:
        for i in range(setting.X.shape[0]):
            for j in range(i + 1):
                square = squared_distance(setting.X, space.ridge.images, i, j)
                space.distances[i, j] = square
                space.distances[j, i] = square
    elif change != UNCHANGED:
        shrink_distances(space.ridge.column, change, space.distances)


@inner_loop
def fill_row(means: Vector, distances: Matrix, beta: float, j: int, row: Vector) -> None:
    """B_ij of all arms i; minus infinity for i = j."""
    for i in range(row.shape[0]):
        row[i] = means[i] - means[j] + math.sqrt(2.0 * beta * distances[j, i])
    row[j] = -np.inf


@inner
def _fill_open(
    setting: Setting, space: LinGIFAStruct, settled: Settled, beta: float, j: int
) -> None:
    """B_ij of all arms i into `row`; minus infinity for settled pairs of a selective rule."""
    fill_row(space.ridge.means, space.distances, beta, j, space.row)
    if setting.selective:
        for i in range(space.row.shape[0]):
            if not is_left(settled, i, j):
                space.row[i] = -np.inf


@kernel
def score_arms(setting: Setting, state: State, space: LinGIFAStruct, beta: float) -> None:
    """Add new measurements and score every arm."""
    update_distances(setting, state, space)
    for j in range(setting.X.shape[0]):
        _fill_open(setting, space, state.settled, beta, j)
        space.scores[j] = -nth_largest(space.row, setting.m, space.ridge.heap)


@inner
def ambiguous_pair(
    setting: Setting, space: LinGIFAStruct, settled: Settled, beta: float
) -> tuple[int, int]:
    """The arm b of the answer with the largest score, and its challenger c."""
    flags = space.ridge.flags
    b, c = -1, -1
    for k in range(flags.shape[0]):
        if flags[k] > 0.0 and (b < 0 or space.scores[k] < space.scores[b]):
            b = k
    _fill_open(setting, space, settled, beta, b)
    for k in range(flags.shape[0]):
        if flags[k] == 0.0 and (c < 0 or space.row[k] > space.row[c]):
            c = k
    return b, c


@kernel
def lingifa_arm(setting: Setting, rule: LinGIFAStruct, state: State, uniform: float) -> int:
    """The arm to measure next; `index` is for LinGIFA's own stopping test.

    O(K^2 log m) at worst.
    """
    beta, ridge = beta_of(rule, state), rule.ridge
    score_arms(setting, state, rule, beta)
    mark_top(rule.scores, setting.m, ridge.heap, ridge.flags)
    b, c = ambiguous_pair(setting, rule, state.settled, beta)
    rule.index = -rule.scores[b]
    return most_reducing(setting, ridge, b, c)


@kernel
def lingifa_test(setting: Setting, rule: LinGIFAStruct, state: State) -> bool:
    """Whether the index settles the question: then `incumbents` have the best scores."""
    if not rule.index <= setting.tol:
        return False
    score_arms(setting, state, rule, beta_of(rule, state))
    take_best(state, rule.scores)
    return True


@register({"lingifa": LinGIFA()})
def _compile_lingifa(rule: LinGIFA, setup: Setup) -> CompiledSampling:
    setting = setup.setting
    struct = LinGIFAStruct.zeros(
        {"K": setup.question.K},
        **unchosen(setting),
        ridge=new_ridge_space(setting, setup.question.model),
    )
    return CompiledSampling(struct, lingifa_arm, lingifa_test)
