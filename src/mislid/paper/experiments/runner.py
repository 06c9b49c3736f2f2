"""Runs of experiments, kept on disk and continued where they ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mislid._formatting import shown
from mislid._validation import as_count
from mislid.errors import MissingDataError, ProblemError
from mislid.io import as_path
from mislid.model import Instance, load_instance
from mislid.paper.datasets import locate
from mislid.paper.datasets.download import VARIABLE
from mislid.paper.experiments.published import (
    Runs,
    Statistics,
    published_runs,
    published_statistics,
    statistics_of,
)
from mislid.paper.experiments.spec import Case, Experiment, Method
from mislid.simulation.replicate import Row, replicate_rows, replicate_settings

# Called with a case, a method, the number of finished runs and of all: before the first, after
# each, and at the end, where all may have been there already.
Tell = Callable[[Case, Method, int, int], object]
PARTS = "parts"
ORIGIN = "the files come from the authors' https://github.com/clreda/misspecified-top-m"


@dataclass(frozen=True)
class Outcome:
    """The runs of one method on one case.

    Attributes
    ----------
    case, method, instance
        The question and the rule.
    rows
        One for every run.
    settings
        Everything that the runs depend on.
    """

    case: Case
    method: Method
    instance: Instance
    rows: list[Row]
    settings: dict[str, Any]

    @property
    def statistics(self) -> Statistics:
        """Statistics of the runs."""
        return statistics_of(self.rows)

    @property
    def published(self) -> Statistics | None:
        """The authors' statistics; None where they did not say."""
        return _published(self.case, self.method)


@dataclass(frozen=True)
class Result:
    """A finished experiment, as `run_experiment` gives it.

    Attributes
    ----------
    experiment
        Its record.
    folder
        The directory of the runs.
    seed
        Of all random numbers.
    exact
        Whether the instances are those that were published.
    outcomes
        One for every method on every case.
    published_runs
        The single published runs by case and method, as far as they are at hand.
    """

    experiment: Experiment
    folder: Path
    seed: int
    exact: bool
    outcomes: list[Outcome]
    published_runs: Runs

    def of(self, case: Case) -> list[Outcome]:
        """The outcomes on one case.

        Parameters
        ----------
        case
            One of the experiment's cases.

        Returns
        -------
        list of Outcome
            In the order of its methods; empty for another case.
        """
        return [outcome for outcome in self.outcomes if outcome.case == case]


def run_experiment(
    experiment: Experiment,
    output: str | os.PathLike[str],
    *,
    runs: int | None = None,
    seed: int | None = None,
    jobs: int = 1,
    client: Any = None,
    executor: Executor | None = None,
    data: str | os.PathLike[str] | None = None,
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
    jobs, client, executor
        Who does the runs, one of the three: a number of processes, a `distributed.Client`, or a
        `concurrent.futures.Executor`, as in `mislid.replicate`.
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
        Where an argument is not allowed, a method says that it was published but was not, or
        `output` holds runs of other settings.
    MislidError, MissingPackageError, Interrupted
        As in `mislid.replicate`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mislid import Model
    >>> class Steps:
    ...     def draw(self, seed, misspecification):
    ...         return Instance(Model([[1], [2], [3]], misspecification), [1.0, 2.0, 3.0])
    >>> methods = Method("our default", "mislid"), Method("LUCB", "lucb", most=2)
    >>> case = Case("steps", "three arms", "", 1, 0.0, methods, recipe=Steps())
    >>> experiment = Experiment("mine", "Who is quicker?", (case,), runs=4)
    >>> with TemporaryDirectory() as folder:
    ...     result = run_experiment(experiment, folder)
    ...     again = run_experiment(experiment, folder)  # the runs are there: nothing is done
    >>> [(outcome.method.name, len(outcome.rows)) for outcome in result.outcomes]
    [('our default', 4), ('LUCB', 2)]
    >>> [one.rows for one in result.outcomes] == [one.rows for one in again.outcomes]
    True
    """
    folder = as_path(output, "output")
    if not isinstance(experiment, Experiment):
        raise ProblemError(
            f"experiment must be an Experiment, such as EXPERIMENTS['A']; got {shown(experiment)}"
        )
    pairs = [(case, method) for case in experiment.cases for method in case.methods]
    for case, method in pairs:
        _published(case, method)
    runs = experiment.runs if runs is None else as_count(runs, "runs", 1)
    seed = experiment.seed if seed is None else as_count(seed, "seed", 0)
    instances, exact = find_instances(experiment, seed, data)
    outcomes = []
    for case, method in pairs:
        instance = instances[case.name]
        wanted = method.runs_of(runs)
        asked = {"runs": wanted, "seed": seed, **method.options(experiment.delta)}
        tell(case, method, 0, wanted)
        rows = replicate_rows(
            instance,
            case.m,
            **asked,
            jobs=jobs,
            client=client,
            executor=executor,
            output=folder / PARTS / case.name / method.slug,
            progress=partial(tell, case, method),
        )
        tell(case, method, len(rows), wanted)
        settings = replicate_settings(instance, case.m, **asked)
        outcomes.append(Outcome(case, method, instance, rows, settings))
    return Result(experiment, folder, seed, exact, outcomes, published_runs(data))


def _published(case: Case, method: Method) -> Statistics | None:
    """The published statistics of a method on a case; refuses unknown names."""
    key, known = case.published_key(method), published_statistics()
    if key is not None and key not in known:
        names = ", ".join(repr(name) for one, name in known if one == key[0]) or "none"
        raise ProblemError(
            f"published must be the name of a method whose runs on {key[0]} were published, "
            f"{names}; got {shown(key[1])}"
        )
    return None if key is None else known[key]


def find_instances(
    experiment: Experiment, seed: int, data: str | os.PathLike[str] | None
) -> tuple[dict[str, Instance], bool]:
    """The instances of an experiment by case, and whether they are the published ones: all or none.

    Without data they are drawn with the seed; `MissingDataError` where one has no recipe, or where
    the data directory was named and lacks it.
    """
    try:
        found = {
            case.name: load_instance(locate(case.path, data), case.misspecification)
            for case in experiment.cases
            if case.instance
        }
    except MissingDataError as problem:
        problem.add_note(ORIGIN)
        named = data is not None or os.environ.get(VARIABLE)
        if named or any(case.recipe is None for case in experiment.cases):
            raise
        found = {}
    drawn = {
        case.name: case.recipe.draw(seed, case.misspecification)
        for case in experiment.cases
        if case.recipe is not None and case.name not in found
    }
    return found | drawn, not drawn
