"""MisLid's game: a learner against the closest alternative (Reda, Tirinzoni and Degenne, 2021).

In every round the learner plays an allocation omega, an arm is drawn from it or tracks it, the
closest alternative lambda at omega is found, and the learner sees gains of the arms at lambda:
Algorithm 1 of the paper. LinGame (Degenne, Menard, Shang and Valko, 2020) has one learner per
answer, for m = 1 and linear means.

The learner is AdaHedge (de Rooij et al. 2014): it plays omega (K,), sees gains U (K,) and receives
omega'U. Its rate is ln K divided by the sum of its mixability gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from mislid._formatting import shown
from mislid._jit import Matrix, PerArm, Struct, Vector, inner, kernel
from mislid._validation import as_number, is_one_of
from mislid.algorithms._draws import drawn
from mislid.algorithms.best_response import (
    Round,
    check_round,
    clip_gains,
    closest_at_plan,
    keep_recent,
    least_measured,
    leave_out,
    round_fields,
)
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.errors import ProblemError
from mislid.geometry.linalg import cholesky_solve, dot
from mislid.geometry.newton import STALLED
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping.published import unstructured
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State

if TYPE_CHECKING:
    from mislid.question import Question

OPTIMISTIC, AGGRESSIVE, EMPIRICAL = range(3)
PAPER, AUTHORS, LINEAR = range(3)
GAINS = ("optimistic", "aggressive", "empirical")
BONUSES = ("paper", "authors", "linear")
SAMPLING = ("direct", "tracking")


@dataclass(frozen=True)
class MisLid(Algorithm):
    """The paper's game between AdaHedge and the closest alternative (Algorithm 1).

    Attributes
    ----------
    gain
        Gain at the closest alternative lambda: "optimistic" `(|mu - lambda| + sqrt(c))^2`;
        "aggressive" (mu - lambda)^2 + c, within a factor 2 of the lower bound; or "empirical"
        (mu - lambda)^2.
    bonus
        Whether c is that of the "paper" or of its "authors'" runs; "linear" for that of LinGame's
        runs, `2 ln(t) |x|^2_{V^-1}` with gains of at most ln(t).
    gap
        The mixability gap that the learner starts with.
    sampling
        "direct" draws arms from the allocation (the paper's choice), "tracking" takes the arm
        furthest behind the sum of the allocations.
    forced
        Whether tracking first takes arms with fewer than sqrt(t) - K/2 measurements.
    pulls
        Measurements a round; None for as many as there are features.
    subset
        Number of random challengers, besides recent ones, in a search; 0 for all, None
        for as many as there are features.
    per_answer
        Whether there is one learner per answer, as LinGame has for m = 1.
    authors
        Whether to follow the details of the published runs.
    every_arm
        Whether all arms are measured once first, or a barycentric spanner.
    """

    can_select = True

    gain: Literal["optimistic", "aggressive", "empirical"] = "optimistic"
    bonus: Literal["paper", "authors", "linear"] = "paper"
    gap: float = 0.0
    sampling: Literal["direct", "tracking"] = "direct"
    forced: bool = False
    pulls: int | None = 1
    subset: int | None = 0
    per_answer: bool = False
    authors: bool = False
    every_arm: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_round(self)
        as_number(self.gap, "gap", low=0.0, high=math.inf)
        for option, allowed in (("gain", GAINS), ("bonus", BONUSES), ("sampling", SAMPLING)):
            if not is_one_of(getattr(self, option), allowed):
                raise ProblemError(
                    f"{option} must be one of {', '.join(map(repr, allowed))}; "
                    f"got {shown(getattr(self, option))}"
                )

    def check(self, question: Question) -> None:  # noqa: D102 - the base class has it
        if self.per_answer and question.m != 1:
            raise ProblemError(
                f"m must be 1 for an algorithm with a learner per answer; got {question.m}"
            )


class Learners(Struct):
    """Memory of n learners, and the allocation of the one that plays."""

    omega: PerArm  # the allocation
    gains: PerArm  # of the round
    cumulative: Matrix  # (n, K) sums of gains that each learner has seen
    gaps: Vector  # (n,) their sums of mixability gaps


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
    """The learning rate of AdaHedge; if it is infinite, the leaders share the allocation."""
    gap = game.gaps[which]
    return math.log(game.omega.shape[0]) / gap if gap > 0.0 else math.inf


@inner
def allocate(game: Learners, which: int) -> None:
    """Fill game.omega (K,) with the allocation of learner `which`.

    omega_k is proportional to exp(rate * cumulative_k); for an infinite rate, the arms with the
    largest sum of gains share it evenly.
    """
    rate, sums, omega = _rate(game, which), game.cumulative[which], game.omega
    best, total = sums[0], 0.0
    for k in range(omega.shape[0]):
        best = max(best, sums[k])
    for k in range(omega.shape[0]):
        leads = 1.0 if sums[k] == best else 0.0
        omega[k] = leads if math.isinf(rate) else math.exp(rate * (sums[k] - best))
        total += omega[k]
    for k in range(omega.shape[0]):
        omega[k] /= total


@inner
def learn(game: Learners, which: int) -> None:
    """Update learner `which`, which played game.omega, by the gains of the round."""
    omega, gains, earned = game.omega, game.gains, 0.0
    for k in range(omega.shape[0]):
        earned += omega[k] * gains[k]
    # Non-negative by Jensen's inequality; rounding must not shrink the sum.
    mix = _mix_gain(omega, gains, _rate(game, which))
    game.gaps[which] += max(mix - earned, 0.0)
    for k in range(omega.shape[0]):
        game.cumulative[which, k] += gains[k]


class Game(Round, Learners):
    """The rule's options and its learners."""

    gain: int  # OPTIMISTIC, AGGRESSIVE or EMPIRICAL
    bonus: int  # PAPER, AUTHORS or LINEAR
    per_answer: bool  # one learner per answer (m = 1) instead of one in all
    tracking: bool
    forced: bool  # forced exploration with tracking
    weights: PerArm  # omega / variance
    tracked: PerArm  # sums of allocations


@inner
def _leverage(setting: Setting, state: State, k: int) -> float:
    """|x_k|^2 in the inverse of X' diag(weights) X, whose factor the projection computed."""
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
    """8 eps^2 + 2 ln(t) |phi_k|^2."""
    spread = 2.0 * math.log(float(state.samples)) * _leverage(setting, state, k)
    return 8.0 * setting.eps * setting.eps + spread


@inner
def _authors_bonus(setting: Setting, state: State, k: int) -> float:
    """min{2 U / N_k, 4 M^2, 8 eps^2 + 2 ln(t) |phi_k|^2}, as in the published runs."""
    t, bonus = float(state.samples), _linear_bonus(setting, state, k)
    if state.weights[k] > 0.0:
        confidence = unstructured(t, setting.X.shape[0], math.log(2.5 * t**3))
        bonus = min(bonus, 2.0 * confidence / state.weights[k])
    return min(bonus, 4.0 * setting.mean_bound * setting.mean_bound)


@inner
def _gain(setting: Setting, game: Game, state: State, k: int, below: float) -> float:
    """Half of (|mu - lambda| + sqrt(c))^2, (mu - lambda)^2 + c or (mu - lambda)^2 for one arm."""
    if game.gain == EMPIRICAL:
        return 0.5 * below * below
    if game.bonus == AUTHORS:
        bonus = _authors_bonus(setting, state, k)
    elif game.bonus == LINEAR:
        bonus = _linear_bonus(setting, state, k)
    else:
        bonus = _paper_bonus(setting, state, k)
    if game.gain == AGGRESSIVE:
        # The published runs do not halve these, which matters if gains are clipped.
        return (1.0 if game.published else 0.5) * (below * below + bonus)
    return 0.5 * (abs(below) + math.sqrt(bonus)) ** 2


@inner
def set_gains(setting: Setting, game: Game, state: State) -> None:
    """Fill the gains (K,) from the alternative that has just been found."""
    for k in range(game.gains.shape[0]):
        gain = _gain(setting, game, state, k, state.play.below[k])
        game.gains[k] = gain / setting.variance[k]
    if game.published or game.bonus == LINEAR:
        clip_gains(state, game.gains)


@inner
def tracked_arm(game: Game, counts: Vector, samples: float) -> int:
    """The arm furthest behind the sums of allocations (C-tracking).

    `forced` first serves an arm with fewer than sqrt(samples) - K / 2 measurements.
    """
    K = counts.shape[0]
    if game.forced:
        least = least_measured(counts)
        if counts[least] < math.sqrt(samples) - 0.5 * K:
            return least
    best, behind = 0, -math.inf
    for k in range(K):
        if game.tracked[k] - counts[k] > behind:
            best, behind = k, game.tracked[k] - counts[k]
    return best


@inner
def allocated_arm(game: Game, state: State, uniform: float) -> int:
    """The arm of the learner's allocation: drawn from it, or the tracked one."""
    for k in range(game.omega.shape[0]):
        game.tracked[k] += game.omega[k]
    if game.tracking:
        return tracked_arm(game, state.counts, float(state.samples))
    return drawn(game.omega, uniform)


@kernel
def play(setting: Setting, game: Game, state: State, uniform: float) -> int:
    """The arm to measure next (Algorithm 1 of the paper); `uniform` is in [0, 1).

    The arm is taken from the learner's allocation. Then the learner is updated by its gains at the
    closest alternative; with several learners, that of the present answer. With several pulls a
    round, the later ones use the same allocation. A round whose alternative could not be certified
    changes no learner and is counted.
    """
    if state.queued > 0:
        state.queued -= 1
        return allocated_arm(game, state, uniform)
    state.queued = game.pulls - 1
    which = state.incumbents[0] if game.per_answer else 0
    allocate(game, which)
    arm = allocated_arm(game, state, uniform)
    leave_out(setting, game, state, state.play, uniform)
    status, _, i, _ = closest_at_plan(setting, state, game.omega, game.weights, game.published)
    leave_nothing_out(state.play)
    if status == STALLED:
        state.stalls += 1
        return arm
    keep_recent(game, i)
    set_gains(setting, game, state)
    state.rounds += 1
    learn(game, which)
    return arm


@register(
    {
        "mislid-paper": MisLid(),
        "mislid-authors": MisLid(bonus="authors", gap=0.01, authors=True),
        "mislid-authors-tricks": MisLid(
            gain="empirical", gap=0.01, pulls=None, subset=None, authors=True
        ),
        "lingame": MisLid(
            bonus="linear", gap=0.01, sampling="tracking", per_answer=True, every_arm=True
        ),
    }
)
def _compile(rule: MisLid, setup: Setup) -> CompiledSampling:
    K = setup.question.K
    count = K if rule.per_answer else 1
    struct = Game.zeros(
        {"K": K},
        gain=GAINS.index(rule.gain),
        bonus=BONUSES.index(rule.bonus),
        per_answer=rule.per_answer,
        tracking=rule.sampling == "tracking",
        forced=rule.forced,
        omega=np.full(K, 1.0 / K),
        cumulative=np.zeros((count, K)),
        gaps=np.full(count, float(rule.gap)),
        **round_fields(rule, setup.setting),
    )
    return CompiledSampling(struct, play, estimates=True, plays=True)
