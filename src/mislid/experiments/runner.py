"""Run an experiment: every method on every case, kept on disk and taken up again where it ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mislid._validation import as_count
from mislid.datasets import locate
from mislid.datasets.directory import VARIABLE
from mislid.errors import MissingDataError
from mislid.experiments.published import Runs, Statistics, published_statistics, statistics_of
from mislid.experiments.spec import Case, Experiment, Method
from mislid.model import Instance, load_instance
from mislid.simulation.replicate import Row, replicate_rows, replicate_settings

# Called with a case, a method, the number of finished runs and of all: before the first, after
# each, and at the end, where all may have been there already.
Tell = Callable[[Case, Method, int, int], object]
PARTS = "parts"
ORIGIN = "the files come from the authors' https://github.com/clreda/misspecified-top-m"


@dataclass(frozen=True)
class Outcome:
    """The runs of one method on one case."""

    case: Case
    method: Method
    instance: Instance
    rows: list[Row]
    settings: dict[str, Any]

    @property
    def statistics(self) -> Statistics:
        """What the runs say together."""
        return statistics_of(self.rows)

    @property
    def published(self) -> Statistics | None:
        """What the authors found."""
        if self.method.reported is not None:
            return self.method.reported
        key = self.case.published_key(self.method)
        return None if key is None else published_statistics()[key]


@dataclass(frozen=True)
class Result:
    """A finished experiment; `exact` where its instances are the published ones."""

    experiment: Experiment
    folder: Path
    seed: int
    exact: bool
    outcomes: list[Outcome]
    published_runs: Runs

    def of(self, case: Case) -> list[Outcome]:
        """The outcomes on one case, in the order of its methods."""
        return [outcome for outcome in self.outcomes if outcome.case == case]


def run_experiment(
    experiment: Experiment,
    output: Path,
    *,
    runs: int | None = None,
    seed: int | None = None,
    jobs: int = 1,
    client: Any = None,
    executor: Executor | None = None,
    data: str | os.PathLike[str] | None = None,
    published_runs: Runs | None = None,
    tell: Tell = lambda case, method, done, runs: None,
) -> Result:
    """Do the runs that `output` does not have yet; the same call can be made again at any time.

    Without data, instances that have a recipe are drawn from it with the seed.

    Parameters
    ----------
    experiment
        An entry of `EXPERIMENTS`, or one of your own.
    output
        Directory that keeps the runs.
    runs
        Of every method; one with a limit of its own does fewer. By default as the experiment says.
    seed
        Of all random numbers; by default as the experiment says.
    jobs, client
        Number of processes, or processes that are there already; or a `distributed.Client`.
    data
        The data directory; by default that of MISLID_DATA, else the cache.
    published_runs
        What `published_runs` gives, for the figure.
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
    """
    runs = experiment.runs if runs is None else as_count(runs, "runs", 1)
    seed = experiment.seed if seed is None else as_count(seed, "seed", 0)
    instances, exact = find_instances(experiment, seed, data)
    outcomes = []
    for case, method in _methods(experiment):
        instance = instances[case.name]
        options = method.options(experiment.delta)
        wanted = method.runs_of(runs)
        asked = {"runs": wanted, "seed": seed, **options}
        tell(case, method, 0, wanted)
        rows = replicate_rows(
            instance,
            case.m,
            **asked,
            jobs=jobs,
            client=client,
            executor=executor,
            output=output / PARTS / case.name / method.slug,
            progress=_teller(tell, case, method),
        )
        tell(case, method, len(rows), wanted)
        settings = replicate_settings(instance, case.m, **asked)
        outcomes.append(Outcome(case, method, instance, rows, settings))
    return Result(experiment, output, seed, exact, outcomes, published_runs or {})


def find_instances(
    experiment: Experiment, seed: int, data: str | os.PathLike[str] | None
) -> tuple[dict[str, Instance], bool]:
    """The instances of an experiment by case, and whether they are the published ones: all or none.

    Without data they are drawn with the seed; `MissingDataError` where one has no recipe, or where
    the data directory was named and lacks it.
    """
    recipes = {case.name: case.recipe for case in experiment.cases}
    try:
        found = {
            case.name: load_instance(locate(case.path, data), case.misspecification)
            for case in experiment.cases
            if case.instance
        }
    except MissingDataError as problem:
        problem.add_note(ORIGIN)
        named = data is not None or os.environ.get(VARIABLE)
        if named or None in recipes.values():
            raise
        return _drawn(experiment.cases, seed), False
    return found | _drawn([case for case in experiment.cases if not case.instance], seed), True


def _drawn(cases: Iterable[Case], seed: int) -> dict[str, Instance]:
    return {
        case.name: case.recipe.draw(seed, case.misspecification)
        for case in cases
        if case.recipe is not None
    }


def _methods(experiment: Experiment) -> Iterator[tuple[Case, Method]]:
    for case in experiment.cases:
        for method in case.methods:
            yield case, method


def _teller(tell: Tell, case: Case, method: Method) -> Callable[[int, int], object]:
    return lambda done, runs: tell(case, method, done, runs)
