"""What was answered: the best candidates by the means of the nearest model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mislid.verification.geometry import Duality, Witness, cost
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

# Arms whose means differ by less, relative to the range of all means, count as tied.
TIED = 1e-6


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest model (K,), exact up to a distance `off`: 1/2 |difference|^2 <= off^2.

    In a tube, an arm that was never measured may have other means in models that are as near: its
    mean is not `unique` (K,).
    """

    means: Vector
    unique: NDArray[np.bool_]
    off: float


@dataclass(frozen=True, eq=False)
class Decision:
    """The answer's arms, best first, and what the file says of the pair hardest to tell apart."""

    arms: list[int]
    pair: Value
    statistic: Value
    threshold: Value


def read_projection(given: Value, settings: Settings, data: Data, duality: Duality) -> Projection:
    """The projected means are a model, and none is nearer to the empirical ones."""
    parts = given.parts("values", "means", "cost", "bound")
    if math.isinf(settings.eps):
        if not parts["values"].absent:
            raise parts["values"].fail("null where the misspecification is infinite")
        projected, least = data.means, 0.0
    else:
        values = settings.sign * parts["values"].vector(duality.model.X.shape[1])
        near = duality.nearest(data.means, Witness(values))
        projected = np.where(data.weights > 0.0, near, duality.model.X @ values)
        least = duality.projection_bound(data.means, projected)
    refuse_differences(parts["means"], settings.sign, projected)
    reached = cost(data.means, data.weights, projected)
    rounding = duality.rounding(data.means, reached)
    for name, derived in (("cost", reached), ("bound", least)):
        refuse_difference(parts[name], parts[name].number(0.0), derived, EQUAL, rounding)
    gap = reached - least
    if not gap <= EQUAL * reached + rounding:
        raise Failure(
            f"projection.means must be the nearest model: they cost {reached!r}, while only "
            f"{least!r} is proved to be needed"
        )
    # Costs are strongly convex: the exact projection costs less by at least 1/2 |difference|^2.
    off = math.sqrt(max(gap - 1e-12 * reached - rounding, 0.0))
    return Projection(projected, (data.weights > 0.0) | (settings.eps == 0.0), off)


def read_decision(
    given: Value, candidates: Candidates, settings: Settings, projection: Projection
) -> tuple[Decision, tuple[Label, ...]]:
    """The answer is the m best of the projected means, best first; the rule is as labelled."""
    parts = given.parts("answer", "rule", "proven", "pair", "statistic", "threshold")
    answer = [entry.label(candidates.index) for entry in parts["answer"].entries(settings.m)]
    if len(set(answer)) < settings.m:
        raise parts["answer"].fail(f"{settings.m} different candidates")
    arms = [candidates.index[label] for label in answer]
    _refuse_order(arms, candidates, projection)
    parts["rule"].text(settings.stopping)
    if parts["proven"].flag() != PROVEN[settings.stopping]:
        truth = "true" if PROVEN[settings.stopping] else "false"
        raise parts["proven"].fail(f"{truth} for the rule {settings.stopping}")
    decision = Decision(arms, parts["pair"], parts["statistic"], parts["threshold"])
    return decision, tuple(answer)


def _refuse_order(arms: list[int], candidates: Candidates, projection: Projection) -> None:
    """Refuse arms that are not the best by the projected means, best first, where these are unique.

    That arms without a unique mean belong where they are is left to the evidence.
    """
    means = projection.means
    tied = TIED * float(np.max(means) - np.min(means))
    rest = [k for k in range(candidates.K) if k not in arms and projection.unique[k]]
    best = [max(rest, key=lambda k: float(means[k]))] if rest else []
    for better, worse in pairwise([*(k for k in arms if projection.unique[k]), *best]):
        if not means[better] >= means[worse] - tied:
            raise Failure(
                "decision.answer must be the best candidates by projection.means, best first; "
                f"{candidates.labels[worse]!r} is better than {candidates.labels[better]!r}"
            )
