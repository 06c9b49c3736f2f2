"""`mislid run`: identify, many times; `mislid merge`: join the directories of shards."""

from __future__ import annotations

from dataclasses import asdict
from inspect import signature
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import (
    assume_noise_option,
    cluster,
    examples,
    flag,
    instance_options,
    load,
    one_sentence_errors,
    output_folder_option,
    printed,
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


def _as_shard(_: Any, __: Any, value: str | None) -> tuple[int, int] | None:
    """(i, n) from i/n; `replicate` looks at the numbers."""
    if value is None:
        return None
    try:
        number, count = map(int, value.split("/"))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not of the form i/n, such as 3/8.") from None
    return number, count


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
@click.option(
    "--shard",
    metavar="I/N",
    callback=_as_shard,
    help="Do only part I of N of the runs, with I from 1 to N: every N-th, from run I - 1 on. "
    "`mislid merge` joins the directories of all parts.",
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
    shard: tuple[int, int] | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the m best arms of FILE (.npz or .csv) by simulated measurements, in many runs, and
    print how many measurements that took and how often the answer was wrong.
    """
    from mislid.simulation.replicate import replicate_rows, replicate_settings

    if shard is not None and output is None:
        raise click.UsageError("--shard needs --output, a directory of its own for every shard")
    instance = load(file, misspecification, noise)
    if options["assume_noise"] is None:
        del options["assume_noise"]  # directories of earlier releases do not name it
    settings = replicate_settings(instance, m, **options)
    if options["tolerance"] == 0.0 and options["max_samples"] is None:
        _warn_of_tie(instance, m)
    with cluster(dask, jobs) as client:
        rows = replicate_rows(
            instance,
            m,
            jobs=jobs,
            client=client,
            shard=shard,
            output=output,
            progress=not quiet,
            **options,
        )
    show(rows, settings, output, form)


@click.command("merge", epilog=examples("mislid merge results/* --output merged"))
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@output_folder_option("Where to write settings.json, runs.csv and figure.png.", required=True)
@flag("--partial", "Also when runs are missing.")
@printed()
def merge_command(folders: tuple[str, ...], output: str, partial: bool, form: str) -> None:
    """Join the directories that `mislid run --shard` filled, and print what `mislid run` without
    shards would have printed. Directories of different settings are refused, and runs that are
    missing. A later `mislid run` with the same settings goes on from OUTPUT.
    """
    from mislid.simulation.ledger import merge

    rows, settings = merge(folders, output, partial=partial)
    show(rows, settings, output, form)


def show(rows: list[Row], settings: dict[str, Any], output: str | None, form: str) -> None:
    """Print what the runs say, and draw them where they are kept."""
    from mislid.simulation.identify import identify
    from mislid.simulation.summary import summarise

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
