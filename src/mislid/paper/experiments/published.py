"""Published runs, and comparisons with ours.

The statistics come from the authors' result files (clreda/misspecified-top-m, MIT licence).
Standard deviations divide by n - 1, as the paper's do.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mislid.errors import MissingDataError
from mislid.paper.datasets.download import published_file
from mislid.simulation.replicate import Row, summarise

RUNS = "published/runs.csv"
# Confidence of intervals; a test rejects at 1 - LEVEL.
LEVEL = 0.99
Runs = dict[tuple[str, str], list[Row]]


@dataclass(frozen=True)
class Statistics:
    """Statistics of several runs.

    Attributes
    ----------
    runs
        Number of runs.
    mean, std
        Of their samples.
    wrong
        Number of wrong answers.
    seconds
        The mean of their times; None where it was not published.
    unanswered
        Runs that gave up, which makes the mean a lower bound.
    """

    runs: int
    mean: float
    std: float
    wrong: int
    seconds: float | None
    unanswered: int = 0

    @property
    def standard_error(self) -> float:
        """Of the mean; infinite from a single run."""
        return self.std / math.sqrt(self.runs) if self.runs > 1 else math.inf


def statistics_of(rows: Sequence[Row]) -> Statistics:
    """The statistics of single runs, of which there is at least one.

    Examples
    --------
    >>> statistics_of([Row(0, 10, True, "stopped", 0.1), Row(1, 30, False, "stopped", 0.3)])
    Statistics(runs=2, mean=20.0, std=14.142..., wrong=1, seconds=0.2, unanswered=0)
    """
    summary, runs = summarise(rows), len(rows)
    return Statistics(
        runs,
        summary.mean_samples,
        summary.std_samples * math.sqrt(runs / max(runs - 1, 1)),
        sum(row.correct is False for row in rows),
        summary.mean_seconds,
        sum(row.correct is None for row in rows),
    )


@cache
def published_statistics() -> dict[tuple[str, str], Statistics]:
    """The statistics of the published runs, by case and method.

    Examples
    --------
    >>> published_statistics()["A_eps5", "LinGapE"]
    Statistics(runs=500, mean=552.756, std=536.166, wrong=473, seconds=1.46, unanswered=0)
    """
    text = files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    return {
        (row["case"], row["method"]): Statistics(
            int(row["runs"]),
            float(row["mean_samples"]),
            float(row["std_samples"]),
            int(row["wrong"]),
            float(row["seconds"]) if row["seconds"] else None,
        )
        for row in csv.DictReader(text.splitlines())
    }


def published_runs(data: str | os.PathLike[str] | None) -> Runs:
    """The single published runs by case and method, for pictures; none where the file is missing.

    `data` is the data directory; by default that of MISLID_DATA, else the cache.
    """
    try:
        content = published_file(RUNS, data).read_bytes()
    except MissingDataError:
        return {}
    found: Runs = {}
    for line in csv.DictReader(content.decode().splitlines()):
        rows = found.setdefault((line["experiment"], line["method"]), [])
        samples, right = int(line["samples"]), line["error"] == "0"
        rows.append(Row(len(rows), samples, right, "stopped", float(line["seconds"])))
    return found


@dataclass(frozen=True)
class Comparison:
    """Ours less the published.

    `low` and `high` are the ends of Welch's interval for the difference of the mean samples,
    `relative` is the difference as a share of the published mean, and `p_wrong` the probability of
    error counts as far apart as these if both had one rate (Fisher's exact test).
    """

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
    """Compare samples and wrong answers.

    Examples
    --------
    >>> ours = Statistics(500, 579.0, 350.0, 0, 0.1)
    >>> found = compare(ours, Statistics(500, 577.0, 348.0, 0, 13.0))
    >>> round(found.low), round(found.high), found.p_wrong
    (-55, 59, 1.0)
    """
    from scipy.stats import fisher_exact

    difference, half = ours.mean - published.mean, _welch_half_width(ours, published)
    table = [[sample.wrong, sample.runs - sample.wrong] for sample in (ours, published)]
    return Comparison(
        relative=difference / published.mean,
        low=difference - half,
        high=difference + half,
        p_wrong=float(fisher_exact(table).pvalue),
    )


def _welch_half_width(first: Statistics, second: Statistics) -> float:
    """Half the length of Welch's interval for a difference of means; infinite from single runs."""
    from scipy.special import stdtrit

    if min(first.runs, second.runs) < 2:
        return math.inf
    parts = [sample.std**2 / sample.runs for sample in (first, second)]
    total = sum(parts)
    if total == 0.0:
        return 0.0
    freedom = total**2 / (parts[0] ** 2 / (first.runs - 1) + parts[1] ** 2 / (second.runs - 1))
    return float(stdtrit(freedom, (1.0 + LEVEL) / 2.0)) * math.sqrt(total)


def rate_interval(wrong: int, runs: int) -> tuple[float, float]:
    """Exact interval for an error rate (Clopper and Pearson 1934).

    Examples
    --------
    >>> low, high = rate_interval(0, 500)
    >>> low, round(high, 4)
    (0.0, 0.0105)
    """
    from scipy.stats import binomtest

    found = binomtest(wrong, runs).proportion_ci(LEVEL, method="exact")
    return float(found.low), float(found.high)
