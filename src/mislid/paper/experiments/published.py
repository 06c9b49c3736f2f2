"""What was published: statistics, which are part of the package, and the single runs.

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

from mislid.errors import FileFormatError
from mislid.paper.datasets import locate
from mislid.simulation.replicate import Row, summarise

RUNS = "published/runs.csv"
_HEADING = ["experiment", "method", "samples", "error", "seconds"]
Runs = dict[tuple[str, str], list[Row]]


@dataclass(frozen=True)
class Statistics:
    """What some runs say together.

    Those of published runs are from their files, or from a printed table.

    Attributes
    ----------
    runs
        How many.
    mean, std
        Of their samples.
    wrong
        Number of wrong answers; None where nobody said.
    seconds
        The mean of their times; None where nobody said.
    unanswered
        Runs that gave up, which makes the mean a lower bound.
    """

    runs: int
    mean: float
    std: float
    wrong: int | None
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
        place = locate(RUNS, data)
    except FileNotFoundError:
        return {}
    lines = csv.reader(place.read_text(encoding="utf-8").splitlines())
    heading = next(lines, [])
    if heading != _HEADING:
        raise FileFormatError(
            f"{str(place)!r} must begin with {','.join(_HEADING)!r}; got {','.join(heading)!r}"
        )
    found: Runs = {}
    for number, line in enumerate(lines, start=2):
        try:
            case, method, samples, error, seconds = line
            rows = found.setdefault((case, method), [])
            rows.append(Row(len(rows), int(samples), error == "0", "stopped", float(seconds)))
        except ValueError:
            raise FileFormatError(
                f"{str(place)!r} must hold published runs; got {','.join(line)!r} in line {number}"
            ) from None
    return found
