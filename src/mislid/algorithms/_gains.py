"""Gains: how well a measurement of an arm tells the estimate from the closest alternative.

Gains are divided by the arm's variance: information per measurement, free of units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from mislid._jit import PerArm, Struct, Vector, inner
from mislid.algorithms import _published as published
from mislid.algorithms._options import Allowed
from mislid.geometry.linalg import cholesky_solve, dot
from mislid.stopping.state import Setting, State
from mislid.stopping.thresholds import unstructured

OPTIMISTIC, AGGRESSIVE, EMPIRICAL = range(3)
# Bonuses of optimistic gains: of the text, of its runs, and of LinGame.
PAPER, AUTHORS, LINEAR = range(3)
BONUSES = {"paper": PAPER, "authors": AUTHORS, "linear": LINEAR}
_BONUS = Allowed(
    "'paper', 'authors' or 'linear'", lambda value: isinstance(value, str) and value in BONUSES
)


@dataclass(frozen=True)
class Optimistic:
    """Gains `(|mu - lambda| + sqrt(c))^2`.

    Attributes
    ----------
    bonus
        Whether c is that of the paper's text or of its runs; "linear" for that of LinGame's runs,
        `2 ln(t) |x|^2_{V^-1}` with gains of at most ln(t).
    """

    _permitted: ClassVar = {"bonus": _BONUS}

    bonus: Literal["paper", "authors", "linear"] = "paper"


@dataclass(frozen=True)
class Aggressive:
    """Gains (mu - lambda)^2 + c: optimism of lower order, within a factor 2 of the lower bound.

    Attributes
    ----------
    bonus
        As for `Optimistic`.
    """

    _permitted: ClassVar = {"bonus": _BONUS}

    bonus: Literal["paper", "authors", "linear"] = "paper"


@dataclass(frozen=True)
class Empirical:
    """Gains (mu - lambda)^2: what the estimate says."""


Gain = Optimistic | Aggressive | Empirical
GAINS = {Optimistic: OPTIMISTIC, Aggressive: AGGRESSIVE, Empirical: EMPIRICAL}


class Gains(Struct):
    """Which gains, and those of the last round."""

    gain: int  # OPTIMISTIC, AGGRESSIVE or EMPIRICAL
    bonus: int  # PAPER, AUTHORS or LINEAR
    published: bool  # other details of those runs
    gains: PerArm


@inner
def _leverage(setting: Setting, state: State, k: int) -> float:
    """|x_k|^2 in the inverse of X' diag(weights) X, whose factor the projection has left behind."""
    newton = state.test.newton
    cholesky_solve(newton.factor, newton.work.shape[0], setting.X[k], newton.work)
    return dot(setting.X[k], newton.work)


@inner
def _paper_bonus(setting: Setting, state: State, k: int) -> float:
    """c_t^k = min{8 (LK + 1)^2 eps^2 + 4 alpha_lin(t^2) |phi_k|^2, 2 alpha_uns(t^2) / N_k, 4 M^2}.

    As printed; the factor LK + 1 rests on a lemma that is false (docs/geometry.md).
    """
    K, d = setting.X.shape
    t = float(state.samples) ** 2
    linear = math.log(5.0 * t * t) + d * math.log(1.0 + t / (2.0 * d))
    deviation = (setting.largest_norm * K + 1.0) * setting.eps
    bonus = 8.0 * deviation * deviation + 4.0 * linear * _leverage(setting, state, k)
    if state.weights[k] > 0.0:
        bonus = min(bonus, 2.0 * unstructured(t, K, math.log(5.0 * t**3)) / state.weights[k])
    return min(bonus, 4.0 * setting.mean_bound * setting.mean_bound)


@inner
def _linear_bonus(setting: Setting, state: State, k: int) -> float:
    """2 ln(t) |phi_k|^2, and what deviations add."""
    spread = 2.0 * math.log(float(state.samples)) * _leverage(setting, state, k)
    return 8.0 * setting.eps * setting.eps + spread


@inner
def _gain(setting: Setting, rule: Gains, state: State, k: int, below: float) -> float:
    """Half of (|mu - lambda| + sqrt(c))^2, (mu - lambda)^2 + c or (mu - lambda)^2 for one arm."""
    if rule.gain == EMPIRICAL:
        return 0.5 * below * below
    if rule.bonus == AUTHORS:
        bonus = published.bonus(setting, state, k, _leverage(setting, state, k))
    elif rule.bonus == LINEAR:
        bonus = _linear_bonus(setting, state, k)
    else:
        bonus = _paper_bonus(setting, state, k)
    if rule.gain == AGGRESSIVE:
        return published.aggressive_factor(rule.published) * (below * below + bonus)
    return 0.5 * (abs(below) + math.sqrt(bonus)) ** 2


@inner
def set_slopes(setting: Setting, below: Vector, slopes: Vector) -> None:
    """Fill slopes (K,) with (mu - lambda)^2 / 2 for `below` (K,), the estimate minus lambda."""
    for k in range(below.shape[0]):
        slopes[k] = 0.5 * below[k] * below[k] / setting.variance[k]


@inner
def set_gains(setting: Setting, rule: Gains, state: State, below: Vector) -> None:
    """Fill the gains (K,) from `below` (K,), the estimate minus its closest alternative."""
    most = published.largest_gain(rule.published or rule.bonus == LINEAR, state)
    for k in range(below.shape[0]):
        gain = _gain(setting, rule, state, k, below[k]) / setting.variance[k]
        rule.gains[k] = min(gain, most)
