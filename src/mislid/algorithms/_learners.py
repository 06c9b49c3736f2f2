"""Learners on the simplex: from the gains of the arms so far to an allocation.

A learner plays omega (K,), is shown gains U (K,) and receives omega'U. `allocate` fills `omega`,
`learn` takes in `gains`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from mislid._jit import Matrix, PerArm, Struct, Vector, inner
from mislid.algorithms._options import number


@dataclass(frozen=True)
class AdaHedge:
    """The paper's learner, which needs no rate (de Rooij et al. 2014).

    Attributes
    ----------
    gap
        The mixability gap that it starts with.
    """

    _permitted: ClassVar = {"gap": number("a number at least 0", lambda gap: 0 <= gap < math.inf)}

    gap: float = 0.0


@dataclass(frozen=True)
class ExponentialWeights:
    """Exponential weights with rate sqrt(8 ln K / t) / range.

    Attributes
    ----------
    range
        Gains are between 0 and this.
    """

    _permitted: ClassVar = {"range": number("a number above 0", lambda range_: range_ > 0)}

    range: float = 1.0


@dataclass(frozen=True)
class FollowTheLeader:
    """All weight on the arm with the largest sum of gains."""


Learner = AdaHedge | ExponentialWeights | FollowTheLeader
ADAHEDGE, EXPONENTIAL_WEIGHTS, FOLLOW_THE_LEADER = range(3)
LEARNERS = {
    AdaHedge: ADAHEDGE,
    ExponentialWeights: EXPONENTIAL_WEIGHTS,
    FollowTheLeader: FOLLOW_THE_LEADER,
}


class Learners(Struct):
    """Memory of n learners of one kind, and the allocation of the one that plays."""

    learner: int
    range: float  # exponential weights: bound on the gains
    omega: PerArm  # the allocation
    gains: PerArm  # of the round
    cumulative: Matrix  # (n, K) sums of gains that each learner has seen
    gaps: Vector  # (n,) their sums of mixability gaps
    taught: Vector  # (n,) how often


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
def _rate(game: Learners, which: int) -> float:
    """How sharply the allocation follows the sums of gains; infinite to follow the leaders.

    AdaHedge (de Rooij et al. 2014) divides ln K by the sum of mixability gaps so far.
    """
    logK = math.log(game.omega.shape[0])
    if game.learner == ADAHEDGE:
        gap = game.gaps[which]
        return logK / gap if gap > 0.0 else math.inf
    if game.learner == EXPONENTIAL_WEIGHTS:
        return math.sqrt(8.0 * logK / (game.taught[which] + 1.0)) / game.range
    return math.inf


@inner
def allocate(game: Learners, which: int) -> None:
    """Fill game.omega (K,) with the allocation of learner `which`."""
    rate = _rate(game, which)
    if math.isinf(rate):
        _leaders(game.cumulative[which], game.omega)
    else:
        _exponential(game.cumulative[which], rate, game.omega)


@inner
def learn(game: Learners, which: int) -> None:
    """Show learner `which`, who played game.omega, the gains of the round."""
    omega, gains = game.omega, game.gains
    if game.learner == ADAHEDGE:
        earned = 0.0
        for k in range(omega.shape[0]):
            earned += omega[k] * gains[k]
        # Non-negative by Jensen's inequality; rounding must not shrink the sum.
        mix = _mix_gain(omega, gains, _rate(game, which))
        game.gaps[which] += max(mix - earned, 0.0)
    game.taught[which] += 1.0
    for k in range(omega.shape[0]):
        game.cumulative[which, k] += gains[k]
