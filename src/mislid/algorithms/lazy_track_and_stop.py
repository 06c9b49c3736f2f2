"""Lazy Track-and-Stop (Jedra and Proutiere, 2020).

The plan is the optimal allocation of the estimates, renewed whenever the samples have doubled. The
counts follow the sum of the plans so far. Arms of the spanner come first while the information in
some direction is below a level that grows with sqrt(t). All computations are in spanner
coordinates, in which the information of one measurement per spanner arm is the identity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._jit import PerArm, Square, Struct, Vector, inner, kernel
from mislid.algorithms.best_response import closest_at_plan, set_slopes
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.linalg import cholesky, gram, is_above
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.order import first_largest
from mislid.geometry.search import forget_means
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping.elimination import exempt_settled
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State, closest, estimate, record

# Steps of Frank-Wolfe for a plan.
STEPS = 1000
# The paper's u: its threshold has a factor 1 + u and a prior of precision u.
SLACK = 0.1


@dataclass(frozen=True)
class LazyTrackAndStop(Algorithm):
    """Lazy Track-and-Stop (Jedra and Proutiere 2020): the optimal allocation of the estimates.

    It is planned again whenever the number of samples has doubled, by 1,000 steps of Frank-Wolfe,
    and the sum of the plans is followed. The threshold of its own test is proved for linear means.
    """

    own_test = True
    can_select = True


class LazyTracking(Struct):
    """The plan, and the sum of plans that is followed."""

    log_inverse: float  # ln(1/delta), of its stopping test
    plan: PerArm
    tracked: PerArm
    weights: PerArm
    slopes: PerArm
    information: Square
    turn: int  # index of the next spanner arm
    due: int  # samples at the next plan; 0 before the first round


@inner
def _unit(setting: Setting) -> float:
    """The least precision of an arm in the spanner."""
    largest = 0.0
    for a in range(setting.basis.shape[0]):
        largest = max(largest, setting.variance[setting.basis[a]])
    return 1.0 / largest


@inner
def _is_explored(setting: Setting, rule: LazyTracking, state: State, level: float) -> bool:
    """Whether the information about every direction is above the level, in spanner coordinates."""
    newton, d = state.test.newton, setting.X.shape[1]
    gram(setting.X, newton.spanner, newton.rest, state.weights, rule.information)
    return is_above(rule.information, d, level * _unit(setting))


@inner
def _next_power(t: int) -> int:
    """The least power of two that is not below t."""
    power = 1
    while power < t:
        power *= 2
    return power


@inner
def _renew_plan(setting: Setting, rule: LazyTracking, state: State) -> None:
    """Continue Frank-Wolfe from the last plan; an alternative at distance 0 has no slope."""
    for step in range(1, STEPS + 1):
        status, cost, _, _ = closest_at_plan(setting, state, rule.plan, rule.weights, True)
        if status == STALLED:
            state.stalls += 1
        if status != SOLVED or not 0.0 < cost < np.inf:
            return
        set_slopes(setting, state.play.below, rule.slopes)
        arm = first_largest(rule.slopes)
        for k in range(rule.plan.shape[0]):
            rule.plan[k] *= step / (step + 1.0)
        rule.plan[arm] += 1.0 / (step + 1.0)
    state.rounds += 1


@inner
def _furthest_behind(tracked: Vector, counts: Vector, price: Vector) -> int:
    """The arm with the largest deficit, of those with a share that can be measured."""
    best = -1
    for k in range(counts.shape[0]):
        behind, can = tracked[k] - counts[k], tracked[k] > 0.0 and price[k] < np.inf
        if can and (best < 0 or behind > tracked[best] - counts[best]):
            best = k
    return max(best, 0)


@kernel
def lazy_arm(setting: Setting, rule: LazyTracking, state: State, uniform: float) -> int:
    """The arm to measure next."""
    t, d = state.samples + 1, setting.X.shape[1]
    if state.judged != state.samples:  # its own test comes later
        estimate(setting, state)
    if rule.due == 0:
        rule.due = _next_power(t)
    if t >= rule.due:
        exempt_settled(setting, state, state.play)
        _renew_plan(setting, rule, state)
        leave_nothing_out(state.play)
        rule.due = _next_power(t + 1)
    for k in range(rule.plan.shape[0]):
        rule.tracked[k] += rule.plan[k]
    if not _is_explored(setting, rule, state, math.sqrt(float(t) / d)):
        arm: int = setting.basis[rule.turn]
        rule.turn = (rule.turn + 1) % d
        return arm
    return _furthest_behind(rule.tracked, state.counts, setting.price)


@inner
def _threshold(setting: Setting, rule: LazyTracking, state: State) -> float:
    """(1 + u) ln(sqrt(det(V / (u c) + I)) / delta), c the unit; infinite unless V >= c I."""
    newton, d, unit = state.test.newton, setting.X.shape[1], _unit(setting)
    if not _is_explored(setting, rule, state, 1.0 - 1e-9):
        return np.inf
    gram(setting.X, newton.spanner, newton.rest, state.weights, rule.information)
    for a in range(d):
        for b in range(a + 1):
            rule.information[a, b] /= SLACK * unit
        rule.information[a, a] += 1.0
    cholesky(rule.information, d)
    root = 0.0  # the factor's pivots are inverted
    for a in range(d):
        root -= math.log(rule.information[a, a])
    return (1.0 + SLACK) * (root + rule.log_inverse)


@kernel
def lazy_test(setting: Setting, rule: LazyTracking, state: State) -> bool:
    """Whether the closest alternative costs more than the rule's own threshold."""
    if not estimate(setting, state):
        return False
    forget_means(state.test)
    status, cost, i, j = closest(setting, state, state.weights, state.test)
    if status != SOLVED:
        state.stalls += status == STALLED
        return False
    record(state, cost, _threshold(setting, rule, state), i, j)
    return state.statistic > state.threshold


@register({"lazy-tas": LazyTrackAndStop()})
def _compile(rule: LazyTrackAndStop, setup: Setup) -> CompiledSampling:
    K, d = setup.setting.X.shape
    struct = LazyTracking.zeros(
        {"K": K, "d": d},
        log_inverse=-math.log(setup.setting.delta),
        plan=np.full(K, 1.0 / K),
    )
    return CompiledSampling(struct, lazy_arm, lazy_test, estimates=True, plays=True)
