"""Costs of measurements, and arms that cannot be measured any more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mislid._validation import Vector, as_costs
from mislid.errors import ProblemError
from mislid.geometry.spanner import spanner
from mislid.model import Model
from mislid.question import Question


def as_cost(question: Question, algorithm: Any, cost: ArrayLike) -> Vector:
    """Costs (K,), infinite where nothing can be measured; refuses rules that do not read them.

    They are divided by the least one, so that their unit means nothing.
    """
    given = as_costs(cost, question.K, allow_inf=True)
    finite = given[np.isfinite(given)]
    if not finite.size:
        raise ProblemError("cost must be finite for an arm: nothing else can be measured")
    if np.any(finite != finite[0]) and not getattr(algorithm, "reads_costs", False):
        raise ProblemError(
            "cost must be the same for all arms with an algorithm that does not look at it; got "
            f"{float(finite.min()):g} to {float(finite.max()):g} and "
            f"{getattr(algorithm, 'name', type(algorithm).__name__)!r}. 'mislid' does"
        )
    return given / finite.min()


def first_arms(model: Model, basis: NDArray[np.int64], can: NDArray[np.int64]) -> NDArray[np.int64]:
    """The arms to measure first: the basis or, where some of it cannot be measured, others too."""
    if np.isin(basis, can).all():
        return basis
    others = can[spanner(Model(model.features[can], math.inf))] if can.size > 1 else can
    return np.unique(np.concatenate([basis[np.isin(basis, can)], others]))
