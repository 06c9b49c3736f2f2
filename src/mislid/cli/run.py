"""`mislid run`: identify, many times."""

from __future__ import annotations

from dataclasses import asdict
from inspect import signature
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import (
    assume_noise_option,
    cluster,
    instance_options,
    load,
    one_sentence_errors,
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
@assume_noise_option
@setting("--runs", click.IntRange(1), 100, "Number of runs.")
@click.option(
    "--max-samples", type=click.IntRange(1), help="Give up a run after so many measurements."
)
@worker_options
@output_folder_option(
    "Keep settings.json, runs.csv and figure.png there; the same call goes on where it ended."
)
@quiet_option()
@one_sentence_errors
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
    from mislid.simulation.replicate import replicate_rows, replicate_settings

    instance = load(file, misspecification, noise)
    settings = replicate_settings(instance, m, **options)
    if options["tolerance"] == 0.0 and options["max_samples"] is None:
        _warn_of_tie(instance, m)
    with cluster(dask, jobs) as client:
        rows = replicate_rows(
            instance,
            m,
            jobs=jobs,
            client=client,
            output=output,
            progress=not quiet,
            **options,
        )
    show(rows, settings, output, form)


def show(rows: list[Row], settings: dict[str, Any], output: str | None, form: str) -> None:
    """Print what the runs say, and draw them where they are kept."""
    from mislid.simulation.identify import identify
    from mislid.simulation.replicate import summarise

    # Runs that were made from Python name only the options that were given.
    usual = {name: part.default for name, part in signature(identify).parameters.items()}
    options = usual | settings["options"]
    if output is not None:
        _draw(output, rows, options)
    summary = asdict(summarise(rows))
    if form == "table":
        click.echo(_table(summary, settings, options))
    elif form == "csv":
        click.echo(as_csv(rows[0]._fields, rows))
    else:
        click.echo(_json(rows, summary, settings))


def _warn_of_tie(instance: Instance, m: int) -> None:
    means = sorted(instance.means.tolist(), reverse=True)
    if means[m - 1] == means[m]:
        click.echo(
            f"Warning: the mean at place m={m} and the next one are equal, so that runs may never "
            "stop; give --tolerance or --max-samples.",
            err=True,
        )


def _draw(output: str, rows: list[Row], options: dict[str, Any]) -> None:
    from pathlib import Path

    from mislid.plotting import save_runs

    try:
        save_runs(Path(output) / "figure.png", {options["algorithm"]: rows}, options["delta"])
    except ImportError:
        click.echo("No figure: matplotlib is missing (pip install 'mislid[plots]').", err=True)


def _json(rows: list[Row], summary: dict[str, Any], settings: dict[str, Any]) -> str:
    keys = ("runs", "mean_samples", "std_samples", "error_rate")
    return as_json(
        {key: summary[key] for key in keys}
        | {name: [getattr(row, name) for row in rows] for name in ("samples", "correct", "status")}
        | {"settings": settings}
    )


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
    shown = {
        "noise": options["assume_noise"] is not None,
        "tested": options["gamma"] > 1.0,
        "tolerance": options["tolerance"] > 0.0,
        "no answer": summary["unanswered"] > 0.0,
    }
    return as_table([line for line in lines if shown.get(line[0], True)])
