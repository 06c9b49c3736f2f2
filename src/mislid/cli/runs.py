"""`mislid run`, `bound`, `demo`, `reproduce` and `data`: simulations, and the paper's work."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.app import sentence
from mislid.cli.options import (
    FILE,
    FOLDER,
    POSITIVE,
    WHOLE,
    all_of,
    as_noise,
    file_argument,
    flag,
    format_option,
    option,
    question_options,
    rule_options,
    seed_option,
)
from mislid.cli.output import as_table, figure_if_possible, print_facts, print_rows
from mislid.errors import MissingDataError
from mislid.stopping.rules import NO_GUARANTEE, PUBLISHED_RULES, STOPPING_RULES

if TYPE_CHECKING:
    from mislid.model import Instance
    from mislid.paper.experiments import Case, Method
    from mislid.simulation.identify import Identification, Progress

EXPERIMENT_NAMES = ("A", "B", "C", "D", "E")
DATA_NAMES = ("instances", "lastfm", "epilepsy")

quiet_option = flag("--quiet", "Print nothing but results and errors.")
runs_options = all_of(seed_option, option("--jobs", WHOLE, "Number of processes.", 1), quiet_option)
data_option = option(
    "--data", FOLDER, "Data directory; by default what MISLID_DATA names, else a cache directory."
)
instance_options = all_of(
    file_argument,
    question_options(),
    option("--noise", POSITIVE, "Standard deviation of rewards; by default the file's own, or 1."),
    format_option(),
)


@click.command("run")
@instance_options
@rule_options(*PUBLISHED_RULES)
@option(
    "--assume-noise",
    as_noise,
    "What the rules assume instead: a standard deviation, unknown, unknown-equal, LOW:HIGH, "
    "bounded (from 0 to 1) or bernoulli; rewards of the latter three are drawn in this range.",
    metavar="NOISE",
)
@option("--runs", WHOLE, "Number of runs.", 100)
@option("--max-samples", WHOLE, "End a run after so many measurements.")
@runs_options
@option("--output", FOLDER, "Directory for all rows and a figure; the same call goes on there.")
def run_command(
    file: str, m: int, form: str, jobs: int, output: str | None, quiet: bool, **options: Any
) -> None:
    """Find the m best arms of FILE (.npz or .csv) by simulated measurements, in many runs, and
    print how many measurements that took and how often the answer was wrong. FILE may declare the
    misspecification and the noise.
    """
    from mislid.model import load_instance
    from mislid.simulation.replicate import replicate_rows, replicate_settings, summarise

    truth = {name: options.pop(name) for name in ("misspecification", "noise")}
    instance = load_instance(file, **truth)
    settings = replicate_settings(instance, m, **options)
    means = sorted(instance.means.tolist(), reverse=True)
    if means[m - 1] == means[m] and not (options["tolerance"] or options["max_samples"]):
        click.echo(
            f"Warning: the mean at place m={m} and the next one are equal, so that runs may never "
            "stop; give --tolerance or --max-samples.",
            err=True,
        )
    rows = replicate_rows(instance, m, jobs=jobs, output=output, progress=not quiet, **options)
    if output is not None:
        with figure_if_possible():
            from mislid.plotting import save_runs

            save_runs(Path(output) / "figure.png", {options["algorithm"]: rows}, options["delta"])
    if form == "csv":
        print_rows(form, rows[0]._fields, rows)
        return
    summary = asdict(summarise(rows))
    facts = {name: summary[name] for name in ("runs", "mean_samples", "std_samples", "error_rate")}
    facts |= {key: [getattr(row, key) for row in rows] for key in ("samples", "correct", "status")}
    rule = STOPPING_RULES.get(options["stopping"])
    caveat = "" if rule is not None and rule.guaranteed else f", {NO_GUARANTEE}"
    lines = {
        "arms, dimension": f"{instance.K}, {instance.d}",
        "misspecification": instance.model.misspecification,
        "algorithm": options["algorithm"],
        "stopping": f"{options['stopping']}, error rate {options['delta']:g}{caveat}",
        "assumed_noise": options["assume_noise"],
        "tolerance": options["tolerance"] or None,
        **summary,
    }
    print_facts(form, facts | {"settings": settings}, lines.items())


@click.command("bound")
@instance_options
def bound_command(
    file: str, m: int, delta: float, tolerance: float, form: str, **truth: float | None
) -> None:
    """Print the characteristic time of FILE (.npz or .csv), the optimal allocation of measurements,
    and the number of measurements that any method with error rate delta needs on average.
    """
    from mislid.geometry.time import characteristic_time
    from mislid.model import load_instance

    instance = load_instance(file, **truth)
    time = characteristic_time(
        instance.model, instance.means, m, noise=instance.noise, tolerance=tolerance
    )
    facts = {
        "characteristic_time": time.value,
        "lower": time.lower,
        "upper": time.upper,
        "samples": time.samples(delta),
        "allocation": time.allocation.tolist(),
    }
    if time.note:
        facts["note"] = time.note
    print_facts(form, facts, {**facts, "allocation": None}.items())
    if form == "table":
        order = (-time.allocation).argsort(kind="stable")
        rows = [(f"arm {instance.label(arm)}", f"{time.allocation[arm]:7.2%}") for arm in order]
        click.echo(f"\noptimal allocation\n{as_table(rows, 2)}")


@click.command("demo")
@option("--output", FILE, "Where to save the picture.", "mislid-demo.png")
@seed_option
def demo_command(output: str, seed: int) -> None:
    """Find the 3 best of 12 embedded compounds by simulated measurements, compare with other
    methods and with the lower bound, and save a picture.
    """
    from mislid.io import new_place

    path = new_place(output, "--output", ".png")
    from mislid.paper.demo import DELTA, METHODS, M, draw_demo, run_demo

    demo = run_demo(_show_progress, seed)
    instance = demo.instance
    click.echo(
        f"Which {M} of {instance.K} compounds are most potent, at error rate {DELTA:g}? "
        f"{instance.d - 1} descriptors predict\npotency linearly, to within "
        f"{instance.model.misspecification:g}; an assay has a standard deviation of "
        f"{instance.noise[0]:g}.\n"
    )
    _print_answer(instance, demo.found["mislid"], DELTA)
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
    click.echo()
    heading = ("method", "measurements", "descriptors", "stopping", "answer")
    print_rows("table", heading, rows, len(heading))
    click.echo(f"One run each; --seed {seed + 1} gives others.")
    with figure_if_possible():
        from mislid.plotting import save

        save(draw_demo(demo), path)
        click.echo(f"\nPicture: {path}")


def _show_progress(name: str, progress: Progress) -> None:
    _repaint(f"{name:<8}  {progress.samples:>7,} measurements", is_last=progress.finished)


def _repaint(line: str, *, is_last: bool) -> None:
    """Show progress on stderr: on a terminal in one line, elsewhere only the last state."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{line}", nl=is_last, err=True)
    elif is_last:
        click.echo(line, err=True)


def _print_answer(instance: Instance, found: Identification, delta: float) -> None:
    lines = {"answer": _outcome(instance, found), "measurements": f"{found.samples:,}"}
    evidence = found.certificate
    if evidence is not None and evidence.pair is not None:
        challenger, incumbent = map(instance.label, evidence.pair)
        proven = f"{'proven' if evidence.proven else 'not proven'} (rule {evidence.rule})"
        lines |= {
            "guarantee": f"wrong with probability at most {delta:g}, {proven}",
            "evidence": f"{evidence.statistic:.2f}, threshold {evidence.threshold:.2f}",
            "hardest pair": f"{challenger} against {incumbent}",
        }
    print_facts("table", lines)


def _outcome(instance: Instance, found: Identification) -> str:
    if found.answer is None:
        return f"none, {found.status}"
    names = ", ".join(str(instance.label(arm)) for arm in found.answer)
    missed = [instance.label(arm) for arm in instance.top(1) if arm not in found.answer]
    fault = f"wrong, without {missed[0]}, the best" if missed else "wrong"
    return f"{names} ({'right' if found.correct else fault})"


@click.command("reproduce")
@click.argument("name", metavar="A|B|C|D|E|all", type=click.Choice([*EXPERIMENT_NAMES, "all"]))
@option("--runs", WHOLE, "Runs of every method; slow ones have a limit. By default the paper's.")
@runs_options
@data_option
@option("--output", FOLDER, "Directory; the same call goes on there.", "mislid-reproduce")
def reproduce_command(name: str, output: str, quiet: bool, **options: Any) -> int:
    """Run an experiment of the paper again, or all, and print tables with the published numbers
    beside ours. OUTPUT/A, and so on, gets runs.csv, report.md, figure.png and figure.svg.
    Without data, A, B and C are drawn by the paper's recipe.
    """
    from mislid.paper.experiments import EXPERIMENTS
    from mislid.paper.report import table_text, write_report
    from mislid.paper.reproduce import run_experiment

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
