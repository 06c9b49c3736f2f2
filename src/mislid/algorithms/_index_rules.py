"""Index rules: intervals or gaps that choose an arm and, by an index, a stopping test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mislid._jit import Matrix, PerArm, Struct, inner
from mislid.algorithms.registry import Algorithm
from mislid.stopping.published import heuristic, logarithmic
from mislid.stopping.state import Setting, State, take_best

if TYPE_CHECKING:
    from mislid.question import Question


@dataclass(frozen=True)
class IndexRule(Algorithm):
    """Base of rules with an index and a stopping test by it; they measure all arms once first."""

    own_test = True
    every_arm = True


class Index(Struct):
    """Base of the structs of index rules: their widths and stopping tests.

    A rule's own test is by its index from before the last measurement, as in the published runs,
    while the answer is with that measurement.
    """

    log_inverse: float  # ln(1/delta), of their widths
    growth: float  # widths by ln(1/delta) + growth ln(t + 1); 0 as below
    selective: bool  # whether pairs that are settled are not looked at
    index: float  # of the last choice


@inner
def beta_of(rule: Index, state: State) -> float:
    """The threshold in the widths: that of the rule, or of a stricter stopping rule.

    With widths narrower than the stopping rule asks for they would leave arms alone too early, and
    hardly ever stop.
    """
    if rule.growth > 0.0:
        return logarithmic(float(state.samples), rule.log_inverse, rule.growth)
    return max(heuristic(float(state.samples), rule.log_inverse), state.threshold)


@inner
def interval(beta: float, variance: float, count: float, published: bool) -> float:
    """Half the length, sqrt(2 beta sigma^2 / N); infinite before the first measurement.

    LUCB's published intervals were sigma beta^2 / (2 sqrt(N)), several times wider.
    """
    if count == 0.0:
        return np.inf
    if published:
        return beta * beta / 2.0 * math.sqrt(variance / count)
    return math.sqrt(2.0 * beta * variance / count)


@inner
def less_measured(state: State, challenger: int, incumbent: int) -> int:
    """Which of two arms has less weight; of equal ones the incumbent."""
    return challenger if state.weights[challenger] < state.weights[incumbent] else incumbent


@inner
def is_answer(setting: Setting, rule: Index, state: State, scores: PerArm) -> bool:
    """Whether the index settles the question: then `incumbents` have the best of these scores."""
    if not rule.index <= setting.tol:
        return False
    take_best(state, scores)
    return True


def unchosen(setting: Setting) -> dict[str, float]:
    """Initial values of the fields of `Index`."""
    return {"log_inverse": -math.log(setting.delta), "index": math.inf}


def corner_of(setting: Setting, question: Question) -> Matrix:
    """Features of the spanner (d, d) as they were given: the ridge of rivals is in their units."""
    return np.ascontiguousarray(question.model.features[setting.basis])
