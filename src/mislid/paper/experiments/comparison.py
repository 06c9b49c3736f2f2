"""Two samples of runs side by side: means by Welch's interval, error rates by exact tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mislid.paper.experiments.published import Statistics

# Confidence of intervals; a test rejects at 1 - LEVEL.
LEVEL = 0.99


@dataclass(frozen=True)
class Comparison:
    """Ours less the published.

    `low` and `high` are the ends of the interval for the difference of the mean samples,
    `relative` is the difference as a share of the published mean, and `p_wrong` the probability of
    error counts as far apart as these if both had one rate (1 where one of them is not known).
    """

    difference: float
    relative: float
    low: float
    high: float
    p_wrong: float

    def agrees(self, margin: float) -> bool:
        """Whether the means differ by less than this share, or by no more than chance explains."""
        return abs(self.relative) <= margin or self.by_chance

    @property
    def by_chance(self) -> bool:
        """Whether the runs leave it open that the means are equal."""
        return self.low <= 0.0 <= self.high

    @property
    def errors_agree(self) -> bool:
        """Whether the runs leave it open that the error rates are equal."""
        return self.p_wrong >= 1.0 - LEVEL


def compare(ours: Statistics, published: Statistics) -> Comparison:
    """Compare samples (Welch's interval) and wrong answers (Fisher's exact test).

    Examples
    --------
    >>> ours = Statistics(500, 579.0, 350.0, 0, 0.1)
    >>> found = compare(ours, Statistics(500, 577.0, 348.0, 0, 13.0))
    >>> round(found.low), round(found.high), found.p_wrong
    (-55, 59, 1.0)
    """
    from scipy.stats import fisher_exact

    difference = ours.mean - published.mean
    half = welch_half_width(ours, published)
    table = [
        [sample.wrong, sample.runs - sample.wrong]
        for sample in (ours, published)
        if sample.wrong is not None
    ]
    return Comparison(
        difference=difference,
        relative=difference / published.mean,
        low=difference - half,
        high=difference + half,
        p_wrong=float(fisher_exact(table).pvalue) if len(table) == 2 else 1.0,
    )


def welch_half_width(first: Statistics, second: Statistics) -> float:
    """Half the length of Welch's interval for a difference of means; infinite from single runs."""
    from scipy.special import stdtrit

    if min(first.runs, second.runs) < 2:
        return math.inf
    parts = [sample.std**2 / sample.runs for sample in (first, second)]
    total = math.fsum(parts)
    if total == 0.0:
        return 0.0
    freedom = total**2 / math.fsum(
        part**2 / (sample.runs - 1) for part, sample in zip(parts, (first, second), strict=True)
    )
    return float(stdtrit(freedom, (1.0 + LEVEL) / 2.0)) * math.sqrt(total)


def rate_interval(wrong: int, runs: int) -> tuple[float, float]:
    """Exact interval for an error rate (Clopper and Pearson 1934).

    Examples
    --------
    >>> low, high = rate_interval(0, 500)
    >>> low, round(high, 4)
    (0.0, 0.0105)
    """
    from scipy.special import betaincinv

    tail = (1.0 - LEVEL) / 2.0
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, runs - wrong + 1, tail))
    high = 1.0 if wrong == runs else float(betaincinv(wrong + 1, runs - wrong, 1.0 - tail))
    return low, high
