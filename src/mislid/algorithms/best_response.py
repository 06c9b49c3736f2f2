"""Best response: measure the arm that best distinguishes the data from the closest alternative.

The default rule. Of the alternative lambda closest to the estimate mu at the counts N, the arm with
the largest (mu_k - lambda_k)^2 / (2 sigma_k^2 price_k) is measured: the steepest ascent of the cost
that stopping rules compare with a threshold. It is the rule of the published runs' fastest variant
(Reda, Tirinzoni and Degenne 2021, appendix), with forced exploration.

Other rules that respond to the closest alternative share the searches and the rounds. Gains are
divided by the arm's variance, so that they have no unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mislid._jit import Indices, PerArm, Struct, Vector, inner, kernel
from mislid._validation import as_count, as_number
from mislid.algorithms._draws import stream_of
from mislid.algorithms._draws import uniform as number_at
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.linalg import fill
from mislid.geometry.newton import STALLED
from mislid.geometry.problem import NOBODY
from mislid.geometry.search import SearchSpace, aim_at_projection, forget_means
from mislid.geometry.two_arms import Closest, is_wide, leave_nothing_out, list_challengers
from mislid.stopping.aims import SHORTLIST, Aims, aimed_arm, find_overdue, lagging_arm
from mislid.stopping.elimination import exempt_settled
from mislid.stopping.linear_fit import LinearFit
from mislid.stopping.rules import Setup
from mislid.stopping.state import ALL_ARMS, NOTHING, Setting, State, closest

# Shares of an allocation below this are never drawn; squared, they would underflow in the solver.
NEGLIGIBLE = 1e-100
# If the solver fails because weights span many orders of magnitude, shares below these are
# neglected, in turn: a learner without gains would play the same allocation for ever.
COARSER = (1e-30, 1e-15, 1e-8)
# With linear means no share counts as less. Smaller shares would determine the alternative at arms
# unrelated to its pair by the solver's rounding only, and a learner with such gains would play all
# arms alike for long. The same floor is used in a tube where the solver's first attempt fails: its
# other attempts would take a hundred times as long.
LEAST_SHARE, FLOORED = 1e-9, -1.0


class Round(Struct):
    """Several measurements for one alternative, which may use a few challengers only.

    The paper does this because a general solver needs m (K - m) programs a round for all pairs. It
    is not exact: a round misses alternatives outside the subset.
    """

    pulls: int  # measurements a round
    subset: int  # challengers drawn at random besides the recent ones; 0 for all
    published: bool  # whether other details follow the published runs
    recent: Indices  # (n,) recent challengers, first in first out, -1 where there are fewer
    gains: PerArm  # of the last round


def check_round(rule: Any) -> None:
    """Check the options `pulls` and `subset` of a record."""
    if rule.pulls is not None:
        as_count(rule.pulls, "pulls", 1)
    if rule.subset is not None:
        as_count(rule.subset, "subset", 0)


def round_fields(rule: Any, setting: Setting) -> dict[str, Any]:
    """Initial values of the fields of `Round`, by the options pulls, subset and authors."""
    d = setting.X.shape[1]
    return {
        "pulls": d if rule.pulls is None else rule.pulls,
        "subset": d if rule.subset is None else rule.subset,
        "published": rule.authors,
        # As many recent challengers as the published runs kept.
        "recent": np.full(setting.m + d + 2, -1, np.int64),
    }


@inner
def set_slopes(setting: Setting, below: Vector, slopes: Vector) -> None:
    """Fill slopes (K,) with (mu - lambda)^2 / 2 for `below` (K,), the estimate minus lambda."""
    for k in range(below.shape[0]):
        slopes[k] = 0.5 * below[k] * below[k] / setting.variance[k]


@inner
def clip_gains(state: State, gains: Vector) -> None:
    """Clip gains at ln t, as the published runs and LinGame do."""
    most = math.log(float(state.samples))
    for k in range(gains.shape[0]):
        gains[k] = min(gains[k], most)


@inner
def least_measured(counts: Vector) -> int:
    """The arm with the fewest measurements, of several the first."""
    best = 0
    for k in range(counts.shape[0]):
        if counts[k] < counts[best]:
            best = k
    return best


@inner
def less_measured(state: State, challenger: int, incumbent: int) -> int:
    """The arm of less weight; of equal weights, the incumbent."""
    return challenger if state.weights[challenger] < state.weights[incumbent] else incumbent


@inner
def keep_recent(rule: Round, challenger: int) -> None:
    """Add the challenger of the closest alternative to the recent ones, and drop the oldest."""
    recent = rule.recent
    if rule.subset == 0 or challenger < 0:
        return
    last = recent.shape[0] - 1
    for n in range(recent.shape[0]):
        if recent[n] == challenger:
            return
        if recent[n] < 0:
            recent[n] = challenger
            return
    for n in range(last):
        recent[n] = recent[n + 1]
    recent[last] = challenger


@inner
def leave_out(
    setting: Setting, rule: Round, state: State, space: SearchSpace, uniform: float
) -> None:
    """Exempt pairs from a search: of challengers outside the subset, and settled ones.

    The subset has the recent challengers and `subset` random ones, chosen by `uniform` alone.
    """
    K, m, heap = state.counts.shape[0], state.incumbents.shape[0], state.heap
    n, challengers, kept = K - m, space.challengers, state.work
    if rule.subset > 0:
        list_challengers(K, state.incumbents, challengers)
        for a in range(n):
            heap[a] = challengers[a]
        fill(kept, 0.0)
        for a in range(rule.recent.shape[0]):
            if rule.recent[a] >= 0:
                kept[rule.recent[a]] = 1.0
        key = stream_of(uniform)
        for a in range(min(rule.subset, n)):  # the first of a random order of the challengers
            other = a + int(number_at(key, a) * (n - a))
            heap[a], heap[other] = heap[other], heap[a]
            kept[heap[a]] = 1.0
        for a in range(n):
            for b in range(m):
                space.exempt[a * m + b] = kept[challengers[a]] == 0.0
    exempt_settled(setting, state, space)


@inner
def set_weights(setting: Setting, plan: Vector, neglected: float, weights: Vector) -> None:
    """Fill weights (K,) with shares over variances; small shares become 0, or LEAST_SHARE."""
    for k in range(plan.shape[0]):
        share = plan[k] if plan[k] > neglected else 0.0
        if neglected == FLOORED:
            share = max(plan[k], LEAST_SHARE)
        weights[k] = share / setting.variance[k]


@inner
def closest_at_plan(
    setting: Setting, state: State, plan: Vector, weights: Vector, patient: bool
) -> Closest:
    """The alternative closest to the estimate where arms have these shares (K,).

    In a tube the unchanged shares are tried first, with all attempts of the solver if `patient`.
    Then no share counts as less than LEAST_SHARE, or small shares are neglected.
    """
    newton, linear = state.play.newton, setting.eps == 0.0
    found = (STALLED, 0.0, -1, -1)
    for attempt in range(1 + len(COARSER)):
        least = NEGLIGIBLE if attempt == 0 else COARSER[attempt - 1]
        if linear or (attempt == 1 and not patient):
            least = FLOORED
        set_weights(setting, plan, least, weights)
        aim_at_projection(weights, state.test, state.play)
        newton.hasty = attempt == 0 and not linear and not patient
        found = closest(setting, state, weights, state.play)
        newton.hasty = False
        if found[0] != STALLED or linear:
            break
    return found


@dataclass(frozen=True)
class BestResponse(Algorithm):
    """Measure the arm that best distinguishes the data from the closest alternative.

    With the rule `guaranteed`, and where features do not matter, the arm is the one that the proof
    needs. There is no forced exploration then, unless the proof aims at all arms.

    Attributes
    ----------
    exploration
        An arm with fewer than `exploration` sqrt(t) measurements is measured first.
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
        """Whether it uses the alternative that a stopping test has found."""
        return self.subset == 0


# If sampling aims at all arms, the lagging pair gets this share of the measurements. An arm with a
# misleading mean may long have no gain at the alternatives, but its own pair becomes overdue.
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

    If no arm has a gain, because the arms of the closest pair are level, the less measured of them.
    """
    best, highest, equals = 0, -1.0, 0
    for k in range(rule.gains.shape[0]):
        gain = rule.gains[k] / setting.price[k]
        if gain > highest:
            best, highest, equals = k, gain, 1
        elif gain == highest:
            equals += 1
    if highest <= 0.0:
        return least_measured(state.counts) if i < 0 else less_measured(state, i, j)
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
    """Write the closest alternative to `state.test.below`; its pair, and whether one exists."""
    all_pairs = rule.subset == 0 and not setting.selective
    known = all_pairs and state.answered == state.samples
    if known:  # the stopping test has just found it
        state.rounds += 1
        return state.doubt_challenger, state.doubt_incumbent, True
    forget_means(state.test)
    status, _, i, j = closest(setting, state, state.weights, state.test)
    if status == STALLED:
        state.stalls += 1
        return i, j, False
    state.rounds += 1
    return i, j, True


@inner
def _spared_arm(setting: Setting, rule: BestResponseStruct, state: State, uniform: float) -> int:
    """An arm that needs no search, or NOBODY.

    A later pull of a round; the arm that a proof needs, unless it aims at all arms; or an arm with
    fewer than `exploration` sqrt(t) measurements, since a misleading estimate of an arm without
    gain would never be corrected.
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
    """The arm to measure next; `uniform` in [0, 1) is its only random number."""
    tricks = rule.subset > 0 or setting.selective
    plain = not tricks and not rule.published and state.aim == NOTHING
    if plain and is_wide(setting.eps, state.projected, setting.tol):
        find_overdue(setting, state)
        return lagging_arm(setting, state, uniform)
    arm = _spared_arm(setting, rule, state, uniform)
    if arm >= 0:
        return arm
    leave_out(setting, rule, state, state.test, uniform)
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
