"""The state of an identification: measurements, estimates and the last stopping test.

The simulator's compiled loop and studies use the same state. Weights are counts over squared noise,
so that costs have no unit.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mislid._jit import ArmOrder, IndexTable, Indices, Matrix, PerArm, Struct, Vector, inner
from mislid.geometry.linalg import copy
from mislid.geometry.newton import STALLED
from mislid.geometry.order import list_top
from mislid.geometry.search import SearchSpace, project_means, search_pairs
from mislid.geometry.two_arms import ACCURACY, Closest, closest_unstructured, is_wide

# The aim of sampling: the family of evidence that is likely to complete the proof first.
NOTHING, TWO_ARMS, LINEAR, ALL_ARMS = range(4)
# Noise models, in the order of `mislid.stopping.noise.NOISE_MODELS`.
KNOWN, UNKNOWN, BOUNDED, BERNOULLI, EQUAL = range(5)
# After the samples have grown by this factor, the closest alternative is searched for again.
RENEWAL = 1.02


class Setting(Struct):
    """A question for kernels; only the variances of unknown noise ever change."""

    X: Matrix  # (K, d) features in spanner coordinates
    basis: Indices  # (d,) the spanner's arms, X[basis] is the identity
    eps: float  # misspecification, may be infinite
    variance: Vector  # (K,) squared noise; estimates of the last test where it is unknown
    noise_model: int  # KNOWN, UNKNOWN, BOUNDED, BERNOULLI or EQUAL
    low: float  # the lower end of the range of bounded values
    width: float  # of this range
    m: int
    tol: float  # tolerance
    delta: float
    largest_norm: float  # of the features as they were given (the paper's L)
    mean_bound: float  # bound on the means' absolute values (the paper's M), may be infinite
    phantom: float  # measurements of value 0 added to every arm, as in the published runs
    widening: float  # of the tube, for alternatives to the projected means
    responds: bool  # whether the sampling rule uses the alternative of a stopping test
    selective: bool  # whether it ignores settled pairs
    structured: bool  # whether evidence along the features has a share in the proof
    price: Vector  # (K,) of a measurement; infinite for arms that cannot be measured
    priced: bool  # whether prices differ


class Settled(Struct):
    """Settled pairs: times[rows[j], i] is the number of samples when j was proved better than i.

    It is 0 for open pairs. A settled pair stays settled while other arms are the incumbents. Recent
    incumbents have a row each. There are few rows, so that memory does not grow like K^2; a new
    incumbent takes the row that was used longest ago. A lost row costs measurements, but does not
    invalidate the proof.
    """

    rows: ArmOrder  # the row of an arm, -1 for none
    owners: Indices  # (R,) the arm of a row, -1 for none
    used: Indices  # (R,) samples when the owner was an incumbent last
    times: Annotated[IndexTable, ("R", "K")]
    # By `elimination.draw_conclusions`: 1 for arms that are, and are not, among the m best.
    accepted: ArmOrder
    dropped: ArmOrder


class State(Struct):
    """Measurements and estimates; the rules update them in place."""

    samples: int
    waiting: int  # number of them that are pretended values of open trials
    counts: PerArm
    sums: PerArm
    lost: PerArm  # rounding errors of the sums
    scatter: PerArm  # see `add_scatter`; 0 where the noise is known
    weights: PerArm  # counts / variance
    means: PerArm  # empirical, 0 before the first measurement
    projected: PerArm  # the nearest model; an arm without measurements at its linear value
    incumbents: Annotated[Indices, ("m",)]  # the m best of the projected means, increasing
    tests: int  # stopping tests so far
    # Numbers of samples:
    last_test: int  # at the last stopping test
    judged: int  # at the last estimate
    searched: int  # at the last search for the closest alternative
    answered: int  # at the last search whose alternative the sampling rule may use
    rounds: int  # alternatives that the sampling rule has answered
    queued: int  # remaining pulls of the present round
    stalls: int  # searches that certified nothing
    # The last stopping test.
    statistic: float
    threshold: float
    challenger: int
    incumbent: int
    # The alternative that a stopping test found last, and its pair.
    doubt: PerArm
    doubt_challenger: int
    doubt_incumbent: int
    aim: int  # NOTHING, TWO_ARMS, LINEAR or ALL_ARMS
    # The most overdue open pair by its two arms, and that with the least evidence by the features.
    lagging_challenger: int
    lagging_incumbent: int
    linear_challenger: int
    linear_incumbent: int
    test: SearchSpace  # at the weights above: projections, stopping tests, best responses
    play: SearchSpace  # at the weights of an allocation
    settled: Settled  # by the stopping rule
    work: PerArm
    heap: ArmOrder


@inner
def observe(setting: Setting, state: State, arm: int, reward: float) -> None:
    """Add one measurement."""
    observe_sum(setting, state, arm, 1, reward, 0.0)


@inner
def observe_sum(
    setting: Setting, state: State, arm: int, times: int, total: float, scatter: float
) -> None:
    """Add measurements of one arm: their sum, and squared distances from their mean."""
    if setting.noise_model != KNOWN and setting.noise_model != BERNOULLI:
        add_scatter(setting, state, arm, times, total, scatter)
    state.samples += times
    state.counts[arm] += times
    add_up(state, arm, total)
    state.weights[arm] = (state.counts[arm] + setting.phantom) / setting.variance[arm]
    state.means[arm] = (state.sums[arm] + state.lost[arm]) / state.counts[arm]


@inner
def add_up(state: State, arm: int, total: float) -> None:
    """Add to a sum, and its rounding error to `lost` (Knuth's exact sum of two numbers)."""
    before = state.sums[arm]
    after = before + total
    back = after - before
    state.sums[arm] = after
    state.lost[arm] += (before - (after - back)) + (total - back)


@inner
def add_scatter(
    setting: Setting, state: State, arm: int, times: int, total: float, scatter: float
) -> None:
    """Add squared distances, before the values are added.

    With unknown noise, distances are from the mean of all values. With bounded values, they are in
    units of the range and from a guess of the mean made before the value; values that are added
    together share a guess.
    """
    n, mean = state.counts[arm], total / times
    if setting.noise_model != BOUNDED:
        away = mean - state.means[arm]
        state.scatter[arm] += scatter + n * times / (n + times) * away * away
        return
    before = (state.sums[arm] - n * setting.low + state.lost[arm]) / setting.width
    away = (mean - setting.low) / setting.width - (0.5 + before) / (n + 1.0)
    state.scatter[arm] += scatter / (setting.width * setting.width) + times * away * away


@inner
def give_rows(settled: Settled, incumbents: Indices, samples: int) -> None:
    """Give every incumbent a row."""
    for b in range(incumbents.shape[0]):
        j = incumbents[b]
        if settled.rows[j] >= 0:
            settled.used[settled.rows[j]] = samples
    for b in range(incumbents.shape[0]):
        j = incumbents[b]
        if settled.rows[j] < 0:
            _take_oldest(settled, j, samples)


@inner
def _take_oldest(settled: Settled, j: int, samples: int) -> None:
    oldest = 0
    for r in range(settled.owners.shape[0]):
        if settled.used[r] < settled.used[oldest]:
            oldest = r
    if settled.owners[oldest] >= 0:
        settled.rows[settled.owners[oldest]] = -1
    settled.owners[oldest], settled.used[oldest], settled.rows[j] = j, samples, oldest
    for k in range(settled.rows.shape[0]):
        settled.times[oldest, k] = 0


@inner
def is_settled(settled: Settled, i: int, j: int) -> bool:
    """Whether incumbent j was proved better than i."""
    return bool(settled.times[settled.rows[j], i] > 0)


@inner
def settle(settled: Settled, i: int, j: int, samples: int) -> None:
    """Record that incumbent j has just been proved better than i."""
    settled.times[settled.rows[j], i] = samples


@inner
def set_estimate(setting: Setting, state: State) -> None:
    """The projected means, after their search, and the m best of them as incumbents."""
    if np.isinf(setting.eps):
        copy(state.means, state.projected)
    else:
        linear, projected = state.test.linear, state.test.projected
        for k in range(state.projected.shape[0]):
            state.projected[k] = linear[k] + projected[k]
    take_best(state, state.projected)


@inner
def take_best(state: State, scores: PerArm) -> None:
    """The m arms with the largest scores as incumbents."""
    list_top(scores, state.heap, state.work, state.incumbents)


@inner
def estimate(setting: Setting, state: State) -> bool:
    """Project the means and pick the incumbents (the paper's estimation step).

    The nearest model in sum_k weights_k (.)^2; needs measurements of arms that span. A projection
    that is not certified changes nothing.
    """
    state.judged = state.samples
    if not np.isinf(setting.eps):
        space = state.test
        status, _, _ = project_means(setting.eps, state.means, state.weights, ACCURACY, space)
        if status == STALLED:
            state.stalls += 1
            return False
    set_estimate(setting, state)
    return True


@inner
def count_test(state: State) -> None:
    """Count a stopping test."""
    state.tests += 1
    state.last_test = state.samples


@inner
def closest(setting: Setting, state: State, weights: Vector, space: SearchSpace) -> Closest:
    """The alternative closest to the projected means, around which `space` is ready to search."""
    eps = setting.eps + setting.widening
    if is_wide(eps, state.projected, setting.tol):
        return closest_unstructured(state.projected, weights, state.incumbents, setting.tol, space)
    status, cost, _, i, j, _, _ = search_pairs(eps, state.incumbents, setting.tol, ACCURACY, space)
    return status, cost, i, j


@inner
def record(state: State, statistic: float, threshold: float, i: int, j: int) -> None:
    """Record the result of a test."""
    state.statistic, state.threshold = statistic, threshold
    state.challenger, state.incumbent = i, j


@inner
def keep_doubt(state: State, given: Vector, i: int, j: int) -> None:
    """Store the alternative just found."""
    below = state.test.below
    for k in range(given.shape[0]):
        state.doubt[k] = given[k] - below[k]
    state.doubt_challenger, state.doubt_incumbent = i, j
    state.searched = state.samples


@inner
def is_of_the_answer(state: State, i: int, j: int) -> bool:
    """Whether j is an incumbent and i is not; i = -1 means no pair."""
    inside = False
    for b in range(state.incumbents.shape[0]):
        if state.incumbents[b] == i:
            return False
        inside = inside or state.incumbents[b] == j
    return inside and i >= 0


@inner
def is_doubt_valid(state: State) -> bool:
    """Whether the alternative found last reverses a pair of the present answer, and is recent.

    Its cost is above that of the closest one, which is searched for again before long, so that the
    evidence is not overstated by much.
    """
    if state.samples > RENEWAL * state.searched:
        return False
    return is_of_the_answer(state, state.doubt_challenger, state.doubt_incumbent)


@inner
def cost_of_doubt(state: State, given: Vector) -> float:
    """The present cost of the alternative found last."""
    cost = 0.0
    for k in range(given.shape[0]):
        cost += 0.5 * state.weights[k] * (given[k] - state.doubt[k]) ** 2
    return cost


def forget_pairs(settled: Settled) -> None:
    """Forget all settled pairs when the data are replaced."""
    settled.rows[:], settled.owners[:], settled.used[:], settled.times[:] = -1, -1, 0, 0
    settled.accepted[:], settled.dropped[:] = 0, 0
