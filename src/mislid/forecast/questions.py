"""Other questions that the same data answer, at all times at once.

The best answer so far is judged by the evidence of the study's own question. Thresholds and ranks
follow from the intervals of all means, so all of them hold together, for all thresholds and all n,
with probability 1 - delta, if what was declared is right: one may ask whatever one likes, and
choose by what one sees. Intervals have an event of their own, see docs/checks.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mislid._formatting import as_frame
from mislid._validation import Vector, as_number
from mislid.errors import ProblemError
from mislid.forecast.evidence_summary import Claims
from mislid.forecast.sensitivity import proved_range
from mislid.study.results import Label, PlainRecord

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class ResultNow(PlainRecord):
    """The best answer so far, and how sure it is.

    Attributes
    ----------
    answer
        The m candidates of the decision or, before there is one, of the estimates, best first;
        empty before there is an estimate.
    p_value
        If the answer is wrong, this is ever at most p with probability at most p, for every p,
        however often one looks. 1 where the data contradict what was declared.
    pairs
        The pairs (challenger, incumbent) that are not told apart at the study's error rate yet,
        hardest first.
    samples
        Measurements by now.
    largest, smallest
        The answer is proved for every misspecification up to `largest` (None: for none), and the
        data refute any below `smallest`. None and 0 without features.
    contradicted
        Whether the data contradict what was declared.
    """

    answer: tuple[Label, ...]
    p_value: float
    pairs: tuple[tuple[Label, Label], ...]
    samples: int
    largest: float | None
    smallest: float
    contradicted: bool

    @property
    def statement(self) -> str:
        """All of it in a sentence."""
        if not self.answer:
            return "there is no estimate yet"
        names = ", ".join(map(str, self.answer))
        if self.contradicted:
            return f"best so far: {names}; nothing is proven, the data contradict the declaration"
        words = f"best so far: {names}, with an anytime p-value of {self.p_value:.3g}"
        if self.pairs:
            words += f"; {len(self.pairs)} pairs are open"
        return words


@dataclass(frozen=True, slots=True)
class Threshold(PlainRecord):
    """Which candidates are proved to be on which side of a threshold.

    Attributes
    ----------
    threshold, above, below, open
        A value; candidates whose means are proved to be above it, below it, and the others, those
        that are farthest from it first.
    """

    threshold: float
    above: tuple[Label, ...]
    below: tuple[Label, ...]
    open: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Ranking(PlainRecord):
    """The part of the order of all candidates that is proved.

    Attributes
    ----------
    order
        All candidates, best first by their estimates.
    ranks
        For each of them, in this order, the best and the worst place that it may have.
    tops
        Every n for which the n first of `order` are proved to be the n best.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
    >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.84)] * 5)
    >>> study.ranking().to_frame().values.tolist()
    [['b', 1, 2], ['c', 1, 2], ['a', 3, 3]]
    """

    order: tuple[Label, ...]
    ranks: tuple[tuple[int, int], ...]
    tops: tuple[int, ...]

    def to_frame(self) -> DataFrame:
        """The places.

        Returns
        -------
        pandas.DataFrame
            A row for every candidate, best first: label, and the best and the worst place that it
            may have.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        rows = [(label, *places) for label, places in zip(self.order, self.ranks, strict=True)]
        return as_frame(rows, ("label", "best", "worst"))


def result_now(claims: Claims, contradicted: bool) -> ResultNow:
    """The best answer so far."""
    labels, answer = claims.candidates.labels, claims.answer
    if not answer:
        return ResultNow((), 1.0, (), claims.arms.size, None, 0.0, contradicted)
    structured = claims.engine.question.structured
    evidence = claims.pairs_of(answer, structured)
    level = evidence.data.families.level
    found = evidence.at(claims.declared)
    order = np.argsort(found, kind="stable")
    # Where what was declared is refuted, nothing follows from it.
    usable = structured and not contradicted
    price = claims.settings.error_rate / claims.settings.delta  # of questions that were changed
    largest, smallest = proved_range(claims) if usable else (None, 0.0)
    return ResultNow(
        answer=tuple(labels[arm] for arm in answer),
        p_value=1.0 if contradicted else min(1.0, price * math.exp(-float(found[order[0]]))),
        pairs=tuple(
            (labels[evidence.pairs[n, 0]], labels[evidence.pairs[n, 1]])
            for n in order.tolist()
            if found[n] < level
        ),
        samples=claims.arms.size,
        largest=largest,
        smallest=smallest,
        contradicted=contradicted,
    )


def on_sides(claims: Claims, threshold: float) -> Threshold:
    """Which candidates are above a threshold, and which below, by their intervals."""
    at = as_number(threshold, "threshold", low=-math.inf, high=math.inf)
    ends, labels = claims.intervals(), claims.candidates.labels
    above, below = ends[:, 0] > at, ends[:, 1] < at

    def named(chosen: NDArray[np.bool_], distances: Vector) -> tuple[Label, ...]:
        arms = np.flatnonzero(chosen)
        return tuple(labels[k] for k in arms[np.argsort(-distances[arms], kind="stable")])

    known, middles = np.isfinite(ends).all(axis=1), np.zeros(len(ends))
    middles[known] = np.abs(ends[known].mean(axis=1) - at)
    return Threshold(
        at,
        named(above, ends[:, 0] - at),
        named(below, at - ends[:, 1]),
        named(~above & ~below, middles),
    )


def ranking(claims: Claims) -> Ranking:
    """The places that candidates may have, by their intervals."""
    if not claims.engine.is_estimated:
        raise ProblemError("ranking needs an estimate: measure the first design first")
    sign, labels = claims.settings.sign, claims.candidates.labels
    ends = claims.intervals()
    low, high = (ends[:, 0], ends[:, 1]) if sign > 0.0 else (-ends[:, 1], -ends[:, 0])
    order = np.argsort(-claims.engine.estimate, kind="stable")
    first = 1 + (low[None, :] > high[:, None]).sum(axis=1)  # so many are surely better
    last = high.size - (high[None, :] < low[:, None]).sum(axis=1)
    rest = np.maximum.accumulate(high[order][::-1])[::-1]
    inner = np.minimum.accumulate(low[order])
    tops = [n for n in range(1, high.size) if inner[n - 1] > rest[n]]
    return Ranking(
        order=tuple(labels[k] for k in order),
        ranks=tuple((int(first[k]), int(last[k])) for k in order),
        tops=tuple(tops),
    )


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
