"""Resumable runs of experiments, and their statistics beside the published ones.

The published statistics come from the authors' result files (clreda/misspecified-top-m, MIT
licence). Standard deviations divide by n - 1, as the paper's do.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from mislid._validation import as_count
from mislid.errors import MissingDataError
from mislid.io import as_path
from mislid.model import Instance, load_instance
from mislid.paper.datasets import VARIABLE, locate
from mislid.paper.experiments import DELTA, Case, Experiment, Method
from mislid.simulation.replicate import Row, replicate_rows, summarise

__all__ = ["Comparison", "Outcome", "Result", "Statistics", "compare", "published_statistics"]
__all__ += ["run_experiment", "statistics_of"]

# Called with a case, a method and the numbers of finished and of all runs: before the first run,
# after each, and at the end, also if all runs were on disk already.
Tell = Callable[[Case, Method, int, int], object]
ORIGIN = "the files come from the authors' https://github.com/clreda/misspecified-top-m"
# Confidence of intervals; a test rejects at 1 - LEVEL.
LEVEL = 0.99


class Statistics(NamedTuple):
    """Statistics of runs.

    Attributes
    ----------
    runs
        Number of runs.
    mean, std
        Mean and standard deviation of the samples.
    wrong
        Number of wrong answers.
    seconds
        Mean duration; None if it was not published.
    """

    runs: int
    mean: float
    std: float
    wrong: int
    seconds: float | None


def statistics_of(rows: Sequence[Row]) -> Statistics:
    """Compute the statistics of runs.

    Examples
    --------
    >>> statistics_of([Row(0, 10, True, "stopped", 0.1), Row(1, 30, False, "stopped", 0.3)])
    Statistics(runs=2, mean=20.0, std=14.142..., wrong=1, seconds=0.2)
    """
    summary, runs = summarise(rows), len(rows)
    return Statistics(
        runs,
        summary.mean_samples,
        summary.std_samples * math.sqrt(runs / max(runs - 1, 1)),
        sum(row.correct is False for row in rows),
        summary.mean_seconds,
    )


@cache
def published_statistics() -> dict[tuple[str, str], Statistics]:
    """The statistics of the published runs, by the case and the method's label.

    Examples
    --------
    >>> published_statistics()["A_eps5", "LinGapE"]
    Statistics(runs=500, mean=552.756, std=536.166, wrong=473, seconds=1.46)
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


class Comparison(NamedTuple):
    """Comparison of our statistics with the published ones.

    `low` and `high` are the ends of Welch's interval for our mean samples minus the published,
    `relative` is the difference as a share of the published mean, and `p_wrong` the p-value of
    equal error rates (Fisher's exact test).
    """

    relative: float
    low: float
    high: float
    p_wrong: float

    def agrees(self, margin: float) -> bool:
        """Whether the relative difference is below the margin, or not significant."""
        return abs(self.relative) <= margin or self.low <= 0.0 <= self.high

    @property
    def errors_agree(self) -> bool:
        """Whether equal error rates are not rejected."""
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
    from scipy.special import stdtrit
    from scipy.stats import fisher_exact

    both = ours, published
    parts = [sample.std**2 / sample.runs for sample in both]
    half = math.sqrt(sum(parts))
    if min(ours.runs, published.runs) < 2:
        half = math.inf
    elif half > 0.0:
        squares = [part**2 / (one.runs - 1) for part, one in zip(parts, both, strict=True)]
        half *= float(stdtrit(sum(parts) ** 2 / sum(squares), (1.0 + LEVEL) / 2.0))
    difference = ours.mean - published.mean
    table = [[sample.wrong, sample.runs - sample.wrong] for sample in both]
    p_wrong = float(fisher_exact(table).pvalue)
    return Comparison(difference / published.mean, difference - half, difference + half, p_wrong)


@dataclass(frozen=True)
class Outcome:
    """The runs of one method on one case.

    Attributes
    ----------
    case, method, instance
        The case, the method and the instance.
    rows
        One row per run.
    """

    case: Case
    method: Method
    instance: Instance
    rows: list[Row]

    @property
    def statistics(self) -> Statistics:
        """Statistics of the runs."""
        return statistics_of(self.rows)

    @property
    def published(self) -> Statistics | None:
        """The authors' statistics; None if they are not published."""
        return published_statistics().get((self.case.name, self.method.label))


@dataclass(frozen=True)
class Result:
    """The result of an experiment.

    Attributes
    ----------
    experiment
        Its definition.
    folder
        The directory of the runs.
    seed
        Seed of all random numbers.
    exact
        Whether the instances are the published ones.
    outcomes
        One outcome for every method on every case.
    """

    experiment: Experiment
    folder: Path
    seed: int
    exact: bool
    outcomes: list[Outcome]

    def of(self, case: Case) -> list[Outcome]:
        """The outcomes on one case.

        Parameters
        ----------
        case
            One of the experiment's cases.

        Returns
        -------
        list of Outcome
            Outcomes in the order of the methods.
        """
        return [outcome for outcome in self.outcomes if outcome.case == case]


def run_experiment(
    experiment: Experiment,
    output: str | os.PathLike[str],
    *,
    runs: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    data: str | os.PathLike[str] | None = None,
    tell: Tell = lambda case, method, done, runs: None,
) -> Result:
    """Run an experiment; runs that are already in `output` are not repeated.

    Without data, instances with a recipe are drawn from it with the seed.

    Parameters
    ----------
    experiment
        An entry of `EXPERIMENTS`.
    output
        Directory that keeps the runs; the same call resumes.
    runs
        Number of runs per method, unless the method has a lower limit; by default the
        experiment's.
    seed
        Seed of all random numbers.
    jobs
        Number of processes.
    data
        The data directory; by default that of MISLID_DATA, else the cache.
    tell
        Called with a case, a method, the number of finished runs and of all.

    Returns
    -------
    Result
        The runs of every method on every case.

    Raises
    ------
    MissingDataError
        Before any run, where an instance has no recipe or the data directory was named and lacks
        it.
    ProblemError
        Where an argument is not allowed, or `output` holds runs of other settings.
    MislidError, MissingPackageError, Interrupted
        As in `mislid.replicate`.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> from mislid.paper.experiments import EXPERIMENTS
    >>> (case,) = EXPERIMENTS["C"].cases
    >>> small = replace(EXPERIMENTS["C"], cases=(replace(case, methods=case.methods[-2:]),))
    >>> with TemporaryDirectory() as folder, patch.dict(os.environ, {VARIABLE: ""}):
    ...     result = run_experiment(small, folder, runs=2)
    >>> [(outcome.method.label, len(outcome.rows)) for outcome in result.outcomes]
    [('our default', 2), ('our default, guaranteed', 2)]
    """
    folder = as_path(output, "output")
    runs = experiment.runs if runs is None else as_count(runs, "runs", 1)
    seed = as_count(seed, "seed", 0)
    instances, exact = find_instances(experiment, seed, data)
    outcomes = []
    for case in experiment.cases:
        instance = instances[case.name]
        for method in case.methods:
            wanted = runs if method.most is None else min(runs, method.most)
            asked: dict[str, Any] = {"runs": wanted, "seed": seed, "delta": DELTA}
            asked |= {"algorithm": method.algorithm, "stopping": method.stopping}
            asked |= {"tolerance": 0.0, "gamma": 1.0, **method.options}
            tell(case, method, 0, wanted)
            rows = replicate_rows(
                instance,
                case.m,
                **asked,
                jobs=jobs,
                output=folder / "parts" / case.name / method.slug,
                progress=partial(tell, case, method),
            )
            tell(case, method, len(rows), wanted)
            outcomes.append(Outcome(case, method, instance, rows))
    return Result(experiment, folder, seed, exact, outcomes)


def find_instances(
    experiment: Experiment, seed: int, data: str | os.PathLike[str] | None
) -> tuple[dict[str, Instance], bool]:
    """The instances of an experiment by case, and whether all of them are the published ones.

    If any published instance is missing, all are drawn with the seed. `MissingDataError` if one
    has no recipe, or if the data directory was given and lacks one.
    """
    try:
        found = {
            case.name: load_instance(locate(case.path, data), case.misspecification)
            for case in experiment.cases
        }
    except MissingDataError as problem:
        drawn = {
            case.name: case.recipe.draw(seed, case.misspecification)
            for case in experiment.cases
            if case.recipe is not None
        }
        if data is not None or os.environ.get(VARIABLE) or len(drawn) < len(experiment.cases):
            problem.add_note(ORIGIN)
            raise
        return drawn, False
    return found, True
