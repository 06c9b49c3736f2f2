"""The furthest answer by looking at all that differ in one arm, each by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mislid import closest_alternative
from mislid.question import Question

Floats = NDArray[np.float64]


def good_answers(means: Floats, m: int, tolerance: float) -> list[tuple[int, ...]]:
    """The m best, and all answers that differ in one arm and are good enough."""
    order = [int(k) for k in np.argsort(-means, kind="stable")]
    best, others = order[:m], order[m:]
    found = [tuple(sorted(best))]
    for gone in best:
        for arm in others:
            answer = tuple(sorted({*best, arm} - {gone}))
            outside = [k for k in range(len(means)) if k not in answer]
            if max(means[outside]) <= min(means[list(answer)]) + tolerance:
                found.append(answer)
    return found


def furthest(question: Question, means: Floats, weights: Floats) -> dict[tuple[int, ...], float]:
    """How far the closest alternative of every good answer is; means are within the tube."""
    m, tolerance = question.m, question.tolerance
    return {
        answer: closest_alternative(
            question.model, means, weights, m, tolerance=tolerance, incumbents=answer
        ).cost
        for answer in good_answers(means, m, tolerance)
    }
