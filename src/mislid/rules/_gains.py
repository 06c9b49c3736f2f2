"""What the learner is paid for an arm: how well it tells the estimate from the closest alternative.

Gains are divided by the arm's variance: information per measurement, free of units.
"""

from __future__ import annotations

import math

from mislid._validation import Vector
from mislid.geometry._compile import inner
from mislid.geometry._linalg import cholesky_solve, dot
from mislid.geometry._problem import FACTOR, WORK
from mislid.rules._plan import AGGRESSIVE, AUTHORS_BONUS, EMPIRICAL, Memory, Plan
from mislid.rules._state import SAMPLES, Setting, State
from mislid.rules._thresholds import unstructured


@inner
def _leverage(setting: Setting, state: State, k: int) -> float:
    """|x_k|^2 in the inverse of X' diag(weights) X, whose factor the projection has left behind."""
    newton = state.test.newton
    work = newton.features[WORK]
    cholesky_solve(newton.matrices[FACTOR], work.shape[0], setting.X[k], work)
    return dot(setting.X[k], work)


@inner
def _paper_bonus(setting: Setting, state: State, k: int) -> float:
    """c_t^k = min{8 (LK + 1)^2 eps^2 + 4 alpha_lin(t^2) |phi_k|^2, 2 alpha_uns(t^2) / N_k, 4 M^2}.

    As printed; the factor LK + 1 rests on a lemma that is false (docs/paper.md).
    """
    K, d = setting.X.shape
    t = float(state.clock[SAMPLES]) ** 2
    linear = math.log(5.0 * t * t) + d * math.log(1.0 + t / (2.0 * d))
    deviation = (setting.largest_norm * K + 1.0) * setting.eps
    bonus = 8.0 * deviation * deviation + 4.0 * linear * _leverage(setting, state, k)
    if state.weights[k] > 0.0:
        bonus = min(bonus, 2.0 * unstructured(t, K, math.log(5.0 * t**3)) / state.weights[k])
    return min(bonus, 4.0 * setting.mean_bound * setting.mean_bound)


@inner
def _authors_bonus(setting: Setting, state: State, k: int) -> float:
    """The bonus of the published runs: min{2 U / N_k, 4 M^2, 8 eps^2 + 2 ln(t) |phi_k|^2}."""
    K = setting.X.shape[0]
    t = float(state.clock[SAMPLES])
    bonus = 8.0 * setting.eps * setting.eps + 2.0 * math.log(t) * _leverage(setting, state, k)
    if state.weights[k] > 0.0:
        bonus = min(bonus, 2.0 * unstructured(t, K, math.log(2.5 * t**3)) / state.weights[k])
    return min(bonus, 4.0 * setting.mean_bound * setting.mean_bound)


@inner
def _gain(setting: Setting, plan: Plan, state: State, k: int, below: float) -> float:
    """Half of (|mu - lambda| + sqrt(c))^2, (mu - lambda)^2 + c or (mu - lambda)^2 for one arm."""
    if plan.gain == EMPIRICAL:
        return 0.5 * below * below
    if plan.bonus == AUTHORS_BONUS:
        bonus = _authors_bonus(setting, state, k)
    else:
        bonus = _paper_bonus(setting, state, k)
    if plan.gain == AGGRESSIVE:
        # The published runs forget to halve this one, which matters where gains are clipped.
        return (1.0 if plan.authors else 0.5) * (below * below + bonus)
    return 0.5 * (abs(below) + math.sqrt(bonus)) ** 2


@inner
def set_gains(setting: Setting, plan: Plan, state: State, below: Vector, memory: Memory) -> None:
    """Fill memory.gains (K,) from `below` (K,), the estimate minus its closest alternative.

    The published runs clip gains at ln t.
    """
    clip = math.log(float(state.clock[SAMPLES])) if plan.authors else math.inf
    for k in range(below.shape[0]):
        gain = _gain(setting, plan, state, k, below[k]) / setting.variance[k]
        memory.gains[k] = min(gain, clip)
