"""Evidence centred at the null: three families of closed forms, and how they are added up.

For means lambda, M(lambda) averages likelihood ratios of displacements z from lambda against lambda
itself; it starts at 1 and is a supermartingale if the means are lambda. Its infimum over the models
of the tube in which challenger i beats incumbent j by the tolerance is the evidence against them.
Families differ in the displacements: of two arms only, along the features, of all arms. The
infimum of a sum is at least the sum of the infima, so families and scales add up pair by pair.
docs/certificate.md has the theorem and its proof.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import Struct, Vector, inner, inner_loop

# Spread of the displacements of two arms around their scale, in multiples of it.
SPREAD = 0.45


class Family(Struct):
    """The scales (n,) of a family's displacements, and logarithms of their weights."""

    scales: Vector  # (n,)
    logs: Vector  # (n,)


class Families(Struct):
    """All displacements; their weights are those of M(lambda)."""

    level: float  # ln(1/delta)
    two_arms: Family  # of one pair
    linear: Family
    diagonal: Family


@inner
def add_log(value: float, total: float) -> float:
    """ln(exp(value) + exp(total))."""
    if value == -np.inf or total == np.inf:
        return total
    high, low = max(value, total), min(value, total)
    return high + math.log1p(math.exp(low - high))


@inner
def two_arm_evidence(family: Family, gap: float, wi: float, wj: float) -> float:
    """ln of what displacements of a pair's two arms add up to; `gap` includes the tolerance.

    The incumbent is displaced up and the challenger down, by N(s, (0.45 s)^2) each; the infimum
    over the means at which the two are level is in closed form.
    """
    total = -np.inf
    if wi == 0.0 or wj == 0.0:
        return total
    vi, vj = 1.0 / wi, 1.0 / wj
    variance, square = vi + vj, vi * vi + vj * vj
    for n in range(family.scales.shape[0]):
        scale = family.scales[n]
        precision = 1.0 / (SPREAD * scale * SPREAD * scale)
        beyond = max(gap + scale * precision * variance, 0.0)
        term = beyond * beyond / (2.0 * (variance + square * precision))
        term -= scale * scale * precision
        term -= 0.5 * math.log((1.0 + wi / precision) * (1.0 + wj / precision))
        total = add_log(term + family.logs[n], total)
    return total


@inner_loop
def linear_evidence(
    family: Family, half_volumes: Vector, beyond: float, width: float, curvature: float
) -> float:
    """ln of what the displacements along the features add up to.

    `beyond` is the gap of the linear fit less the largest bias of the tube, `width` g' V^-1 g and
    `curvature` g' V^-2 g for the pair's difference g of features.
    """
    total = -np.inf
    for n in range(family.scales.shape[0]):
        scale, term = family.scales[n], 0.0
        if beyond > 0.0:  # infinite for two arms with one feature: no model reverses them
            term = beyond * beyond / (2.0 * (width + curvature / (scale * scale)))
        total = add_log(term - half_volumes[n] + family.logs[n], total)
    return total
