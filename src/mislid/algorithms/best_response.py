"""Best response: measure where the alternative closest to the data is told apart best.

The default rule. Of the alternative lambda closest to the estimate mu at the counts N, the arm with
the largest (mu_k - lambda_k)^2 / (2 sigma_k^2 price_k) is measured: the steepest ascent of the cost
that a stopping rule waits for. It is the sampling rule of the published runs' fastest variant
(Reda, Tirinzoni and Degenne 2021, appendix), with forced exploration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._jit import Vector, inner, kernel
from mislid._validation import as_number
from mislid.algorithms._rounds import (
    Round,
    check_round,
    clip_gains,
    keep_recent,
    least_measured,
    leave_out,
    round_fields,
    search_around,
    set_slopes,
)
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.newton import STALLED
from mislid.geometry.problem import NOBODY
from mislid.geometry.search import forget_means
from mislid.geometry.two_arms import is_wide, leave_nothing_out
from mislid.stopping.aims import SHORTLIST, Aims, aimed_arm, find_overdue, lagging_arm
from mislid.stopping.linear_fit import LinearFit
from mislid.stopping.rules import Setup
from mislid.stopping.state import ALL_ARMS, NOTHING, Setting, State


@dataclass(frozen=True)
class BestResponse(Algorithm):
    """Measure where the alternative closest to the data so far is told apart best.

    With the rule `guaranteed`, and where features say nothing, the arm is that which the proof asks
    for; exploration plays no part then, unless the proof aims at all arms.

    Attributes
    ----------
    exploration
        An arm with fewer than `exploration` sqrt(t) measurements goes first.
    pulls, subset, authors
        As for `MisLid`.
    """

    can_select = True
    reads_costs = True

    exploration: float = 0.3
    pulls: int | None = 1
    subset: int | None = 0
    authors: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_round(self)
        as_number(self.exploration, "exploration", low=0.0, high=math.inf)

    @property
    def responds(self) -> bool:  # type: ignore[override]
        """Whether it takes the alternative that a stopping test has found."""
        return self.subset == 0


# Where sampling aims at all arms, two arms have this share of the turns. To the alternatives an arm
# that misleads may seem useless for long; its own pair asks for it, so that none waits for ever.
TURN = 0.125


class BestResponseStruct(Round):
    """The rule's options, and its gains."""

    exploration: float  # arms with fewer than this times sqrt(t) measurements come first
    aims: Aims


@inner
def least_explored(setting: Setting, counts: Vector) -> int:
    """The arm with the fewest measurements of those that have any, of several the first."""
    best = -1
    for k in range(counts.shape[0]):
        can = counts[k] > 0.0 and setting.price[k] < np.inf
        if can and (best < 0 or counts[k] < counts[best]):
            best = k
    return max(best, 0)


@inner
def most_telling_arm(
    setting: Setting, rule: BestResponseStruct, state: State, i: int, j: int, uniform: float
) -> int:
    """The arm with the largest gain / price; among equals, `uniform` decides.

    Where no arm has any, because the arms of the closest pair are level, the less measured of them.
    """
    best, highest, equals = 0, -1.0, 0
    for k in range(rule.gains.shape[0]):
        gain = rule.gains[k] / setting.price[k]
        if gain > highest:
            best, highest, equals = k, gain, 1
        elif gain == highest:
            equals += 1
    if highest <= 0.0:
        if i < 0:
            return least_measured(state.counts)
        return i if state.weights[i] < state.weights[j] else j
    place, k = int(uniform * equals), best
    while place > 0:
        k += 1
        gain = rule.gains[k] / setting.price[k]
        if gain == highest:
            best = k
            place -= 1
    return best


@inner
def _find_alternative(
    setting: Setting, rule: BestResponseStruct, state: State
) -> tuple[int, int, bool]:
    """Find the alternative to answer, in `state.test.below`; its pair, and whether one exists."""
    known = rule.subset == 0 and not rule.selective and state.answered == state.samples
    if known:  # the stopping test has just found it
        state.rounds += 1
        return state.doubt_challenger, state.doubt_incumbent, True
    forget_means(state.test)
    status, _, i, j = search_around(setting, state, state.weights, state.test)
    if status == STALLED:
        state.stalls += 1
        return i, j, False
    state.rounds += 1
    return i, j, True


@inner
def _spared_arm(setting: Setting, rule: BestResponseStruct, state: State, uniform: float) -> int:
    """An arm that needs no search, or NOBODY.

    A later pull of a round; the one that a proof asks for, unless it aims at all arms; or one with
    fewer than `exploration` sqrt(t) measurements: a misleading estimate of an arm that seems
    useless would never be corrected.
    """
    if state.queued > 0:
        state.queued -= 1
        return most_telling_arm(setting, rule, state, int(NOBODY), int(NOBODY), uniform)
    if state.aim == ALL_ARMS:
        if uniform < TURN:
            return lagging_arm(setting, state, uniform / TURN)
    elif state.aim != NOTHING:
        return aimed_arm(setting, rule.aims, state, uniform)
    least = least_explored(setting, state.counts)
    if state.counts[least] < rule.exploration * math.sqrt(float(state.samples)):
        return least
    state.queued = rule.pulls - 1
    return NOBODY


@kernel
def best_response(setting: Setting, rule: BestResponseStruct, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is all the randomness there is."""
    tricks = rule.subset > 0 or rule.selective
    plain = not tricks and not rule.published and state.aim == NOTHING
    if plain and is_wide(setting.eps, state.projected, setting.tol):
        find_overdue(setting, state)
        return lagging_arm(setting, state, uniform)
    arm = _spared_arm(setting, rule, state, uniform)
    if arm >= 0:
        return arm
    leave_out(rule, state, state.test, uniform)
    i, j, found = _find_alternative(setting, rule, state)
    if tricks:
        leave_nothing_out(state.test)
    if not found:
        return least_measured(state.counts)
    keep_recent(rule, i)
    set_slopes(setting, state.test.below, rule.gains)
    if rule.published:
        clip_gains(state, rule.gains)
    return most_telling_arm(setting, rule, state, i, j, uniform)


@register(
    {
        "mislid": BestResponse(),
        "mislid-authors-greedy": BestResponse(
            exploration=0.0, pulls=None, subset=None, authors=True
        ),
    }
)
def _compile(rule: BestResponse, setup: Setup) -> CompiledSampling:
    setting = setup.setting
    K, d = setting.X.shape
    fit, listed = LinearFit.zeros({"K": K, "d": d, "n": 0}), np.zeros(SHORTLIST + 2, np.int64)
    struct = BestResponseStruct.zeros(
        {"K": K},
        exploration=rule.exploration,
        aims=Aims.zeros({"K": K, "d": d}, fit=fit, listed=listed),
        **round_fields(rule, setting),
    )
    return CompiledSampling(struct, best_response, estimates=True)
