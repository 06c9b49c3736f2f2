"""The proven stopping rule: every pair settled, at some time, by evidence centred at the null."""

from __future__ import annotations

import math

import numpy as np

from mislid._kernels.compile import inner, inner_loop, kernel
from mislid._kernels.families import Families, linear_evidence, total_log, two_arm_evidence
from mislid._kernels.linalg import cholesky_solve, copy, dot
from mislid._kernels.linear_fit import LinearFit, fit_linear, lift_all, tube_bias
from mislid._kernels.newton import SOLVED, STALLED
from mislid._kernels.search import SearchSpace, call_project, call_search, search_space
from mislid._kernels.settled import Settled, give_rows, is_settled, new_settled, settle
from mislid._kernels.state import LINEAR, TWO_ARMS, Setting, State
from mislid._kernels.stopping import count_test, estimate, record
from mislid._kernels.structs import PerArm, Struct, Vector
from mislid._kernels.two_arms import ACCURACY, list_challengers, pair_cost

# Rules that have to learn the gaps take about so many times what one that knows them does.
PRACTICE = 1.4
# All open pairs are looked at again when the samples have grown by this factor.
RENEWAL = 1.01


class Diagonal(Struct):
    """Displacements of all arms: the closest alternative at weights q."""

    search: SearchSpace
    q: PerArm  # w^2 rho^2 / (1 + w rho^2)
    scale: int  # of the last search
    half_volume: float
    searched: int  # samples then
    alternative: PerArm
    challenger: int  # its pair, -1 before
    incumbent: int


class Proof(Struct):
    """The families and what was settled by them; the rest is work."""

    families: Families
    settled: Settled
    weights: PerArm  # counts / variance
    tested: PerArm  # counts at the last test
    fit: LinearFit
    diagonal: Diagonal
    practice: float
    tci: float
    scanned: int  # samples when all open pairs were looked at last
    challenger: int  # the open pair with least evidence along the features
    incumbent: int
    open: int  # pairs that are not settled
    use_linear: float


def new_proof(setting: Setting, families: Families) -> Proof:
    """The rule before the first measurement."""
    K, d = setting.X.shape
    n = len(families.linear.scales)
    return Proof.zeros(
        {"K": K, "d": d},
        families=families,
        settled=new_settled(K, setting.m),
        fit=LinearFit.zeros({"K": K, "d": d, "n": n}),
        diagonal=Diagonal.zeros({"K": K}, search=search_space(setting.X, setting.m), challenger=-1),
        practice=PRACTICE,
        tci=1.0,
        challenger=-1,
        use_linear=1.0,
    )


def begin_anew(rule: Proof) -> None:
    """Forget what was settled, and when anything was looked at: the data are others."""
    settled = rule.settled
    settled.rows[:], settled.owners[:], settled.used[:], settled.times[:] = -1, -1, 0, 0
    rule.tested[:] = 0.0
    rule.scanned, rule.challenger, rule.diagonal.challenger, rule.diagonal.searched = 0, -1, -1, 0


@inner
def _two_arm_threshold(rule: Proof, gap: float) -> float:
    """About what a pair's cost must be for its two arms to settle it, at equal weights."""
    families = rule.families
    return families.level - total_log(families.two_arms) + 3.5


@inner
def _left_by_two_arms(setting: Setting, rule: Proof, state: State) -> float:
    """About how many measurements are left until every open pair is settled by its own two arms.

    Arms of equal weight w at a gap settle their pair when gap^2 w / 4 reaches its threshold, and an
    arm is settled last with the nearest one of the other side.
    """
    at, incumbents = state.projected, state.incumbents
    lowest, highest = np.inf, -np.inf
    for b in range(incumbents.shape[0]):
        lowest = min(lowest, at[incumbents[b]])
    challengers = state.test.challengers
    for a in range(at.shape[0] - incumbents.shape[0]):
        highest = max(highest, at[challengers[a]])
    threshold, left = _two_arm_threshold(rule, 1.0), 0.0
    for k in range(at.shape[0]):
        gap = setting.tol + max(at[k] - highest, lowest - at[k])
        weight = 4.0 * threshold / (gap * gap)
        left += max(weight * setting.variance[k] - state.counts[k], 0.0)
    return rule.practice * left


@inner
def _look_at_two_arms(setting: Setting, rule: Proof, state: State, testing: bool) -> None:
    """Settle pairs by their own two arms; the lagging one is the pair with least evidence so far.

    Where nothing else is measured, a pair's evidence plus the logarithms of its counts tells how
    overdue it is: an unlucky arm that waits is remembered before long.
    """
    incumbents, challengers, m = state.incumbents, state.test.challengers, setting.m
    families, w = rule.families, rule.weights
    list_challengers(w.shape[0], incumbents, challengers)
    least, rule.open = np.inf, 0
    # A mixture is below its largest term.
    floor = families.level - total_log(families.two_arms)
    for a in range(w.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            if is_settled(rule.settled, i, j):
                continue
            cost = pair_cost(state.means, w, i, j, setting.tol)
            new = state.counts[i] != rule.tested[i] or state.counts[j] != rule.tested[j]
            if testing and new and cost >= floor:
                gap = state.means[j] - state.means[i] + setting.tol
                if two_arm_evidence(families.two_arms, gap, w[i], w[j]) >= families.level:
                    settle(rule.settled, i, j, state.samples)
                    continue
            rule.open += 1
            overdue = cost + rule.tci * (
                math.log(max(state.counts[i], 0.5)) + math.log(max(state.counts[j], 0.5))
            )
            if overdue < least:
                least = overdue
                state.lagging_challenger, state.lagging_incumbent = i, j
    if testing:
        copy(state.counts, rule.tested)


@inner_loop
def _differ(
    setting: Setting, fit: LinearFit, i: int, j: int
) -> tuple[float, float, float, float, float]:
    """Of a pair: gap of the fit less the centre's, width, curvature, x_i' along and x_j' along."""
    cross, curvature = 0.0, 0.0
    for a in range(setting.X.shape[1]):
        cross += setting.X[i, a] * fit.lifted[j, a]
        step = fit.lifted[j, a] - fit.lifted[i, a]
        curvature += step * step
    at_i, at_j = cross - fit.own[i], fit.own[j] - cross
    return fit.values[j] - fit.values[i], at_j - at_i, curvature, at_i, at_j


@inner
def _least_bias(setting: Setting, rule: Proof, i: int, j: int, at_i: float, at_j: float) -> float:
    """A bound below `tube_bias` without a look at the other arms."""
    w = rule.weights
    return abs(1.0 + w[i] * at_i) + abs(w[j] * at_j - 1.0)


@inner
def _evidence_along(
    setting: Setting, rule: Proof, state: State, i: int, j: int
) -> tuple[float, float, float, float]:
    """Of a pair, by the features: evidence, gap beyond the bias, width and curvature."""
    X, fit, centre = setting.X, rule.fit, state.test.linear
    d = X.shape[1]
    for a in range(d):
        fit.slope[a] = X[j, a] - X[i, a]
    cholesky_solve(fit.factor, d, fit.slope, fit.work)
    beyond = dot(fit.slope, fit.theta) + (centre[j] - centre[i]) + setting.tol
    width, curvature = dot(fit.slope, fit.work), dot(fit.work, fit.work)
    if setting.eps > 0.0:
        beyond -= setting.eps * tube_bias(setting, rule.weights, i, j, fit.work, fit)
    evidence = linear_evidence(rule.families.linear, fit.half_volumes, beyond, width, curvature)
    return evidence, beyond, width, curvature


@inner
def _scan_along(setting: Setting, rule: Proof, state: State, testing: bool) -> None:
    """Settle pairs by the features; the one with least evidence becomes the rule's pair."""
    fit, families, centre = rule.fit, rule.families, state.test.linear
    incumbents, challengers, m = state.incumbents, state.test.challengers, setting.m
    lift_all(setting, fit)
    rule.challenger, rule.incumbent, rule.scanned = -1, -1, state.samples
    least = np.inf
    for a in range(rule.weights.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            if is_settled(rule.settled, i, j):
                continue
            gap, width, curvature, at_i, at_j = _differ(setting, fit, i, j)
            beyond = gap + (centre[j] - centre[i]) + setting.tol
            if setting.eps > 0.0:
                beyond -= setting.eps * _least_bias(setting, rule, i, j, at_i, at_j)
            if (
                testing
                and beyond > 0.0
                and linear_evidence(families.linear, fit.half_volumes, beyond, width, curvature)
                >= families.level * (1.0 - 1e-9)
            ):
                if _evidence_along(setting, rule, state, i, j)[0] >= families.level:
                    settle(rule.settled, i, j, state.samples)
                    rule.open -= 1
                    continue
            size = beyond / math.sqrt(width)
            if size < least:
                least = size
                rule.challenger, rule.incumbent = i, j


@inner
def _volume_at(rule: Proof, n: int, growth: float) -> float:
    """1/2 ln det(I + s^2 f V) of the n-th scale for ln f = 2 `growth`, between those of the scales."""
    scales, volumes = rule.families.linear.scales, rule.fit.half_volumes
    last = scales.shape[0] - 1
    step = math.log(scales[1] / scales[0])
    place = n + growth / step
    at = min(int(place), last - 1)
    return volumes[at] + (place - at) * (volumes[at + 1] - volumes[at])


@inner
def _left_along(rule: Proof, samples: int, beyond: float, width: float, curvature: float) -> float:
    """About how many measurements are left along the features, the design and the fit as they are."""
    if beyond <= 0.0:
        return np.inf
    family, level = rule.families.linear, rule.families.level
    low, high = 0.0, 24.0
    for _ in range(20):
        growth = 0.5 * (low + high)
        f, best = math.exp(2.0 * growth), -np.inf
        for n in range(family.scales.shape[0]):
            shrunk = 2.0 * (width / f + curvature / (f * f * family.scales[n] ** 2))
            best = max(
                best, beyond * beyond / shrunk + family.logs[n] - _volume_at(rule, n, growth)
            )
        if best >= level:
            high = growth
        else:
            low = growth
    return samples * (math.exp(2.0 * high) - 1.0)


@inner
def _look_along(setting: Setting, rule: Proof, state: State, testing: bool) -> float:
    """Settle pairs by the features; about how many measurements are left until all of them are."""
    fit = rule.fit
    if not fit_linear(setting, rule.weights, state.means, state.test, rule.families.linear, fit):
        return np.inf
    i, j = rule.challenger, rule.incumbent
    due = state.samples > RENEWAL * rule.scanned or not _is_open(rule, state, i, j)
    if not due and testing:
        due = _evidence_along(setting, rule, state, i, j)[0] >= rule.families.level
    if due:
        _scan_along(setting, rule, state, testing)
    i, j = rule.challenger, rule.incumbent
    if i < 0:
        return 0.0
    evidence, beyond, width, curvature = _evidence_along(setting, rule, state, i, j)
    state.linear_challenger, state.linear_incumbent = i, j
    state.linear_statistic = max(beyond, 0.0) ** 2 / (2.0 * width)
    state.linear_threshold = rule.families.level + state.linear_statistic - evidence
    return _left_along(rule, state.samples, beyond, width, curvature)


@inner
def _is_open(rule: Proof, state: State, i: int, j: int) -> bool:
    """Whether (i, j) is a pair of the present answer that is not settled."""
    if i < 0:
        return False
    claimed = False
    for b in range(state.incumbents.shape[0]):
        if state.incumbents[b] == i:
            return False
        claimed = claimed or state.incumbents[b] == j
    return claimed and not is_settled(rule.settled, i, j)


@inner_loop
def _half_volume(rule: Proof, scale: float) -> float:
    """1/2 sum_k ln(1 + w_k rho^2)."""
    total = 0.0
    for n in range(rule.fit.size):
        total += math.log1p(rule.weights[rule.fit.measured[n]] * scale * scale)
    return 0.5 * total


@inner_loop
def _diagonal_cost(rule: Proof, means: Vector, scale: float, growth: float) -> float:
    """1/2 sum_k q_k (y_k - lambda_k)^2 for the alternative found last, at weights times `growth`."""
    total = 0.0
    for n in range(rule.fit.size):
        k = rule.fit.measured[n]
        w = rule.weights[k] * growth
        miss = means[k] - rule.diagonal.alternative[k]
        total += w * w * scale * scale / (1.0 + w * scale * scale) * miss * miss
    return 0.5 * total


@inner
def _best_scale(rule: Proof, state: State) -> int:
    """The scale at which the alternative found last has most evidence against it."""
    family, best, most = rule.families.diagonal, 0, -np.inf
    for n in range(family.scales.shape[0]):
        scale = family.scales[n]
        value = _diagonal_cost(rule, state.means, scale, 1.0) - _half_volume(rule, scale)
        if value > most:
            best, most = n, value
    return best


@inner
def _left_by_diagonal(rule: Proof, state: State) -> float:
    """About how many measurements are left for displacements of all arms, the design as it is."""
    family, level = rule.families.diagonal, rule.families.level
    growth = 1.0
    for _ in range(40):
        for n in range(family.scales.shape[0]):
            scale = family.scales[n]
            volume = 0.0
            for p in range(rule.fit.size):
                volume += math.log1p(rule.weights[rule.fit.measured[p]] * growth * scale * scale)
            value = _diagonal_cost(rule, state.means, scale, growth) - 0.5 * volume
            if value + family.logs[n] >= level:
                return state.samples * (growth - 1.0)
        growth *= 1.15
    return np.inf


@inner
def _search_diagonal(setting: Setting, rule: Proof, state: State, n: int) -> bool:
    """The closest alternative of the open pairs at the weights of this scale; whether it is far."""
    scale, diagonal, m = rule.families.diagonal.scales[n], rule.diagonal, setting.m
    space, w = diagonal.search, rule.weights
    for k in range(w.shape[0]):
        diagonal.q[k] = w[k] * w[k] * scale * scale / (1.0 + w[k] * scale * scale)
    for a in range(w.shape[0] - m):
        for b in range(m):
            space.exempt[a * m + b] = is_settled(
                rule.settled, state.test.challengers[a], state.incumbents[b]
            )
    diagonal.scale, diagonal.searched = n, state.samples
    status, _, _ = call_project(
        space.project, setting.eps, state.means, diagonal.q, ACCURACY, space
    )
    if status == STALLED:
        state.stalls += 1
        return False
    status, cost, _, i, j, _, _ = call_search(
        space.search, setting.eps, state.incumbents, setting.tol, ACCURACY, space
    )
    if status == STALLED:
        state.stalls += 1
    if status != SOLVED:
        return False
    for k in range(w.shape[0]):
        diagonal.alternative[k] = state.means[k] - space.below[k]
    diagonal.challenger, diagonal.incumbent = i, j
    diagonal.half_volume = _half_volume(rule, scale)
    evidence = cost - diagonal.half_volume + rule.families.diagonal.logs[n]
    return evidence >= rule.families.level


@inner
def _look_diagonally(
    setting: Setting, rule: Proof, state: State, testing: bool, others: float
) -> float:
    """Settle all open pairs by displacements of all arms; about how many measurements are left."""
    diagonal = rule.diagonal
    if setting.eps == 0.0 or not rule.fit.spans:
        return np.inf
    known = _is_open(rule, state, diagonal.challenger, diagonal.incumbent)
    left = _left_by_diagonal(rule, state) if known else 0.0
    pause = 1.02 if left < 2.0 * others else 1.2
    if known and left > 0.0 and state.samples < pause * diagonal.searched:
        return left
    n = _best_scale(rule, state) if known else 3
    for _ in range(2):
        if _search_diagonal(setting, rule, state, n) and testing:
            _settle_all(setting, rule, state)
            return 0.0
        better = _best_scale(rule, state)
        if better == n:
            break
        n = better
    return max(_left_by_diagonal(rule, state), 1.0)


@inner
def _settle_all(setting: Setting, rule: Proof, state: State) -> None:
    for a in range(rule.weights.shape[0] - setting.m):
        for b in range(setting.m):
            i, j = state.test.challengers[a], state.incumbents[b]
            if not is_settled(rule.settled, i, j):
                settle(rule.settled, i, j, state.samples)
    rule.open = 0


@inner
def _record_two_arms(setting: Setting, rule: Proof, state: State) -> None:
    i, j, w = state.lagging_challenger, state.lagging_incumbent, rule.weights
    cost = pair_cost(state.means, w, i, j, setting.tol)
    gap = state.means[j] - state.means[i] + setting.tol
    evidence = two_arm_evidence(rule.families.two_arms, gap, w[i], w[j])
    if w[i] == 0.0 or w[j] == 0.0:
        evidence = total_log(rule.families.two_arms) - 3.5
    record(state, cost, rule.families.level + cost - evidence, i, j)


@kernel
def judge_proof(setting: Setting, rule: Proof, state: State, testing: bool) -> bool:
    """Estimate, find what is likely to end first and, if `testing`, say whether all is settled."""
    if not estimate(setting, state):
        return False
    if testing:
        count_test(state)
    for k in range(rule.weights.shape[0]):
        rule.weights[k] = state.counts[k] / setting.variance[k]
    give_rows(rule.settled, state.incumbents, state.samples)
    _look_at_two_arms(setting, rule, state, testing)
    state.aim = TWO_ARMS
    if rule.open == 0:
        return testing
    _record_two_arms(setting, rule, state)
    if np.isinf(setting.eps):
        return False
    left = _left_by_two_arms(setting, rule, state)
    along = rule.use_linear * _look_along(setting, rule, state, testing)
    if rule.open == 0:
        return testing
    _look_diagonally(setting, rule, state, testing, min(left, along))
    if rule.open == 0:
        return testing
    if along < left:
        state.aim = LINEAR
        record(
            state,
            state.linear_statistic,
            state.linear_threshold,
            state.linear_challenger,
            state.linear_incumbent,
        )
    return False
