"""Commands `mislid demo`, `reproduce` and `data`: the paper's demonstration and experiments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import (
    FILE,
    FOLDER,
    WHOLE,
    app,
    option,
    runs_options,
    seed_option,
)
from mislid.cli.output import complain, figure_if_possible, print_rows, sentence
from mislid.errors import MissingDataError

if TYPE_CHECKING:
    from mislid.model import Instance
    from mislid.paper.experiments import Case, Method
    from mislid.simulation.identify import Identification

EXPERIMENT_NAMES = ("A", "B", "C", "D", "E")
DATA_NAMES = ("instances", "lastfm", "epilepsy")

data_option = option(
    "--data", FOLDER, "Data directory; by default what MISLID_DATA names, else a cache directory."
)


@app.command("demo")
@option("--output", FILE, "Where to save the picture.", "mislid-demo.png")
@seed_option
def demo_command(output: str, seed: int) -> None:
    """Identify the best of an embedded instance, with a picture.

    Which 3 of 12 compounds are best? Measurements are simulated. The picture and the table compare
    the method with others and with the lower bound.
    """
    from mislid.io import new_place

    path = new_place(output, "--output", ".png")
    from mislid.paper.demo import DELTA, METHODS, M, draw_demo, run_demo

    demo = run_demo(seed)
    instance = demo.instance
    click.echo(
        f"Which {M} of {instance.K} compounds are most potent, at error rate {DELTA:g}? "
        f"{instance.d - 1} descriptors predict\npotency linearly, to within "
        f"{instance.model.misspecification:g}; an assay has a standard deviation of "
        f"{instance.noise[0]:g}.\n"
    )
    rows = []
    for name, found in demo.found.items():
        method = METHODS[name]
        rule = "own test" if method.stopping == "heuristic" else method.stopping
        answer = _outcome(instance, found)
        rows.append((name, f"{found.samples:,}", method.descriptors, rule, answer))
    for name, time in (("mislid", demo.time), ("LUCB", demo.time_without_features)):
        least = f"{time.samples(DELTA):,.0f}"
        descriptors = METHODS[name].descriptors
        rows.append(("lower bound", least, descriptors, "any", "the least on average"))
    heading = ("method", "measurements", "descriptors", "stopping", "answer")
    print_rows("table", heading, rows, len(heading))
    proof = demo.found["mislid"].certificate
    if proof is not None and proof.proven:
        said = (
            f"It is proved that the answer of mislid is wrong with probability at most {DELTA:g}."
        )
        click.echo(f"\n{said}")
    click.echo(f"One run each; --seed {seed + 1} gives others.")
    with figure_if_possible():
        from mislid.plotting import save

        save(draw_demo(demo), path)
        click.echo(f"\nPicture: {path}")


def _repaint(line: str, *, is_last: bool) -> None:
    """Show progress on stderr: in one line on a terminal, elsewhere the last state only."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{line}", nl=is_last, err=True)
    elif is_last:
        click.echo(line, err=True)


def _outcome(instance: Instance, found: Identification) -> str:
    if found.answer is None:
        return f"none, {found.status}"
    names = ", ".join(str(instance.label(arm)) for arm in found.answer)
    missed = [instance.label(arm) for arm in instance.top(1) if arm not in found.answer]
    fault = f"wrong, without {missed[0]}, the best" if missed else "wrong"
    return f"{names} ({'right' if found.correct else fault})"


@app.command("reproduce")
@click.argument("name", metavar="A|B|C|D|E|all", type=click.Choice([*EXPERIMENT_NAMES, "all"]))
@option("--runs", WHOLE, "Runs of every method; slow ones have a limit. By default the paper's.")
@runs_options
@data_option
@option("--output", FOLDER, "Directory; the same call continues there.", "mislid-reproduce")
def reproduce_command(name: str, output: str, **options: Any) -> int:
    """Repeat the paper's experiments and compare with the published numbers.

    OUTPUT/A, and so on, gets report.md and figure.png; the runs are in its directory parts. Without
    data, instances of A, B and C are drawn by the paper's recipe.
    """
    from mislid.paper.experiments import EXPERIMENTS
    from mislid.paper.report import table_text, write_report
    from mislid.paper.reproduce import run_experiment

    def tell(case: Case, method: Method, done: int, runs: int) -> None:
        _repaint(f"{case.name} {method.label}: {done} of {runs} runs", is_last=done == runs)

    status = 0
    for chosen in EXPERIMENT_NAMES if name == "all" else [name]:
        folder = Path(output) / chosen
        try:
            result = run_experiment(EXPERIMENTS[chosen], folder, tell=tell, **options)
        except MissingDataError as problem:  # other experiments may have their data
            complain(f"Error: {chosen}: {sentence(problem)}")
            status = 1
            continue
        with figure_if_possible():
            write_report(result)
        click.echo(f"{table_text(result)}\nReport: {folder / 'report.md'}\n")
    return status


@app.group("data")
def data_command() -> None:
    """Download the paper's data."""


@data_command.command("fetch")
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, type=click.Choice([*DATA_NAMES, "all"])
)
@data_option
def fetch_command(names: tuple[str, ...], data: str | None) -> None:
    """Download files, check them, and print where they are.

    NAME is instances, lastfm, epilepsy or all. Complete files are not downloaded again.
    """
    from mislid.paper.datasets import CATALOGUE, fetch

    for name in DATA_NAMES if "all" in names else dict.fromkeys(names):
        places, found = fetch(name, data, progress=True), CATALOGUE[name]
        rights = f"  licence: {found.licence}\n  please cite: {found.citation}"
        click.echo(f"{name}: {found.contents}\n{rights}", err=True)
        click.echo("\n".join(map(str, places)))
