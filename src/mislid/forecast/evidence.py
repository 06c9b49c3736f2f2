"""Evidence for pairs, confidence intervals, and the statements that follow from them.

The p-value of the best answer so far uses the evidence for the study's question. Thresholds and
ranks follow from the intervals of all means. They hold simultaneously, at all times, with
probability 1 - delta, if the declarations are correct. The intervals rest on a separate event: see
docs/checks.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector, as_number
from mislid.errors import ProblemError
from mislid.stopping.assumptions import Residuals
from mislid.stopping.equal import spread_of
from mislid.stopping.evidence import Families, Pairs, families_of
from mislid.stopping.intervals import intervals_of
from mislid.stopping.noise import by_own_values, scatter_after, scatter_over_time
from mislid.stopping.pairs import AnswerEvidence, Standing
from mislid.study.results import Label, PlainRecord
from mislid.study.settings import EQUAL, GUARANTEED, KNOWN

if TYPE_CHECKING:
    from mislid.forecast.overview import Overview

# The most earlier times at which the evidence for two arms is computed, besides those at which
# pairs were settled.
MOST_LOOKS = 100


def intervals(overview: Overview) -> Matrix:
    """Confidence intervals (K, 2) for all means, with the user's sign."""
    engine = overview.engine
    ends = intervals_of(engine.question, overview.counts, engine.means, engine.scatter)
    return ends if overview.settings.sign > 0 else 0.0 - ends[:, ::-1]  # no -0.0


def pair_evidence(
    overview: Overview, answer: tuple[int, ...], *, structured: bool
) -> AnswerEvidence:
    """Evidence for the pairs of an answer, with or without (`structured`) the features.

    A pair that was settled with the study's M stays settled: for every misspecification if two
    arms settled it, for those up to the declared one if the features did. If the noise is unknown,
    it stays settled only up to the declared misspecification.
    """
    engine = overview.engine
    question = engine.question
    families = families_of(question.K, question.m, structured, question.delta, question.noise)
    data = _standing(overview, families, overview.counts, engine.means, engine.scatter)
    found = AnswerEvidence(data, answer)
    if structured != question.structured:
        return found
    settled = _settled(overview, found.pairs)
    known = np.where(settled > 0, families.level, -math.inf)
    always = None
    if data.own_values is None:  # with evidence from individual values it would take too long
        times = np.union1d(_some(overview.looks), settled[settled > 0])
        always = np.full(len(found.pairs), -math.inf)
        for earlier in _standings(overview, families, times.tolist()):
            always = np.maximum(always, earlier.by_two_arms(found.pairs))
    return AnswerEvidence(data, answer, known, question.model.misspecification, always)


def _standing(
    overview: Overview, families: Families, counts: Vector, means: Vector, scatter: Vector | None
) -> Standing:
    question = overview.engine.question
    # The engine's weights are no use here: for some published rules they include pseudo-counts.
    weights, own = counts / question.noise**2, None
    if question.noise_model not in (KNOWN, EQUAL):
        noise, apart = (question.noise_model, question.reward_range), np.zeros(question.K)
        data = counts, means, apart if scatter is None else scatter
        own = partial(by_own_values, *noise, *data, tolerance=question.tolerance)
    spread = spread_of(question.noise_model, counts, means, scatter)
    return Standing(question.model, families, question.tolerance, weights, means, own, spread)


def _standings(overview: Overview, families: Families, times: Iterable[int]) -> Iterator[Standing]:
    """The data after each of the given numbers of measurements."""
    question, arms = overview.engine.question, overview.arms
    values, K = overview.settings.sign * overview.values, question.K
    running = scatter_over_time(question.noise_model, question.reward_range, arms, values)
    for time in times:
        counts = np.bincount(arms[:time], minlength=K).astype(np.float64)
        means = np.bincount(arms[:time], values[:time], K) / np.maximum(counts, 1.0)
        scatter = scatter_after(running, arms, time, K)
        yield _standing(overview, families, counts, means, scatter)


def _settled(overview: Overview, pairs: Pairs) -> NDArray[np.int64]:
    """Numbers of measurements (n,) after which the pairs were settled; 0 for open pairs."""
    settled, verdict, least = overview.engine.settled(), overview.verdict, 0
    if verdict is not None and overview.engine.stopping.name == GUARANTEED:
        least = verdict.samples if set(verdict.answer) == set(pairs[:, 1].tolist()) else 0
    return np.array([settled.get((i, j), least) for i, j in pairs.tolist()], dtype=np.int64)


def _some(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most `MOST_LOOKS` of the times, on a geometric grid."""
    if times.size <= MOST_LOOKS:
        return times
    return times[np.unique(np.geomspace(1, times.size, MOST_LOOKS).astype(np.int64)) - 1]


def proved_range(overview: Overview) -> tuple[float | None, float]:
    """The largest misspecification for which the leaders are proved, and the least not refuted."""
    engine, delta = overview.engine, overview.settings.delta
    if not overview.leaders or not np.all(engine.counts[engine.design] > 0):
        return None, 0.0
    # Features have weight here, even if the study's M gives them none.
    proofs = pair_evidence(overview, overview.leaders, structured=True)
    return proofs.reach(-math.log(delta)), residuals(overview).least(delta)


def residuals(overview: Overview) -> Residuals:
    """Residuals of the means from the linear model, for tests of the misspecification."""
    engine = overview.engine
    question, data = engine.question, (overview.counts, engine.means)
    spread = spread_of(question.noise_model, *data, engine.scatter)
    return Residuals.of(question.model, *data, question.noise, spread)


@dataclass(frozen=True, slots=True)
class ResultNow(PlainRecord):
    """The best answer so far and its anytime p-value.

    Attributes
    ----------
    answer
        The decided answer or, before the decision, the m candidates with the best estimates, best
        first. Empty before there are estimates.
    p_value
        An anytime-valid p-value: if the answer is wrong, the probability that it ever falls to p
        or below is at most p, for every p, no matter how often one looks. 1 if the data contradict
        the declarations.
    pairs
        The pairs (challenger, incumbent) that the data do not yet distinguish at the study's error
        rate, hardest first.
    samples
        Number of measurements.
    contradicted
        Whether the data contradict the declarations.
    """

    answer: tuple[Label, ...]
    p_value: float
    pairs: tuple[tuple[Label, Label], ...]
    samples: int
    contradicted: bool


def result_now(overview: Overview) -> ResultNow:
    """The best answer so far."""
    answer, contradicted = overview.leaders, bool(overview.refuted)
    if not answer:
        return ResultNow((), 1.0, (), overview.samples, contradicted)
    question, settings = overview.engine.question, overview.settings
    proofs = pair_evidence(overview, answer, structured=question.structured)
    found = proofs.at(question.model.misspecification)
    order = np.argsort(found, kind="stable")
    price = settings.error_rate / settings.delta  # for candidates that were added or left
    level, labels = proofs.data.families.level, overview.candidates.labels
    open_pairs = proofs.pairs[order[found[order] < level]].tolist()
    return ResultNow(
        answer=overview.names(answer),
        p_value=1.0 if contradicted else min(1.0, price * math.exp(-float(found[order[0]]))),
        pairs=tuple((labels[i], labels[j]) for i, j in open_pairs),
        samples=overview.samples,
        contradicted=contradicted,
    )


@dataclass(frozen=True, slots=True)
class Threshold(PlainRecord):
    """The candidates that are proved to be above or below a threshold.

    Attributes
    ----------
    threshold
        The threshold.
    above, below, open
        The candidates whose means are proved to be above it, those proved to be below it, and the
        others. Each group lists the clearest cases first.
    """

    threshold: float
    above: tuple[Label, ...]
    below: tuple[Label, ...]
    open: tuple[Label, ...]


def on_sides(overview: Overview, threshold: float) -> Threshold:
    """Candidates above and below a threshold, according to their intervals."""
    at = as_number(threshold, "threshold", low=-math.inf, high=math.inf)
    low, high = overview.intervals.T
    order = np.argsort(-np.maximum(low - at, at - high), kind="stable")
    above, below = low > at, high < at
    sides = (overview.names(order[one[order]]) for one in (above, below, ~(above | below)))
    return Threshold(at, *sides)


@dataclass(frozen=True, slots=True)
class Ranking(PlainRecord):
    """The part of the order of all candidates that is proved.

    Attributes
    ----------
    order
        All candidates, best first by their estimates.
    ranks
        For each candidate of `order`, the best and the worst rank that the data allow.
    tops
        Every n for which the first n of `order` are proved to be the n best.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
    >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.84)] * 5)
    >>> study.ranking()
    Ranking(order=('b', 'c', 'a'), ranks=((1, 2), (1, 2), (3, 3)), tops=(2,))
    """

    order: tuple[Label, ...]
    ranks: tuple[tuple[int, int], ...]
    tops: tuple[int, ...]


def ranking(overview: Overview) -> Ranking:
    """The ranks that the candidates' intervals allow."""
    engine = overview.engine
    if not engine.is_estimated:
        raise ProblemError("ranking needs an estimate: measure the first design first")
    low, high = np.sort(overview.settings.sign * overview.intervals).T
    order = np.argsort(-engine.estimate, kind="stable")
    first = 1 + (low[None, :] > high[:, None]).sum(axis=1)  # 1 + number of surely better ones
    last = high.size - (high[None, :] < low[:, None]).sum(axis=1)
    rest = np.maximum.accumulate(high[order][::-1])[::-1]
    inner = np.minimum.accumulate(low[order])
    return Ranking(
        order=overview.names(order),
        ranks=tuple((int(first[k]), int(last[k])) for k in order),
        tops=tuple(n for n in range(1, high.size) if inner[n - 1] > rest[n]),
    )


@dataclass(frozen=True, slots=True)
class EstimateRow(PlainRecord):
    """Estimates for one candidate.

    Attributes
    ----------
    label, count, mean
        The candidate, the number of its measurements, and their mean (None before the first).
    lower, upper
        A confidence interval for its true mean. All intervals hold at all times simultaneously with
        probability 1 - delta, if the declared noise and misspecification are correct.
    model, residual
        The mean in the closest model with the declared misspecification, and the empirical mean
        minus that. None without features, or before there is an estimate.
    in_answer
        Whether it is in the answer or, before the decision, among the m best estimates.
    evidence, threshold
        The evidence, in nats, for the weakest of its pairs (None before there is any), and the
        required evidence, ln(1/delta).
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


def estimate_rows(overview: Overview) -> list[EstimateRow]:
    """One row per candidate, in the study's order."""
    arms, candidates = range(overview.K), overview.candidates
    model = overview.estimates if candidates.features is not None else np.full(overview.K, math.nan)
    columns = (
        candidates.labels,
        overview.engine.counts.tolist(),
        _known(overview.means),
        *overview.intervals.T.tolist(),
        _known(model),
        _known(overview.means - model),
        [arm in overview.leaders for arm in arms],
        _known(_weakest(overview)),
        [-math.log(overview.settings.delta) for _ in arms],
    )
    return [EstimateRow(*row) for row in zip(*columns, strict=True)]


def _known(numbers: Vector) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers.tolist()]


def _weakest(overview: Overview) -> Vector:
    """Evidence (K,) for the weakest pair of every arm; nan if there is none."""
    if not overview.leaders:
        return np.full(overview.K, math.nan)
    question, least = overview.engine.question, np.full(overview.K, math.inf)
    proofs = pair_evidence(overview, overview.leaders, structured=question.structured)
    found = proofs.at(question.model.misspecification, proofs.data.families.level)
    for side in proofs.pairs.T:
        np.minimum.at(least, side, found)
    return np.where(least > -math.inf, least, math.nan)
