"""Learners on the simplex: from the gains of the arms so far to an allocation.

A learner plays omega (K,), is shown gains U (K,) and receives omega'U. `allocate` fills
`memory.omega`, `learn` takes in `memory.gains`.
"""

from __future__ import annotations

import math

from mislid._validation import Vector
from mislid.geometry._compile import inner
from mislid.rules._plan import (
    ADAHEDGE,
    EXPONENTIAL_WEIGHTS,
    Memory,
    Plan,
)


@inner
def _highest(values: Vector) -> float:
    best = values[0]
    for k in range(values.shape[0]):
        best = max(best, values[k])
    return best


@inner
def _leaders(cumulative: Vector, omega: Vector) -> None:
    """An even allocation over the arms with the largest sum of gains."""
    best, shared = _highest(cumulative), 0
    for k in range(omega.shape[0]):
        omega[k] = 1.0 if cumulative[k] == best else 0.0
        shared += cumulative[k] == best
    for k in range(omega.shape[0]):
        omega[k] /= shared


@inner
def _exponential(cumulative: Vector, rate: float, omega: Vector) -> None:
    """omega_k proportional to exp(rate * cumulative_k)."""
    best, total = _highest(cumulative), 0.0
    for k in range(omega.shape[0]):
        omega[k] = math.exp(rate * (cumulative[k] - best))
        total += omega[k]
    for k in range(omega.shape[0]):
        omega[k] /= total


@inner
def _mix_gain(omega: Vector, gains: Vector, rate: float) -> float:
    """ln(sum_k omega_k exp(rate gains_k)) / rate; for an infinite rate, the best gain played."""
    best = -math.inf
    for k in range(omega.shape[0]):
        if omega[k] > 0.0:
            best = max(best, gains[k])
    if math.isinf(rate):
        return best
    total = 0.0
    for k in range(omega.shape[0]):
        if omega[k] > 0.0:
            total += omega[k] * math.exp(rate * (gains[k] - best))
    return best + math.log(total) / rate


@inner
def _rate(plan: Plan, memory: Memory, which: int) -> float:
    """How sharply the allocation follows the sums of gains; infinite to follow the leaders.

    AdaHedge (de Rooij et al. 2014) divides ln K by the sum of mixability gaps so far.
    """
    logK = math.log(memory.omega.shape[0])
    if plan.learner == ADAHEDGE:
        gap = memory.gaps[which]
        return logK / gap if gap > 0.0 else math.inf
    if plan.learner == EXPONENTIAL_WEIGHTS:
        return math.sqrt(8.0 * logK / (memory.rounds[which] + 1.0)) / plan.range
    return math.inf


@inner
def allocate(plan: Plan, memory: Memory, which: int) -> None:
    """Fill memory.omega (K,) with the allocation of learner `which`."""
    rate = _rate(plan, memory, which)
    if math.isinf(rate):
        _leaders(memory.cumulative[which], memory.omega)
    else:
        _exponential(memory.cumulative[which], rate, memory.omega)


@inner
def learn(plan: Plan, memory: Memory, which: int) -> None:
    """Show learner `which`, who played memory.omega, the gains of the round."""
    omega, gains = memory.omega, memory.gains
    if plan.learner == ADAHEDGE:
        earned = 0.0
        for k in range(omega.shape[0]):
            earned += omega[k] * gains[k]
        # Non-negative by Jensen's inequality; rounding must not shrink the sum.
        mix = _mix_gain(omega, gains, _rate(plan, memory, which))
        memory.gaps[which] += max(mix - earned, 0.0)
    memory.rounds[which] += 1.0
    for k in range(omega.shape[0]):
        memory.cumulative[which, k] += gains[k]
