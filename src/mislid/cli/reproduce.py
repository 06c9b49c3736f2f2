"""`mislid reproduce`: the paper's experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.app import sentence
from mislid.cli.options import (
    cluster,
    data_option,
    output_folder_option,
    progress_bar,
    quiet_option,
    worker_options,
)
from mislid.errors import MissingDataError

if TYPE_CHECKING:
    from mislid.paper.experiments import Case, Method, Result

NAMES = ("A", "B", "C", "D", "E")


@click.command("reproduce")
@click.argument("name", metavar="A|B|C|D|E|all", type=click.Choice([*NAMES, "all"]))
@click.option(
    "--runs",
    type=click.IntRange(1),
    help="Runs of every method, but for slow ones, which have a limit; by default as many as in "
    "the paper, 500 for A to C and 100 for D and E.",
)
@worker_options
@data_option
@output_folder_option(
    "Where to keep runs, tables, figures and reports; the same call resumes an interrupted one.",
    default="mislid-reproduce",
    show_default=True,
)
@quiet_option
def command(
    name: str,
    output: str,
    jobs: int,
    dask: str | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Run an experiment of the paper again, or all, and print tables with the published numbers
    beside ours. OUTPUT/A, and so on, gets settings.json, runs.csv, report.md, figure.png and
    figure.svg. Without data, A, B and C are drawn by the paper's recipe.
    """
    from mislid.paper.experiments.report import table_text

    status = 0
    with cluster(dask, jobs) as client:
        for chosen in NAMES if name == "all" else [name]:
            folder = Path(output) / chosen
            try:
                result = _result(chosen, folder, quiet, client=client, jobs=jobs, **options)
            except MissingDataError as problem:
                # The others of `all` may have what they need.
                click.echo(f"Error: {chosen}: {sentence(problem)}", err=True)
                status = 1
                continue
            _write(result)
            click.echo(f"{table_text(result)}\nReport: {folder / 'report.md'}\n")
    return status


def _result(name: str, folder: Path, quiet: bool, **options: Any) -> Result:
    from mislid.paper.experiments import EXPERIMENTS, run_experiment

    with _Bars(quiet) as bars:
        return run_experiment(EXPERIMENTS[name], folder, tell=bars, **options)


def _write(result: Result) -> None:
    from mislid.paper.experiments.report import write_report

    try:
        write_report(result)
    except ImportError:
        click.echo("No figure: matplotlib is missing (pip install 'mislid[plots]').", err=True)


class _Bars:
    """One bar for every method, on stderr."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.name = quiet, ""
        self.bar: Any = None

    def __enter__(self) -> _Bars:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def __call__(self, case: Case, method: Method, done: int, runs: int) -> None:
        """Show so many finished runs; called with none before the first."""
        name = f"{case.name} {method.label}"
        if name != self.name:
            self.__exit__()
            self.name = name
            self.bar = progress_bar(self.quiet, desc=name, total=runs, unit="run")
        if self.bar is None:
            return
        if self.bar.n == 0 < done:
            # Runs that were found on disk say nothing about how long the others take.
            self.bar.initial = self.bar.n = done - 1
        self.bar.update(done - self.bar.n)
        if done == runs:
            # The next method's compilation does not count.
            self.__exit__()
