"""The next arm for a proof by two arms or along the features."""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Indices, PerArm, PerFeature, Struct, Vector, inner, inner_loop, kernel
from mislid.geometry.linalg import cholesky_solve, dot
from mislid.geometry.two_arms import list_challengers, pair_cost
from mislid.stopping.linear_fit import LinearFit, aim_along, fit_linear, tube_bias
from mislid.stopping.state import LINEAR, Setting, State

# Number of arms, besides those of the pair, whose effect on the bias is computed.
SHORTLIST = 6
# Weights of a lagging pair are multiplied by price^PRICED before they are compared.
PRICED = 0.4
# In nats, more than the cost of any pair that can be measured.
NO_HURRY = 1e12
# Largest useful weight of an arm, in multiples of the other one's if that cannot be measured.
ENOUGH = 10.0


class Aims(Struct):
    """Workspace: a fit, and the effect of one more measurement on a pair."""

    fit: LinearFit
    weights: PerArm
    lifted: PerFeature  # V^-1 x_k
    moved: PerFeature  # V^-1 g after one more measurement
    drops: PerArm  # of the width
    listed: Indices  # (SHORTLIST + 2,)


@inner
def patience_with(setting: Setting, weights: Vector, i: int, j: int) -> float:
    """NO_HURRY if no possible measurement helps the pair much, else 0."""
    if not setting.priced:
        return 0.0
    can_i, can_j = setting.price[i] < np.inf, setting.price[j] < np.inf
    if can_i and can_j:
        return 0.0
    if can_i:
        return 0.0 if weights[i] < ENOUGH * weights[j] else NO_HURRY
    return 0.0 if can_j and weights[j] < ENOUGH * weights[i] else NO_HURRY


@inner
def most_overdue(
    setting: Setting, state: State, weights: Vector, overdue: float, i: int, j: int, least: float
) -> float:
    """Make a pair the lagging one if its index is below `least`; return the smaller index."""
    overdue += patience_with(setting, weights, i, j)
    if not overdue < least:
        return least
    state.lagging_challenger, state.lagging_incumbent = i, j
    return overdue


@kernel
def find_overdue(setting: Setting, state: State) -> None:
    """Make the most overdue pair the lagging one.

    It has the least cost plus logarithms of its counts (Jourdan et al., 2022). By the cost alone,
    two arms of equal means would be chosen for ever, and an arm with a misleading mean never.
    """
    incumbents, challengers, m = state.incumbents, state.test.challengers, setting.m
    list_challengers(state.counts.shape[0], incumbents, challengers)
    logs, least = state.work, np.inf
    for k in range(logs.shape[0]):
        logs[k] = math.log(max(state.counts[k], 0.5))
    for a in range(state.counts.shape[0] - m):
        i = challengers[a]
        for b in range(m):
            j = incumbents[b]
            cost = pair_cost(state.means, state.weights, i, j, setting.tol)
            overdue = cost + logs[i] + logs[j]
            least = most_overdue(setting, state, state.weights, overdue, i, j, least)


@inner
def lagging_arm(setting: Setting, state: State, uniform: float) -> int:
    """One arm of the lagging pair, at random (You et al., 2023).

    Probabilities w_j : w_i, the shares of the pair's cost that the arms limit, would be optimal in
    the long run. Squares keep the two weights closer to each other, where the evidence is closer to
    the cost. With prices, measurements cost least if weights go with the power 0.27 of 1 / price,
    because uneven weights reduce the evidence.
    """
    i, j = state.lagging_challenger, state.lagging_incumbent
    wi, wj = state.weights[i], state.weights[j]
    if setting.priced:
        if not (setting.price[i] < np.inf and setting.price[j] < np.inf):
            return i if setting.price[i] < np.inf else j
        wi *= setting.price[i] ** PRICED
        wj *= setting.price[j] ** PRICED
    if wi == 0.0 or wj == 0.0:
        return i if wi == 0.0 else j
    return i if uniform * (wi * wi + wj * wj) < wj * wj else j


@inner_loop
def _set_drops(setting: Setting, aims: Aims) -> None:
    """Upper bounds on how much one measurement of each arm reduces g' V^-1 g, per price."""
    X, d, along = setting.X, setting.X.shape[1], aims.fit.along
    for k in range(X.shape[0]):
        s = 0.0
        for a in range(d):
            s += X[k, a] * along[a]
        aims.drops[k] = s * s / (setting.variance[k] * setting.price[k])


@inner
def _shortlist(setting: Setting, aims: Aims, i: int, j: int) -> int:
    """List the arms with the largest drops and those of the pair; returns how many."""
    X, d, size = setting.X, setting.X.shape[1], 0
    listed = aims.listed
    # Without deviations there is no bias, and the largest drop is best.
    most_listed = SHORTLIST if setting.eps > 0.0 else 1
    while size < most_listed:
        best, most = -1, 0.0
        for k in range(X.shape[0]):
            drop = aims.drops[k]
            if drop <= most:
                continue
            if drop > 0.0:
                cholesky_solve(aims.fit.factor, d, X[k], aims.lifted)
                drop /= 1.0 + dot(X[k], aims.lifted) / setting.variance[k]
            if drop > most:
                best, most = k, drop
        if best < 0:
            break
        aims.drops[best] = -1.0
        listed[size] = best
        size += 1
    if setting.eps > 0.0 or size == 0:
        for k in (i, j):
            if aims.drops[k] >= 0.0 and setting.price[k] < np.inf:
                listed[size] = k
                size += 1
    return size


@inner
def _worth(setting: Setting, aims: Aims, i: int, j: int, gap: float, width: float, k: int) -> float:
    """The pair's gap beyond its bias in standard errors, after one more measurement of k."""
    X, d, fit = setting.X, setting.X.shape[1], aims.fit
    cholesky_solve(fit.factor, d, X[k], aims.lifted)
    total = setting.variance[k] + dot(X[k], aims.lifted)
    step = dot(X[k], fit.along) / total
    left = width - step * step * total
    beyond = gap
    if setting.eps > 0.0:
        for a in range(d):
            aims.moved[a] = fit.along[a] - step * aims.lifted[a]
        before, size = aims.weights[k], fit.size
        aims.weights[k] = before + 1.0 / setting.variance[k]
        if before == 0.0:
            fit.measured[size] = k
            fit.size = size + 1
        beyond -= setting.eps * tube_bias(setting, aims.weights, i, j, aims.moved, fit)
        aims.weights[k], fit.size = before, size
    return beyond / math.sqrt(max(left, 1e-300))


@kernel
def _along_features(setting: Setting, aims: Aims, state: State) -> int:
    """The arm whose measurement helps the pair most along the features, bias included."""
    X, fit = setting.X, aims.fit
    i, j = state.linear_challenger, state.linear_incumbent
    for k in range(X.shape[0]):
        aims.weights[k] = state.counts[k] / setting.variance[k]
    if not fit_linear(setting, aims.weights, state.means, state.test, fit):
        return i if aims.weights[i] < aims.weights[j] else j
    gap, width, _ = aim_along(setting, state.test, i, j, fit)
    _set_drops(setting, aims)
    count = _shortlist(setting, aims, i, j)
    if count == 1:
        return aims.listed[0]
    best, most, now = i, -np.inf, 0.0
    if setting.priced:
        bias = setting.eps * tube_bias(setting, aims.weights, i, j, fit.along, fit)
        now = (gap - bias) / math.sqrt(max(width, 1e-300))
    for n in range(count):
        k = aims.listed[n]
        worth = _worth(setting, aims, i, j, gap, width, k)
        if setting.priced:
            more, price = worth - now, setting.price[k]
            worth = more / price if more > 0.0 else more * price
        if worth > most:
            best, most = k, worth
    return best


@inner
def aimed_arm(setting: Setting, aims: Aims, state: State, uniform: float) -> int:
    """The arm to measure next."""
    if state.aim == LINEAR:
        return _along_features(setting, aims, state)
    return lagging_arm(setting, state, uniform)
