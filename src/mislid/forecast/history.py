"""Measurements of a study, and the evidence of its pairs over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector
from mislid.certificate import proof
from mislid.geometry.duality import Pairs, all_pairs, top_arms, unstructured_bounds
from mislid.stopping.intervals import bounded_intervals, mean_intervals, unknown_intervals
from mislid.stopping.noise import scatter_after, scatter_over_time
from mislid.stopping.spread import spread_of
from mislid.study.candidates import Candidates
from mislid.study.events import Decided
from mislid.study.replay import new_engine, stand_ins
from mislid.study.settings import EQUAL, GUARANTEED, KNOWN, UNKNOWN, Settings

Arms = NDArray[np.int64]

# Times at which the closest pairs are looked at, and all of them.
FINE, COARSE = 60, 30
CLOSEST = 10
# Pairs drawn, and pairs of which these are chosen: a solve takes about a third of a millisecond.
DRAWN, SOLVED = 400, 2_000
# How a pair is told apart, in the order of the families.
PROOFS = BY_TWO_ARMS, BY_FEATURES, BY_ALL_ARMS = "by its two arms", "by the features", "by all arms"


@dataclass(frozen=True, eq=False)
class Record:
    """What was asked, measured and decided, in numbers; `Overview` says what the fields are."""

    settings: Settings
    candidates: Candidates
    arms: Arms
    values: Vector
    decision: Decided | None
    settled: dict[tuple[int, int], int]
    rules: tuple[Any, Any]

    @property
    def K(self) -> int:
        """Number of candidates."""
        return self.candidates.K

    @cached_property
    def labels(self) -> list[str]:
        """The candidates' labels as texts (K,)."""
        return [str(label) for label in self.candidates.labels]

    @property
    def samples(self) -> int:
        """Number of measurements."""
        return self.arms.size

    @cached_property
    def noise(self) -> Vector:
        """Standard deviations (K,) of a measurement of every candidate.

        Half of the range where values have one; 1 where the noise is not known.
        """
        return self.settings.deviations(self.K)

    @cached_property
    def counts(self) -> Vector:
        """Measurements of every candidate (K,)."""
        return self._counts_after(self.samples)

    @cached_property
    def means(self) -> Vector:
        """Means (K,) of every candidate's measurements; not a number where it has none."""
        with np.errstate(invalid="ignore"):
            means: Vector = self._sums_after(self.samples) / self.counts
        return means

    @cached_property
    def intervals(self) -> Matrix:
        """Lower and upper ends (K, 2) of intervals for the true means.

        All of them hold at once and at all times, with probability at least 1 - delta: those of
        `Study.estimates`. Infinite where nothing is known.
        """
        means: Vector = self.settings.sign * np.nan_to_num(self.means)
        scatter = self._scatter_after(self.samples)
        return intervals_of(self.settings, self.candidates, self.counts, means, scatter)

    @cached_property
    def _scatter(self) -> Vector | None:
        noise = self.settings.noise_model, self.settings.oriented_range
        return scatter_over_time(*noise, self.arms, self.settings.sign * self.values)

    @cached_property
    def half_widths(self) -> Vector:
        """Half the widths of the intervals (K,), which need not be centred at the means."""
        low, high = self.intervals.T
        widths: Vector = 0.5 * (high - low)
        return widths

    def _counts_after(self, samples: int) -> Vector:
        """Measurements of every candidate (K,) among the first so many."""
        return np.bincount(self.arms[:samples], minlength=self.K).astype(np.float64)

    def _sums_after(self, samples: int) -> Vector:
        """Sums of their values (K,), in the user's sign."""
        sums = np.bincount(self.arms[:samples], self.values[:samples], self.K)
        return sums.astype(np.float64)

    def _scatter_after(self, samples: int) -> Vector | None:
        """What `Engine.scatter` has of them (K,); None where the noise model does not ask."""
        return scatter_after(self._scatter, self.arms, samples, self.K)


def intervals_of(
    settings: Settings,
    candidates: Candidates,
    counts: Vector,
    means: Vector,
    scatter: Vector | None,
) -> Matrix:
    """Intervals (K, 2) in the user's sign, by means (K,) in the sign in which more is better."""
    model, delta = candidates.model(settings.misspecification), settings.delta
    apart = np.zeros(candidates.K) if scatter is None else scatter
    if settings.noise_model == UNKNOWN:
        ends = unknown_intervals(counts, means, apart, delta)
    elif settings.oriented_range is not None:
        known = settings.noise_model, settings.oriented_range
        ends = bounded_intervals(model, *known, counts, means, apart, delta)
    else:
        spread = spread_of(settings.noise_model, counts, means, scatter)
        noise = settings.deviations(candidates.K)
        ends = mean_intervals(model, counts, means, noise, delta, spread)
    return ends if settings.sign > 0 else 0.0 - ends[:, ::-1]  # no -0.0


@dataclass(frozen=True, eq=False)
class Moment:
    """Estimates after the first measurements.

    More is better: where a study minimizes, values have the opposite sign here.

    Attributes
    ----------
    samples, counts
        How many measurements, in all and of every candidate (K,).
    means, weights
        Of every candidate (K,): the mean of its values, and counts over variances.
    projected
        The model's estimates (K,).
    """

    samples: int
    counts: Vector
    means: Vector
    weights: Vector
    projected: Vector


@dataclass(frozen=True, eq=False)
class EvidenceOverTime:
    """How the evidence of pairs grew, from measurement to measurement.

    A pair is told apart as soon as one of several proofs has what it needs.

    Attributes
    ----------
    times, pairs
        Numbers of measurements (n,), and challenger and incumbent (p, 2).
    proofs
        What the f proofs are called.
    statistics, thresholds
        Evidence, and what is needed, (f, n, p); infinite where a proof has nothing to say.
    since
        From how many measurements on a pair has been settled, for good (p,); infinite where it is
        open.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b"], m=1, noise=0.2)
    >>> study.add_observations([("a", 0.6), ("b", 0.9)] * 3)
    >>> evidence = study.overview().history.closest
    >>> proof, statistics, thresholds = evidence.of_pair(0)
    >>> print(f"{statistics[-1]:.2f} of {thresholds[-1]:.2f}")
    1.69 of 4.29
    """

    times: Vector
    pairs: Pairs
    proofs: tuple[str, ...]
    statistics: Matrix
    thresholds: Matrix
    since: Vector

    @cached_property
    def shares(self) -> Matrix:
        """Statistics as shares of their thresholds (n, p), by the best of the proofs.

        At least 1 for pairs that are settled.
        """
        shares: Matrix = np.fmax.reduce(self._ratios)
        return np.where(self.times[:, None] >= self.since, np.fmax(shares, 1.0), shares)

    @cached_property
    def _ratios(self) -> Matrix:
        ratios: Matrix = self.statistics / self.thresholds
        return ratios

    def of_pair(self, p: int) -> tuple[str, Vector, Vector]:
        """The proof that is nearest to its threshold after the last measurement.

        Parameters
        ----------
        p
            Which of the pairs.

        Returns
        -------
        tuple
            The proof's name, its statistics (n,) and its thresholds (n,).

        Raises
        ------
        IndexError
            If there is no such pair.
        """
        best = int(np.argmax(np.nan_to_num(self._ratios[:, -1, p])))
        return self.proofs[best], self.statistics[best, :, p], self.thresholds[best, :, p]


@dataclass(frozen=True, eq=False)
class History:
    """Evidence for an answer, as it grew.

    `Overview.history` gives it.

    Attributes
    ----------
    answer
        The m arms.
    closest
        Of its closest pairs, in detail. The first pair is the one that limits the study.
    others
        Of other pairs, now and then.
    undrawn
        How many pairs are further from the threshold than all of these.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.2)
    >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.6)] * 3)
    >>> history = study.overview().history
    >>> history.answer, history.closest.pairs.tolist(), round(history.share, 2)
    ((1,), [[2, 1], [0, 1]], 0.34)
    """

    answer: tuple[int, ...]
    closest: EvidenceOverTime
    others: EvidenceOverTime
    undrawn: int

    @property
    def share(self) -> float:
        """The evidence for the answer: the least of all pairs, as a share of what is needed."""
        return float(self.closest.shares[-1, 0])


class Rule:
    """A study's rules at any number of its first measurements."""

    def __init__(self, record: Record) -> None:
        settings = record.settings
        self.record = record
        self._engine = new_engine(settings, record.candidates, *stand_ins(settings, record.rules))

    @property
    def has_evidence(self) -> bool:
        """Whether evidence over time is known: that of `guaranteed`, where values need no search.

        Where arms have noise of their own that is not known, there is no distance and no price, but
        a search over all nulls.
        """
        settings = self.record.settings
        return settings.stopping == GUARANTEED and settings.noise_model in (KNOWN, EQUAL)

    @cached_property
    def first(self) -> int | None:
        """The number of measurements from which on there is an estimate; None before that."""
        order = [np.flatnonzero(self.record.arms == arm)[:1] for arm in self._engine.design]
        seen = np.concatenate(order)
        return int(seen.max()) + 1 if seen.size == len(order) else None

    def after(self, samples: int) -> Moment:
        """Estimates after so many measurements, at least `first`."""
        counts, engine = self.record._counts_after(samples), self._engine
        # The rule must not spare work by what it remembers from another time.
        sums = self.record.settings.sign * self.record._sums_after(samples)
        engine.reset(counts, sums, scatter=self.record._scatter_after(samples))
        engine.judge(test=False)
        return Moment(samples, counts, engine.means, engine.weights, engine.estimate)

    def evidence(self, times: list[int], pairs: Pairs) -> EvidenceOverTime:
        """Evidence of pairs (p, 2) after these numbers of measurements (n,)."""
        shown = [self._by_families(samples, pairs) for samples in times]
        statistics = np.stack([one for one, _ in shown], axis=1)
        thresholds = np.stack([other for _, other in shown], axis=1)
        at = np.array(times, dtype=np.float64)
        return EvidenceOverTime(at, pairs, PROOFS, statistics, thresholds, self._since(pairs))

    def _since(self, pairs: Pairs) -> Vector:
        """From when on pairs were settled (p,), infinite where they are not."""
        known, decision = self.record.settled, self.record.decision
        last = math.inf if decision is None else decision.samples
        return np.array([min(known.get((i, j), math.inf), last) for i, j in pairs.tolist()])

    def _by_families(self, samples: int, pairs: Pairs) -> tuple[Matrix, Matrix]:
        """How far the pairs are from a tie by every family (3, p), and how far they have to be.

        All arms are looked at only for pairs that nothing else settles: that takes long.
        """
        sums = self.record.settings.sign * self.record._sums_after(samples)
        scatter = self.record._scatter_after(samples)
        moment = proof.Moment(self._claim, self.record._counts_after(samples), sums, scatter)
        costs, evidence = moment.costs(pairs), moment.closed_forms(pairs)
        statistics, thresholds = np.zeros((3, len(pairs))), np.full((3, len(pairs)), math.inf)
        statistics[:2] = costs
        # Where no model reverses a pair both are infinite, and there is no price.
        prices = np.where(evidence < math.inf, costs - evidence, 0.0)
        thresholds[:2] = self._claim.families.level + prices
        reached = np.fmax.reduce(costs / thresholds[:2])
        open_ = np.flatnonzero(reached < 1.0)
        if open_.size and 0.0 < self._claim.model.misspecification < math.inf:
            hardest_first = open_[np.argsort(reached[open_], kind="stable")]
            found = moment.costs_of_all_arms(pairs[hardest_first])
            statistics[2, hardest_first], thresholds[2, hardest_first] = found
        return statistics, thresholds

    @cached_property
    def _claim(self) -> proof.Claim:
        return proof.Claim(self.record.settings, self.record.candidates)


def best_of(record: Record, now: Moment) -> tuple[int, ...]:
    """The m candidates that the estimates prefer, best first."""
    top = top_arms(now.projected, record.settings.m)
    return tuple(top[np.argsort(-now.projected[top], kind="stable")].tolist())


def history(rule: Rule, answer: tuple[int, ...]) -> History | None:
    """How the evidence for an answer grew until it was enough; None where nobody knows."""
    record, first = rule.record, rule.first
    if first is None or not rule.has_evidence:
        return None
    last = record.samples if record.decision is None else record.decision.samples
    every = all_pairs(record.K, np.sort(np.array(answer, dtype=np.int64)))
    asked = _promising(rule, every, last)
    order = _hardest_first(rule.evidence([last], asked))[:DRAWN]
    closest, others = asked[order[:CLOSEST]], asked[order[CLOSEST:]]
    return History(
        answer,
        rule.evidence(grid(first, last, FINE), closest),
        rule.evidence(grid(first, last, COARSE), others),
        len(every) - len(order),
    )


def _hardest_first(evidence: EvidenceOverTime) -> NDArray[np.int64]:
    """Open pairs by their shares now, then settled ones, the last one first.

    What a pair has that was settled long ago may be less than enough by now, and limits nothing.
    """
    now, settled = evidence.shares[-1], evidence.since <= evidence.times[-1]
    shares = np.where(np.isnan(now), math.inf, now)
    return np.lexsort((shares, np.where(settled, -evidence.since, 0.0), settled))


def _promising(rule: Rule, pairs: Pairs, samples: int) -> Pairs:
    """Those pairs that are hardest to tell apart by their two arms alone, where there are many."""
    if len(pairs) <= SOLVED:
        return pairs
    now = rule.after(samples)
    alone = unstructured_bounds(now.projected, now.weights, pairs, rule.record.settings.tolerance)
    return pairs[np.sort(np.argsort(alone, kind="stable")[:SOLVED])]


def grid(first: int, last: int, most: int) -> list[int]:
    """At most `most` whole numbers from first to last, both included.

    >>> grid(3, 10, 4)
    [3, 5, 8, 10]
    """
    even = np.linspace(first, last, min(most, last - first + 1))
    return [round(number) for number in even.tolist()]
