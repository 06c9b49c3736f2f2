"""`mislid demo`, `reproduce`, `data` and `represent`: the demonstration, and the paper's work."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.app import sentence
from mislid.cli.options import (
    FILE,
    FOLDER,
    POSITIVE,
    WHOLE,
    data_option,
    file_argument,
    format_option,
    jobs_option,
    option,
    quiet_option,
    seed_option,
)
from mislid.cli.output import as_table, figure_if_possible, print_facts, print_rows
from mislid.errors import MissingDataError

if TYPE_CHECKING:
    from mislid.model import Instance
    from mislid.paper.experiments import Case, Method
    from mislid.simulation.identify import Identification, Progress

EXPERIMENT_NAMES = ("A", "B", "C", "D", "E")
DATA_NAMES = ("instances", "lastfm", "epilepsy")


@click.command("demo")
@option("--output", FILE, "Where to save the picture.", "mislid-demo.png")
@seed_option
def demo_command(output: str, seed: int) -> None:
    """Find the 3 best of 12 embedded compounds by simulated measurements, compare with other
    methods and with the lower bound, and save a picture.
    """
    from mislid.io import new_place

    path = new_place(output, "--output", ".png")
    from mislid.paper.experiments.demo import DELTA, METHODS, M, draw_demo, run_demo

    demo = run_demo(_show_progress, seed)
    instance = demo.instance
    click.echo(
        f"Which {M} of {instance.K} compounds are most potent, at error rate {DELTA:g}? "
        f"{instance.d - 1} descriptors predict\npotency linearly, to within "
        f"{instance.model.misspecification:g}; an assay has a standard deviation of "
        f"{instance.noise[0]:g}.\n"
    )
    _print_answer(instance, demo.found["mislid"], DELTA)
    rows = [
        (
            name,
            f"{found.samples:,}",
            METHODS[name].descriptors,
            "own test" if METHODS[name].stopping == "heuristic" else METHODS[name].stopping,
            _outcome(instance, found),
        )
        for name, found in demo.found.items()
    ]
    for name, time in (("mislid", demo.time), ("LUCB", demo.time_without_features)):
        least = f"{time.samples(DELTA):,.0f}"
        descriptors = METHODS[name].descriptors
        rows.append(("lower bound", least, descriptors, "any", "the least on average"))
    click.echo()
    heading = ("method", "measurements", "descriptors", "stopping", "answer")
    print_rows("table", heading, rows, len(heading))
    click.echo(f"One run each; --seed {seed + 1} gives others.")
    with figure_if_possible():
        from mislid.plotting import save

        save(draw_demo(demo), path)
        click.echo(f"\nPicture: {path}")


def _show_progress(name: str, progress: Progress) -> None:
    share = progress.evidence
    percent = " " * 4 if math.isnan(share) else f"{int(100 * min(share, 1.0)):3d}%"
    line = f"{name:<8}  {percent} of the evidence  {progress.samples:>7,} measurements"
    _repaint(line, is_last=progress.finished)


def _repaint(line: str, *, is_last: bool) -> None:
    """Show progress on stderr: on a terminal in one line, elsewhere only the last state."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{line}", nl=is_last, err=True)
    elif is_last:
        click.echo(line, err=True)


def _print_answer(instance: Instance, found: Identification, delta: float) -> None:
    evidence = found.certificate
    if found.answer is None or evidence is None or evidence.pair is None:
        click.echo(f"No answer: {found.status} after {found.samples:,} measurements.")
        return
    proven = "proven" if evidence.proven else "not proven"
    lines = {
        "answer": f"{_names(instance, found.answer)} ({'right' if found.correct else 'wrong'})",
        "guarantee": f"wrong with probability at most {delta:g}, {proven} (rule {evidence.rule})",
        "evidence": f"{evidence.statistic:.2f}, threshold {evidence.threshold:.2f}",
        "hardest pair": _names(instance, evidence.pair).replace(", ", " against "),
        "measurements": f"{found.samples:,}",
    }
    print_facts("table", lines)


def _outcome(instance: Instance, found: Identification) -> str:
    if found.answer is None:
        return f"none, {found.status}"
    if found.correct:
        return _names(instance, found.answer)
    best = instance.top(len(found.answer))
    missed = [arm for arm in best if arm not in found.answer]
    worst = ", the best" if best[0] in missed else ""
    return f"{_names(instance, found.answer)}: wrong, without {_names(instance, missed)}{worst}"


def _names(instance: Instance, arms: Iterable[int]) -> str:
    return ", ".join(str(instance.label(arm)) for arm in arms)


@click.command("reproduce")
@click.argument("name", metavar="A|B|C|D|E|all", type=click.Choice([*EXPERIMENT_NAMES, "all"]))
@option(
    "--runs",
    WHOLE,
    "Runs of every method, except slow ones, which have a limit; by default as many as in the "
    "paper, 500 for A to C and 100 for D and E.",
)
@seed_option
@jobs_option
@data_option
@option(
    "--output",
    FOLDER,
    "Directory for runs, tables, figures and reports; the same call resumes an interrupted one.",
    "mislid-reproduce",
)
@quiet_option
def reproduce_command(name: str, output: str, quiet: bool, **options: Any) -> int:
    """Run an experiment of the paper again, or all, and print tables with the published numbers
    beside ours. OUTPUT/A, and so on, gets settings.json, runs.csv, report.md, figure.png and
    figure.svg. Without data, A, B and C are drawn by the paper's recipe.
    """
    from mislid.paper.experiments import EXPERIMENTS, run_experiment
    from mislid.paper.experiments.report import table_text, write_report

    def tell(case: Case, method: Method, done: int, runs: int) -> None:
        if not quiet:
            _repaint(f"{case.name} {method.label}: {done} of {runs} runs", is_last=done == runs)

    status = 0
    for chosen in EXPERIMENT_NAMES if name == "all" else [name]:
        folder = Path(output) / chosen
        try:
            result = run_experiment(EXPERIMENTS[chosen], folder, tell=tell, **options)
        except MissingDataError as problem:  # the other experiments may have what they need
            click.echo(f"Error: {chosen}: {sentence(problem)}", err=True)
            status = 1
            continue
        with figure_if_possible():
            write_report(result)
        click.echo(f"{table_text(result)}\nReport: {folder / 'report.md'}\n")
    return status


@click.group("data")
def data_command() -> None:
    """Download the paper's data (instances, lastfm, epilepsy), and show where they are."""


@data_command.command("fetch")
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, type=click.Choice([*DATA_NAMES, "all"])
)
@data_option
@quiet_option
def fetch_command(names: tuple[str, ...], data: str | None, quiet: bool) -> None:
    """Download and check the files of NAME (instances, lastfm, epilepsy or all), and
    print where they are. Complete files are not downloaded again.
    """
    from mislid.paper.datasets import CATALOGUE, fetch

    for name in DATA_NAMES if "all" in names else dict.fromkeys(names):
        places, found = fetch(name, data, progress=not quiet), CATALOGUE[name]
        if not quiet:
            rights = f"  licence: {found.licence}\n  please cite: {found.citation}"
            click.echo(f"{name}: {found.contents}\n{rights}", err=True)
        click.echo("\n".join(map(str, places)))


@data_command.command("list")
@data_option
def list_command(data: str | None) -> None:
    """Print the data sets, and which of them are in the data directory."""
    from mislid.paper.datasets import CATALOGUE, data_directory

    folder = data_directory(data)
    rows = [
        (name, "here" if found.is_complete(folder) else "missing", found.contents)
        for name, found in CATALOGUE.items()
    ]
    click.echo(f"{folder}\n{as_table(rows, 3)}")


@click.command("represent")
@file_argument
@option("--target", str, "Column of the rewards.", required=True)
@option("--m", WHOLE, "How many of the best.", required=True)
@option("--name", str, "Column of the candidates' names; by default name.")
@option("--group", str, "A column that is no feature, such as dates.", (), "groups", multiple=True)
@option("--d", WHOLE, "Number of features to keep; by default all, without loss.")
@option("--noise", POSITIVE, "Standard deviation of rewards.", 1.0)
@seed_option
@option("--output", FILE, "Where the instance goes, .npz or .csv; by default FILE.npz, here.")
@format_option()
def represent_command(
    file: str,
    target: str,
    m: int,
    name: str | None,
    groups: tuple[str, ...],
    d: int | None,
    noise: float,
    seed: int,
    output: str | None,
    form: str,
) -> None:
    """Learn a linear representation of the candidates in FILE.csv, print what each number of
    features costs, and save an instance for `mislid run`.

    FILE.csv has a heading and one line per observation: numbers, and the reward in the column of
    --target. Lines with the same name are one candidate, whose mean reward is their average.
    """
    from mislid._validation import as_top_m
    from mislid.io import new_place
    from mislid.paper.representation import Choice, learn, read_observations

    place = new_place(output or f"{Path(file).stem}.npz", "--output", ".npz", ".csv")
    seen = read_observations(file, target=target, name=name, groups=groups)
    as_top_m(m, len(seen.means))  # before the training
    arms: Any = {"candidates": seen.candidates, "means": seen.means, "names": seen.names}
    learned = learn(seen.X, seen.y, seed=seed, **arms)
    kept = learned.reduce(d)
    kept.to_instance(noise=noise).save(place)
    found = learned.trade_off(m, noise=noise)
    heading = [field.name for field in fields(Choice)]
    print_rows(form, heading, [astuple(choice) for choice in found.choices])
    click.echo(
        f"R^2 {learned.r2_train:.3f} in training, {learned.r2_test:.3f} in test. Saved {place} "
        f"with {kept.d} features and misspecification {kept.misspecification:.4g}.",
        err=True,
    )
