"""What is known of every candidate by now: its mean, with an interval, and how sure its side is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._validation import Vector
from mislid.study.claims import Claims
from mislid.study.result import Label, PlainRecord


@dataclass(frozen=True, slots=True)
class EstimateRow(PlainRecord):
    """A candidate by now.

    Attributes
    ----------
    label, count, mean
        The candidate, its measurements and their mean; None before the first.
    lower, upper
        An interval for its true mean. All intervals hold at all times at once with probability
        1 - delta, if the declared noise and misspecification are right.
    model, residual
        What the nearest model of the declared misspecification says, and how far the mean is above
        it; None without features, or before there is an estimate.
    in_answer
        Whether it is in the answer or, before there is one, among the m that are best by now.
    evidence, threshold
        How well it is told from the other side: the evidence, in nats, of the weakest of its pairs,
        and what it has to reach, ln(1/delta). None while there is none.
    """

    label: Label
    count: int
    mean: float | None
    lower: float
    upper: float
    model: float | None
    residual: float | None
    in_answer: bool
    evidence: float | None
    threshold: float


def estimate_rows_of(claims: Claims) -> list[EstimateRow]:
    """A row for every candidate, in their order."""
    engine = claims.engine
    sign, counts = claims.settings.sign, engine.counts
    means: Vector = sign * engine.means
    ends = claims.intervals()
    has_model = claims.candidates.features is not None and engine.is_estimated
    model: Vector = sign * engine.estimate
    evidence, answer = _weakest(claims), frozenset(claims.answer)
    rows = []
    for k in range(claims.candidates.K):
        mean = float(means[k]) if counts[k] else None
        value = float(model[k]) if has_model else None
        rows.append(
            EstimateRow(
                label=claims.candidates.labels[k],
                count=int(counts[k]),
                mean=mean,
                lower=float(ends[k, 0]),
                upper=float(ends[k, 1]),
                model=value,
                residual=None if mean is None or value is None else mean - value,
                in_answer=k in answer,
                evidence=float(evidence[k]) if evidence[k] > -math.inf else None,
                threshold=-math.log(engine.question.delta),
            )
        )
    return rows


def _weakest(claims: Claims) -> Vector:
    """Evidence (K,) of every arm's weakest pair; minus infinity where there is none."""
    K, answer = claims.candidates.K, claims.answer
    if not answer:
        return np.full(K, -math.inf)
    pairs = claims.pairs_of(answer, claims.engine.question.structured)
    found = pairs.at(claims.declared, pairs.data.families.level)
    least = np.full(K, math.inf)
    for side in (0, 1):
        np.minimum.at(least, pairs.pairs[:, side], found)
    return least
