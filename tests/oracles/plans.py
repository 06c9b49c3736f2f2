"""Rules that plan an allocation, in plain NumPy and SciPy: every pair solved, nothing pruned."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from mislid import Model, pair_alternative

Floats = NDArray[np.float64]


class Known(NamedTuple):
    """The model, what is estimated (K,), the noise (K,), and the m best arms of the estimate.

    Pairs (challenger, incumbent) that are `settled` are not looked at.
    """

    model: Model
    estimate: Floats
    noise: Floats
    incumbents: list[int]
    tolerance: float = 0.0
    settled: frozenset[tuple[int, int]] = frozenset()


class Near(NamedTuple):
    """An alternative: its cost, what a measurement of every arm adds to it (K,), and its pair."""

    cost: float
    slopes: Floats
    pair: tuple[int, int]


def alternatives(known: Known, shares: Floats) -> list[Near]:
    """The closest alternative of every pair that has one, where arms have these shares."""
    found = []
    for i in range(len(shares)):
        for j in known.incumbents if i not in known.incumbents else ():
            if (i, j) in known.settled:
                continue
            weights = shares / known.noise**2
            near = pair_alternative(
                known.model, known.estimate, weights, i, j, tolerance=known.tolerance
            )
            if math.isfinite(near.cost):
                slopes = 0.5 * ((known.estimate - near.means) / known.noise) ** 2
                found.append(Near(near.cost, slopes, (i, j)))
    return found


def best_mixture(payoffs: Floats) -> tuple[Floats, float]:
    """The z of the simplex with the largest min_j (payoffs z)_j, and that."""
    n, K = payoffs.shape
    # The program's tolerances are absolute.
    scale = max(float(np.abs(payoffs).max()), 1e-300)
    found = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.hstack([-payoffs / scale, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=np.append(np.ones(K), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * K + [(None, None)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return found.x[:K], float(-found.fun) * scale


def frank_wolfe_target(known: Known, target: Floats, t: int) -> Floats:
    """The target of FWS after round t."""
    K = len(target)
    near = alternatives(known, target)
    least = min(one.cost for one in near)
    towards = np.full(K, 1.0 / K)
    if math.isqrt(t // K) ** 2 != t // K and least > 0.0:
        slopes = np.array([one.slopes for one in near if one.cost < least + t**-0.9 / K])
        towards, _ = best_mixture(slopes - (slopes @ target)[:, None])
    return target + (towards - target) / t


def frank_wolfe(target: Floats, counts: Floats) -> int:
    """The arm that FWS measures."""
    return int(np.argmax(target / counts))


def lazy_plan(known: Known, plan: Floats) -> Floats:
    """1,000 steps of Frank-Wolfe from a plan on."""
    for step in range(1, 1001):
        near = min(alternatives(known, plan), key=lambda one: one.cost)
        if near.cost <= 0.0:
            break
        plan = plan * step / (step + 1)
        plan[np.argmax(near.slopes)] += 1 / (step + 1)
    return plan


def information(features: Floats, weights: Floats) -> Floats:
    """V, in the coordinates of the features."""
    return features.T @ (weights[:, None] * features)


def lazy_is_forced(spanned: Floats, weights: Floats, unit: float, t: int) -> bool:
    """Whether a direction is explored less than unit sqrt(t / d); features in the spanner's."""
    least = np.linalg.eigvalsh(information(spanned, weights)).min()
    return bool(least < unit * math.sqrt(t / spanned.shape[1]))


def lazy_threshold(spanned: Floats, weights: Floats, unit: float, delta: float) -> float:
    """1.1 ln(sqrt(det(V / (0.1 c) + I)) / delta)."""
    V = information(spanned, weights)
    _, logarithm = np.linalg.slogdet(V / (0.1 * unit) + np.eye(len(V)))
    return float(1.1 * (0.5 * logarithm - math.log(delta)))


def top_two_pair(known: Known, counts: Floats) -> tuple[int, int]:
    """The challenger and the incumbent of EB-TCI: least cost plus logarithms of the counts."""

    def index(near: Near) -> float:
        return near.cost + math.log(counts[near.pair[0]]) + math.log(counts[near.pair[1]])

    return min(alternatives(known, counts), key=index).pair
