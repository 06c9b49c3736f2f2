"""What proves both sides of the characteristic time, recomputed with plain NumPy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector
from mislid.geometry._game import Cuts, Pairs, all_pairs, gains, worst_gain
from mislid.geometry.duality import (
    Proofs,
    membership_failures,
    multiplier_failures,
    unstructured_bounds,
)
from mislid.model import Model

ROUNDING = 1e-9


def feasible(model: Model, pairs: Pairs, tolerance: float) -> NDArray[np.bool_]:
    """Which pairs (n, 2) some model of the tube reverses by the tolerance.

    Only arms with the same features are bound to each other, and then by twice the tube's width.
    """
    i, j = pairs.T
    rows = model.features
    apart = np.max(np.abs(rows[i] - rows[j]) / np.max(np.abs(rows), axis=0), axis=1)
    reversible: NDArray[np.bool_] = apart > 1e-14
    return reversible | (2.0 * model.misspecification >= tolerance)


def cost_bounds(
    model: Model, means: Vector, m: int, weights: Vector, tolerance: float, proofs: Proofs
) -> Vector:
    """A proved lower bound on the cost of every pair, in the order of `all_pairs`.

    The better of the closed form without structure (z = 0) and the pair's multipliers; infinite
    where no model reverses the pair.
    """
    pairs = all_pairs(means, m)
    bounds = unstructured_bounds(means, weights, pairs, tolerance)
    place = {(int(i), int(j)): n for n, (i, j) in enumerate(pairs)}
    proved = dual_bounds(model, means, weights, tolerance, proofs)
    for (i, j), bound in zip(proofs.pairs, proved, strict=True):
        n = place.get((int(i), int(j)))
        if n is not None:
            bounds[n] = max(bounds[n], bound)
    bounds[~feasible(model, pairs, tolerance)] = math.inf
    return bounds


def dual_bounds(
    model: Model, means: Vector, weights: Vector, tolerance: float, proofs: Proofs
) -> Vector:
    """(v'mu + alpha tol - eps |z|_1)_+^2 / (2 sum_k v_k^2 / w_k), v = z + alpha (e_j - e_i)."""
    rows = np.arange(proofs.alphas.size)
    i, j = proofs.pairs.T
    v = proofs.multipliers.copy()
    v[rows, j] += proofs.alphas
    v[rows, i] -= proofs.alphas
    sizes = np.sum(np.abs(proofs.multipliers), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        walls = np.where(sizes > 0.0, model.misspecification * sizes, 0.0)
        value = np.maximum(v @ means + proofs.alphas * tolerance - walls, 0.0)
        spread = np.sum(np.where(v == 0.0, 0.0, v**2 / weights), axis=1)
        bounds: Vector = np.where(value > 0.0, value**2 / (2.0 * spread), 0.0)
    return bounds


def distribution_failures(weights: Vector, name: str, size: int) -> list[str]:
    """Whether an array is a probability vector of some size."""
    if weights.shape != (size,):
        return [f"{name} has shape {weights.shape}, not ({size},)"]
    least, total = float(np.min(weights, initial=0.0)), float(np.sum(weights))
    failures = []
    if not least >= 0.0:
        failures.append(f"{name} has a negative entry, {least!r}")
    if not abs(total - 1.0) <= ROUNDING:
        failures.append(f"{name} sums to {total!r}, not to one")
    return failures


def tie_failures(means: Vector, m: int, tolerance: float) -> list[str]:
    """Whether the m-th and the next mean are equal, which takes for ever to tell."""
    ordered = np.sort(means)[::-1]
    if tolerance == 0.0 and ordered[m - 1] == ordered[m]:
        return []
    places = f"{float(ordered[m - 1])!r} and {float(ordered[m])!r}"
    return [f"an infinite time needs a tie at tolerance 0; got {places} at {tolerance!r}"]


def alternative_failures(
    model: Model, means: Vector, m: int, tolerance: float, cuts: Cuts
) -> list[str]:
    """Whether each alternative is a model, shown by its theta, and reverses its pair."""
    failures = []
    allowed_pairs = {(int(i), int(j)) for i, j in all_pairs(means, m)}
    for n, (found, theta, (i, j)) in enumerate(zip(*cuts, strict=True)):
        slack = ROUNDING * float(np.max(np.abs(found)) + np.max(np.abs(means)))
        if (int(i), int(j)) not in allowed_pairs:
            failures.append(f"alternative {n} names ({i}, {j}), which is no pair of top {m}")
        short = float(found[j] + tolerance - found[i])
        if not short <= slack:
            failures.append(f"alternative {n} does not reverse its pair: {short!r} is missing")
        failures += [
            f"alternative {n}: {failure}" for failure in membership_failures(model, found, theta)
        ]
    return failures


def mixture_failures(
    mixture: Vector, means: Vector, noise: Vector, alternatives: Matrix, expected: float
) -> list[str]:
    """Whether the mixture's largest expected gain over the arms is the expected one."""
    failures = distribution_failures(mixture, "mixture", alternatives.shape[0])
    if failures:
        return failures
    worst = worst_gain(mixture, gains(means, alternatives, noise))
    if not abs(worst - expected) <= ROUNDING * expected:
        failures.append(
            f"the mixture proves a lower side of {1.0 / worst!r}, not {1.0 / expected!r}"
        )
    return failures


def bound_failures(
    model: Model,
    means: Vector,
    m: int,
    tolerance: float,
    weights: Vector,
    proofs: Proofs,
    upper: float,
) -> list[str]:
    """Whether every pair provably costs at least 1 / upper at these weights."""
    failures = [
        f"pair ({i}, {j}): {failure}"
        for (i, j), z, alpha in zip(*proofs, strict=True)
        for failure in multiplier_failures(model, z, float(alpha), (int(i), int(j)))
    ]
    least = float(np.min(cost_bounds(model, means, m, weights, tolerance, proofs)))
    proved = 1.0 / least if least > 0.0 else math.inf
    if not proved <= upper * (1.0 + ROUNDING):
        failures.append(f"the allocation proves an upper side of {proved!r}, not {upper!r}")
    return failures
