"""EB-TCI (Jourdan, Degenne, Baudry, de Heide and Kaufmann, 2022): a leader and its challenger.

The incumbents are the leaders, by the estimate. The pair is the one with the least cost plus
logarithms of its counts, which keep an arm that misleads from waiting for ever; one of its two arms
is measured, each with probability 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mislid._jit import Struct, inner, kernel
from mislid.algorithms._near_pairs import NearPairs, find_near, new_near_pairs
from mislid.algorithms._rounds import least_measured, leave_out_settled
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.search import forget_means
from mislid.geometry.two_arms import leave_nothing_out, list_challengers
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State

# An arm without measurements counts as one with so many.
AT_LEAST = 0.5


@dataclass(frozen=True)
class TopTwo(Algorithm):
    """EB-TCI (Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022).

    Of the pair of an incumbent and a challenger with the least cost plus logarithms of its counts,
    one arm is measured, each with probability 1/2.
    """

    can_select = True
    every_arm = True


class TopTwoStruct(Struct):
    """The pair."""

    selective: bool  # whether pairs that are settled are left out
    near: NearPairs


@inner
def _set_logarithms(setting: Setting, state: State, near: NearPairs) -> None:
    m, counts, challengers = setting.m, state.counts, state.test.challengers
    list_challengers(counts.shape[0], state.incumbents, challengers)
    for p in range(near.extra.shape[0]):
        i, j = challengers[p // m], state.incumbents[p % m]
        near.extra[p] = math.log(max(counts[i], AT_LEAST)) + math.log(max(counts[j], AT_LEAST))


@kernel
def top_two_arm(setting: Setting, rule: TopTwoStruct, state: State, uniform: float) -> int:
    """The arm to measure next: of the pair, the leader with probability 1/2."""
    near = rule.near
    _set_logarithms(setting, state, near)
    forget_means(state.test)
    if rule.selective:
        leave_out_settled(state, state.test)
    found = find_near(setting, state, state.weights, state.test, near)
    leave_nothing_out(state.test)
    if not found:
        return least_measured(state.counts)
    state.rounds += 1
    if uniform < 0.5:
        return near.incumbents[near.closest]
    return near.challengers[near.closest]


@register({"top-two": TopTwo()})
def _compile(rule: TopTwo, setup: Setup) -> CompiledSampling:
    near = new_near_pairs(setup.question.K, setup.question.m, 1)
    struct = TopTwoStruct(selective=False, near=near)
    return CompiledSampling(struct, top_two_arm, estimates=True)
