"""MisLid's game: a learner against the closest alternative (Reda, Tirinzoni and Degenne, 2021).

In every round the learner plays an allocation omega, an arm is drawn from it or tracks it, the
closest alternative lambda at omega answers, and the learner is shown gains of the arms at lambda:
Algorithm 1 of the paper. LinGame (Degenne, Menard, Shang and Valko, 2020) has one learner per
answer, for m = 1 and linear means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mislid._jit import PerArm, Vector, inner, kernel
from mislid.algorithms._gains import Empirical, Gain, Gains, Optimistic, set_gains
from mislid.algorithms._learners import LEARNERS, AdaHedge, Learner, Learners, allocate, learn
from mislid.algorithms._options import Allowed, or_none, part, whole
from mislid.algorithms._random import drawn
from mislid.algorithms._rounds import (
    Round,
    closest_at_plan,
    keep_recent,
    least_measured,
    leave_out,
    round_fields,
)
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.errors import ProblemError
from mislid.geometry.newton import STALLED
from mislid.geometry.two_arms import leave_nothing_out
from mislid.stopping.registry import Setup
from mislid.stopping.state import Setting, State

if TYPE_CHECKING:
    from mislid.question import Question

# From an allocation to an arm.
DIRECT, C_TRACKING, D_TRACKING = range(3)


@dataclass(frozen=True)
class Direct:
    """Arms drawn from the allocation (the paper's choice)."""


@dataclass(frozen=True)
class CTracking:
    """The arm furthest behind the sum of the allocations.

    Attributes
    ----------
    forced
        Whether arms with fewer than sqrt(t) - K/2 measurements go first.
    """

    forced: bool = False


@dataclass(frozen=True)
class DTracking:
    """The arm furthest behind t times the present allocation.

    Attributes
    ----------
    forced
        As for `CTracking`; here by default.
    """

    forced: bool = True


Sampling = Direct | CTracking | DTracking
SAMPLINGS = {Direct: DIRECT, CTracking: C_TRACKING, DTracking: D_TRACKING}


@dataclass(frozen=True)
class MisLid(Algorithm):
    """The paper's game between a learner and the closest alternative (Algorithm 1).

    Attributes
    ----------
    learner, gain, sampling
        Its parts, from `mislid.algorithms`.
    steps, pulls
        Updates of the learner and measurements a round; with pulls=None as many as there are
        features.
    subset
        The alternative uses only so many random challengers besides recent ones; 0 for all, None
        for as many as there are features.
    per_answer
        Whether there is one learner per answer, as LinGame has for m = 1.
    authors
        Whether to follow the details of the published runs.
    every_arm
        Whether all arms are measured once first, or a barycentric spanner.
    """

    can_select = True
    _permitted: ClassVar[dict[str, Allowed]] = {
        "learner": part(Learner),
        "gain": part(Gain),
        "sampling": part(Sampling),
        "steps": whole(0),
        "pulls": or_none(whole(1)),
        "subset": or_none(whole(0)),
    }

    learner: Learner = field(default_factory=AdaHedge)
    gain: Gain = field(default_factory=Optimistic)
    sampling: Sampling = field(default_factory=Direct)
    steps: int = 1
    pulls: int | None = 1
    subset: int | None = 0
    per_answer: bool = False
    authors: bool = False
    every_arm: bool = False

    def _check_question(self, question: Question) -> None:
        if self.per_answer and question.m != 1:
            raise ProblemError(
                f"m must be 1 for an algorithm with a learner per answer; got {question.m}"
            )


class Game(Gains, Round, Learners):
    """The rule's options and its learners."""

    steps: int  # learner updates a measurement
    per_answer: bool  # one learner per answer (m = 1) instead of one in all
    tracking: int
    forced: bool  # forced exploration with tracking
    weights: PerArm  # omega / variance
    tracked: PerArm  # sums of allocations


@inner
def tracked_arm(game: Game, counts: Vector, samples: float) -> int:
    """The arm furthest behind the sums of allocations (C-tracking) or samples * omega (D-tracking).

    `forced` first serves an arm with fewer than sqrt(samples) - K / 2 measurements.
    """
    K = counts.shape[0]
    if game.forced:
        least = least_measured(counts)
        if counts[least] < math.sqrt(samples) - 0.5 * K:
            return least
    best, behind = 0, -math.inf
    for k in range(K):
        goal = game.tracked[k] if game.tracking == C_TRACKING else samples * game.omega[k]
        if goal - counts[k] > behind:
            best, behind = k, goal - counts[k]
    return best


@inner
def allocated_arm(game: Game, state: State, uniform: float) -> int:
    """From the learner's allocation to an arm: drawn from it, or tracking it."""
    for k in range(game.omega.shape[0]):
        game.tracked[k] += game.omega[k]
    if game.tracking == DIRECT:
        return drawn(game.omega, uniform)
    return tracked_arm(game, state.counts, float(state.samples))


@inner
def _answer(setting: Setting, game: Game, state: State) -> bool:
    """Let the closest alternative answer the allocation; whether it could be certified."""
    status, _, i, _ = closest_at_plan(setting, state, game.omega, game.weights, game.published)
    if status != STALLED:
        keep_recent(game, i)
    return status != STALLED


@kernel
def play(setting: Setting, game: Game, state: State, uniform: float) -> int:
    """The arm to measure next (Algorithm 1 of the paper); `uniform` is in [0, 1).

    First an arm from the learner's allocation, then the closest alternative answers and the learner
    learns; with several learners, that of the present answer. With several pulls a round, the later
    ones come from the same allocation. A round whose alternative could not be certified
    teaches nothing; it is counted.
    """
    if state.queued > 0:
        state.queued -= 1
        return allocated_arm(game, state, uniform)
    state.queued = game.pulls - 1
    which = state.incumbents[0] if game.per_answer else 0
    allocate(game, which)
    arm = allocated_arm(game, state, uniform)
    leave_out(game, state, state.play, uniform)
    for step in range(game.steps):
        if step > 0:
            allocate(game, which)
        if not _answer(setting, game, state):
            state.stalls += 1
            break
        set_gains(setting, game, state, state.play.below)
        state.rounds += 1
        learn(game, which)
    leave_nothing_out(state.play)
    return arm


@register(
    {
        "mislid-paper": MisLid(),
        "mislid-authors": MisLid(
            learner=AdaHedge(gap=0.01), gain=Optimistic(bonus="authors"), authors=True
        ),
        "mislid-authors-tricks": MisLid(
            learner=AdaHedge(gap=0.01), gain=Empirical(), pulls=None, subset=None, authors=True
        ),
        "lingame": MisLid(
            learner=AdaHedge(gap=0.01),
            gain=Optimistic(bonus="linear"),
            sampling=CTracking(),
            per_answer=True,
            every_arm=True,
        ),
    }
)
def _compile(rule: MisLid, setup: Setup) -> CompiledSampling:
    K = setup.question.K
    count = K if rule.per_answer else 1
    struct = Game.zeros(
        {"K": K},
        learner=LEARNERS[type(rule.learner)],
        range=getattr(rule.learner, "range", 1.0),
        steps=rule.steps,
        per_answer=rule.per_answer,
        tracking=SAMPLINGS[type(rule.sampling)],
        forced=getattr(rule.sampling, "forced", False),
        omega=np.full(K, 1.0 / K),
        cumulative=np.zeros((count, K)),
        gaps=np.full(count, getattr(rule.learner, "gap", 0.0), dtype=np.float64),
        taught=np.zeros(count),
        **round_fields(rule, setup.setting),
    )
    return CompiledSampling(struct, play, estimates=True, plays=True)
