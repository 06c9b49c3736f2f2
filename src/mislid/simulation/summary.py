"""What many runs say together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mislid._words import shown
from mislid.errors import ProblemError
from mislid.simulation.job import Row


@dataclass(frozen=True)
class Summary:
    """What many runs say together.

    Attributes
    ----------
    runs
        Their number.
    mean_samples, std_samples
        Mean and standard deviation (dividing by n) of the measurements.
    error_rate
        Share of runs with a wrong answer.
    unanswered
        Share of runs without an answer, which are not wrong.
    mean_seconds
        Mean processor time.
    """

    runs: int
    mean_samples: float
    std_samples: float
    error_rate: float
    unanswered: float
    mean_seconds: float


def summarise(rows: Sequence[Row]) -> Summary:
    """Summarise finished runs.

    Parameters
    ----------
    rows
        What `replicate_rows` returns, or some of it.

    Returns
    -------
    Summary
        Means and shares.

    Raises
    ------
    ProblemError
        Without rows, or where they are something else, such as a DataFrame.

    Examples
    --------
    >>> rows = [Row(0, 10, True, "stopped", 0.1), Row(1, 30, False, "stopped", 0.3)]
    >>> summary = summarise(rows)
    >>> summary.mean_samples, summary.std_samples, summary.error_rate
    (20.0, 10.0, 0.5)
    """
    given: Any = rows
    if not isinstance(given, Sequence) or not all(isinstance(row, Row) for row in given):
        raise ProblemError(f"rows must be a list, as replicate_rows gives it; got {shown(rows)}")
    if not rows:
        raise ProblemError("rows must hold at least one finished run; got none")
    runs = len(rows)
    mean = math.fsum(row.samples for row in rows) / runs
    return Summary(
        runs=runs,
        mean_samples=mean,
        std_samples=math.sqrt(math.fsum((row.samples - mean) ** 2 for row in rows) / runs),
        error_rate=sum(row.correct is False for row in rows) / runs,
        unanswered=sum(row.correct is None for row in rows) / runs,
        mean_seconds=math.fsum(row.seconds for row in rows) / runs,
    )
