"""What proves both sides of the characteristic time, recomputed with plain NumPy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector
from mislid.geometry.duality import (
    Pairs,
    Proofs,
    all_pairs,
    membership_failures,
    multiplier_failures,
    order_failures,
    pair_bounds,
    rounding_failures,
    top_arms,
)
from mislid.geometry.equilibrium import Cuts, gains, worst_gain
from mislid.geometry.linear_bounds import closed_form_bounds
from mislid.model import Model

ROUNDING = 1e-9


def distribution_failures(weights: Vector, name: str) -> list[str]:
    """Whether an array (n,) is a probability vector."""
    least, total = float(np.min(weights, initial=0.0)), float(np.sum(weights))
    failures = []
    if not least >= 0.0:
        failures.append(f"{name} has a negative entry, {least!r}")
    if not abs(total - 1.0) <= ROUNDING:
        failures.append(f"{name} sums to {total!r}, not to one")
    return failures


def pair_failures(named: Pairs, means: Vector, m: int, what: str) -> list[str]:
    """Which of the pairs (n, 2) that something names are no pairs of the top m of means (K,)."""
    allowed = {(i, j) for i, j in all_pairs(means.size, top_arms(means, m)).tolist()}
    return [
        f"{what} {n} names ({i}, {j}), which is no pair of top {m}"
        for n, (i, j) in enumerate(named.tolist())
        if (i, j) not in allowed
    ]


def alternative_failures(
    model: Model, means: Vector, m: int, tolerance: float, cuts: Cuts
) -> list[str]:
    """Whether each alternative is a model, shown by its theta, and reverses its pair."""
    failures = pair_failures(cuts.pairs, means, m, "alternative")
    if failures:
        return failures
    for n, (i, j) in enumerate(cuts.pairs.tolist()):
        wrong = order_failures(means, cuts.means[n], (i, j), tolerance)
        wrong += membership_failures(model, means, cuts.means[n], cuts.thetas[n])
        failures += [f"alternative {n}: {failure}" for failure in wrong]
    return failures


def mixture_failures(
    mixture: Vector, means: Vector, noise: Vector, alternatives: Matrix, lower: float
) -> list[str]:
    """Whether the mixture's largest expected gain over the arms is 1 / lower."""
    failures = distribution_failures(mixture, "mixture")
    if failures:
        return failures
    worst = worst_gain(mixture, gains(means, alternatives, noise))
    if not abs(worst - 1.0 / lower) <= ROUNDING * worst:
        failures.append(f"the mixture proves a lower side of {_time(worst)!r}, not {lower!r}")
    return failures


def _time(rate: float) -> float:
    """T = 1 / H."""
    return 1.0 / rate if rate > 0.0 else math.inf


class UpperSide(NamedTuple):
    """What proves an upper side of T: bounds on the costs of pairs at weights (K,)."""

    model: Model
    means: Vector
    m: int
    tolerance: float
    weights: Vector
    proofs: Proofs
    floor: Vector

    def failures(self, upper: float) -> list[str]:
        """Whether every pair provably costs at least 1 / upper."""
        model, means, m, tolerance, weights, proofs, floor = self
        failures = pair_failures(proofs.pairs, means, m, "proof")
        failures += [f"floor: {failure}" for failure in multiplier_failures(model, floor)]
        if failures:
            return failures
        failures = [
            f"pair ({i}, {j}): {failure}"
            for (i, j), z, alpha in zip(proofs.pairs.tolist(), *proofs[1:], strict=True)
            for failure in multiplier_failures(model, z, float(alpha), (i, j))
        ]
        failures += rounding_failures(model, means, weights, tolerance, floor, proofs)
        if not self.time <= upper * (1.0 + ROUNDING):
            failures.append(f"the allocation proves an upper side of {self.time!r}, not {upper!r}")
        return failures

    @property
    def time(self) -> float:
        """What is proved: 1 / the least of the bounds."""
        asked = self.model, self.means, self.weights
        pairs = all_pairs(self.model.K, top_arms(self.means, self.m))
        bounds = np.maximum(
            pair_bounds(*asked, pairs, self.tolerance, self.proofs),
            closed_form_bounds(*asked, pairs, self.tolerance, self.floor),
        )
        return _time(float(np.min(bounds)))


def shape_failures(**expected: tuple[NDArray[Any], tuple[int, ...]]) -> list[str]:
    """Which arrays, by name, do not have the shape expected of them."""
    return [
        f"{name} has shape {array.shape}, not {shape}"
        for name, (array, shape) in expected.items()
        if array.shape != shape
    ]


def cut_shape_failures(model: Model, cuts: Cuts, mixture: Vector) -> list[str]:
    """Which arrays about n alternatives do not agree on n, K and d."""
    n = len(cuts.means)
    return shape_failures(
        alternatives=(cuts.means, (n, model.K)),
        thetas=(cuts.thetas, (n, model.d)),
        pairs=(cuts.pairs, (n, 2)),
        mixture=(mixture, (n,)),
    )
