"""What was answered: the best candidates by the means of the nearest model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mislid.verification.geometry import Centred, Duality, Witness, cost, nearest, rounding
from mislid.verification.intervals import Interval, exactly, of_fraction, product, sqrt
from mislid.verification.model import Model
from mislid.verification.question import Candidates, Data, Settings
from mislid.verification.reading import (
    EQUAL,
    Failure,
    Label,
    Value,
    Vector,
    refuse_difference,
    refuse_differences,
)
from mislid.verification.thresholds import PROVEN

# Arms whose means differ by less, in standard errors of both, count as tied.
TIED = 1e-6


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest model (K,), nearly, and between bounds less the linear model of `centred`.

    The exact one is at most `off` away: 1/2 |difference|^2 <= off^2. In a tube, an arm that was
    never measured may have other means in models that are as near: its mean is not `unique` (K,).
    """

    means: Vector
    centred: Centred
    rest: Interval
    unique: NDArray[np.bool_]
    off: float


@dataclass(frozen=True, eq=False)
class Decision:
    """The answer's arms, best first, and what the file says of the pair hardest to tell apart."""

    arms: list[int]
    pair: Value
    statistic: Value
    threshold: Value


def read_projection(given: Value, settings: Settings, data: Data, model: Model) -> Projection:
    """The projected means are a model, and none is nearer to the empirical ones."""
    parts = given.parts("values", "means", "cost", "bound")
    weights = data.weights.middle
    centred = Centred(model, data.exact, weights, data.lost)
    rest, off, means, least, reached = centred.off, 0.0, data.means, 0.0, 0.0
    if math.isinf(settings.eps):
        if not parts["values"].absent:
            raise parts["values"].fail("null where the misspecification is infinite")
    else:
        values = settings.sign * parts["values"].vector(model.spanner.size)
        rest, off, proved = _projected(centred, data.weights, values)
        near = nearest(model, weights, data.means, Witness(values))
        means = np.where(weights > 0.0, near, model.X.middle @ values)
        reached, least = cost(centred.off.middle, weights, rest.middle), float(proved.middle)
    refuse_differences(parts["means"], settings.sign, means)
    lost = rounding(model.eps, weights, data.means, reached)
    for name, derived in (("cost", reached), ("bound", least)):
        refuse_difference(parts[name], parts[name].number(0.0), derived, EQUAL, lost)
    if not abs(reached - least) <= EQUAL * reached + lost:
        raise Failure(
            f"projection.means must be the nearest model: they cost {reached!r}, while only "
            f"{least!r} is proved to be needed"
        )
    unique = (weights > 0.0) | (settings.eps == 0.0)
    return Projection(means, centred, rest, unique, off)


def _projected(
    centred: Centred, weights: Interval, values: Vector
) -> tuple[Interval, float, Interval]:
    """The model p (K,) around linear values (d,); how far the nearest is from it; what that costs.

    Let z be near w (mu - p) with rho = X'z near 0, p = X b + eta and p* the nearest. Costs are
    strongly convex, z'p* <= eps |z|_1 + rho'b*, and h = |rho|_(V^-1) as in `geometry`, so that for
    D = |p - p*|_w

        1/2 D^2 <= cost(p) - cost(p*)
                <= 1/2 |mu - p - z/w|_w^2 + sum_k (eps |z_k| - z_k eta_k) + h ( D + 2 eps |1|_w ).
    """
    model, off, eps = centred.model, centred.off, centred.model.eps
    linear = product(model.X, centred.values(values))
    high, low = linear + eps, linear - eps
    measured = weights.low > 0.0
    rest = Interval(
        np.minimum(np.maximum(off.low, low.low), high.low),
        np.minimum(np.maximum(off.high, low.high), high.high),
    )
    # Where the means are beyond the tube, the deviation is eps, exactly.
    wall = np.where(off.low > high.high, eps, np.where(off.high < low.low, -eps, math.nan))
    eta = (rest - linear).where(np.isnan(wall), wall)
    duality = Duality(model, weights, off)
    missed = (off - rest).where(measured, 0.0)
    z = np.where(measured, weights.middle * missed.middle, 0.0)
    if eps > 0.0:
        z = np.where(np.isnan(wall), 0.0, z)
    z = duality.balanced(z)
    h = duality.frame.length(product(exactly(z)[None, :], model.X))[0]
    apart = missed - (exactly(z) / weights.where(measured, 1.0)).where(measured, 0.0)
    short = (exactly(np.abs(z)) * eps - eta * z).positive.where(measured, 0.0)
    lost = (weights * apart.square).sum() * 0.5 + short.sum()
    lost = lost + h * sqrt(weights.sum()) * (2.0 * eps)
    D = h + sqrt(h.square + lost * 2.0)
    return rest.where(measured, linear), float((D * math.sqrt(0.5)).high), duality.distance(z)


def read_decision(
    given: Value, candidates: Candidates, settings: Settings, data: Data, projection: Projection
) -> tuple[Decision, tuple[Label, ...]]:
    """The answer is the m best of the projected means, best first; the rule is as labelled."""
    parts = given.parts("answer", "rule", "proven", "pair", "statistic", "threshold")
    answer = [entry.label(candidates.index) for entry in parts["answer"].entries(settings.m)]
    if len(set(answer)) < settings.m:
        raise parts["answer"].fail(f"{settings.m} different candidates")
    arms = [candidates.index[label] for label in answer]
    _refuse_order(arms, candidates, settings, data.counts, projection)
    parts["rule"].text(settings.stopping)
    if parts["proven"].flag() != PROVEN[settings.stopping]:
        truth = "true" if PROVEN[settings.stopping] else "false"
        raise parts["proven"].fail(f"{truth} for the rule {settings.stopping}")
    decision = Decision(arms, parts["pair"], parts["statistic"], parts["threshold"])
    return decision, tuple(answer)


def _refuse_order(
    arms: list[int],
    candidates: Candidates,
    settings: Settings,
    counts: Vector,
    projection: Projection,
) -> None:
    """Refuse arms that are not the best by the projected means, best first, where these are unique.

    That arms without a unique mean belong where they are is left to the evidence.
    """
    rest, linear = projection.rest, projection.centred.linear
    errors = settings.noise / np.sqrt(np.maximum(counts, 1.0))

    def above(better: int, worse: int) -> float:
        """By how much, at most."""
        apart = of_fraction(linear[better] - linear[worse]) + rest[better] - rest[worse]
        return float(apart.high)

    left = [k for k in range(candidates.K) if k not in arms and projection.unique[k]]
    best = [max(left, key=lambda k: above(k, left[0]))] if left else []
    for better, worse in pairwise([*(k for k in arms if projection.unique[k]), *best]):
        if not above(better, worse) >= -TIED * float(errors[better] + errors[worse]):
            raise Failure(
                "decision.answer must be the best candidates by projection.means, best first; "
                f"{candidates.labels[worse]!r} is better than {candidates.labels[better]!r}"
            )
