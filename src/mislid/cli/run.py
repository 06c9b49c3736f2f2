"""`mislid run`: identify, many times."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import (
    cluster,
    instance_options,
    load,
    noise_of,
    output_folder_option,
    quiet_option,
    rule_options,
    setting,
    worker_options,
)
from mislid.cli.output import as_csv, as_json, as_table, number
from mislid.stopping.rules import NO_GUARANTEE, PUBLISHED_RULES, STOPPING_RULES

if TYPE_CHECKING:
    from mislid.model import Instance
    from mislid.simulation.replicate import Row


@click.command("run")
@instance_options
@rule_options(*PUBLISHED_RULES)
@setting(
    "--gamma",
    click.FloatRange(1),
    1.0,
    "Test whether to stop only when measurements have grown by this factor.",
)
@click.option(
    "--assume-noise",
    metavar="NOISE",
    callback=lambda _, __, text: noise_of(text),
    help="Noise that rules assume instead: a standard deviation, unknown, unknown-equal (both "
    "Gaussian), LOW:HIGH, bounded (from 0 to 1) or bernoulli (0 or 1); the latter three are drawn "
    "so.",
)
@setting("--runs", click.IntRange(1), 100, "Number of runs.")
@click.option(
    "--max-samples", type=click.IntRange(1), help="Give up a run after so many measurements."
)
@worker_options
@output_folder_option(
    "Keep settings.json, runs.csv and figure.png there; the same call resumes an interrupted one."
)
@quiet_option
def command(
    file: str,
    m: int,
    misspecification: float | None,
    noise: float | None,
    form: str,
    jobs: int,
    dask: str | None,
    output: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the m best arms of FILE (.npz or .csv) by simulated measurements, in many runs, and
    print how many measurements that took and how often the answer was wrong.
    """
    from mislid.simulation.replicate import replicate_rows, replicate_settings, summarise

    instance = load(file, misspecification, noise)
    settings = replicate_settings(instance, m, **options)
    if options["tolerance"] == 0.0 and options["max_samples"] is None:
        _warn_of_tie(instance, m)
    with cluster(dask, jobs) as client:
        rows = replicate_rows(
            instance, m, jobs=jobs, client=client, output=output, progress=not quiet, **options
        )
    if output is not None:
        _draw(output, rows, options)
    summary = asdict(summarise(rows))
    if form == "table":
        click.echo(_table(summary, settings, options))
    elif form == "csv":
        click.echo(as_csv(rows[0]._fields, rows))
    else:
        keys = ("runs", "mean_samples", "std_samples", "error_rate")
        columns = ("samples", "correct", "status")
        facts = {key: summary[key] for key in keys}
        facts |= {name: [getattr(row, name) for row in rows] for name in columns}
        click.echo(as_json(facts | {"settings": settings}))


def _warn_of_tie(instance: Instance, m: int) -> None:
    means = sorted(instance.means.tolist(), reverse=True)
    if means[m - 1] == means[m]:
        click.echo(
            f"Warning: the mean at place m={m} and the next one are equal, so that runs may never "
            "stop; give --tolerance or --max-samples.",
            err=True,
        )


def _draw(output: str, rows: list[Row], options: dict[str, Any]) -> None:
    from mislid.plotting import save_runs

    try:
        save_runs(Path(output) / "figure.png", {options["algorithm"]: rows}, options["delta"])
    except ImportError:
        click.echo("No figure: matplotlib is missing (pip install 'mislid[plots]').", err=True)


def _table(summary: dict[str, Any], settings: dict[str, Any], options: dict[str, Any]) -> str:
    rule = STOPPING_RULES.get(options["stopping"])
    caveat = "" if rule is not None and rule.guaranteed else f", {NO_GUARANTEE}"
    lines = [
        ("arms, dimension", f"{settings['K']}, {settings['d']}"),
        ("misspecification", f"{float(settings['misspecification']):.6g}"),
        ("algorithm", options["algorithm"]),
        ("stopping", f"{options['stopping']}, error rate {options['delta']:g}{caveat}"),
        ("noise", f"assumed {options['assume_noise']}"),
        ("tested", f"when measurements have grown by a factor {options['gamma']:g}"),
        ("tolerance", f"{options['tolerance']:g}"),
        ("runs", number(summary["runs"])),
        ("samples, mean", number(summary["mean_samples"])),
        ("samples, standard deviation", number(summary["std_samples"])),
        ("wrong answers", f"{summary['error_rate']:.1%}"),
        ("no answer", f"{summary['unanswered']:.1%}"),
        ("processor seconds a run", number(summary["mean_seconds"])),
    ]
    usual = {
        "noise": options["assume_noise"] is None,
        "tested": options["gamma"] == 1.0,
        "tolerance": options["tolerance"] == 0.0,
        "no answer": summary["unanswered"] == 0.0,
    }
    return as_table([line for line in lines if not usual.get(line[0], False)])
