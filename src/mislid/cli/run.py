"""Commands `mislid run` and `bound`: simulated identification and its lower bound."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from mislid.cli.options import (
    FOLDER,
    POSITIVE,
    WHOLE,
    all_of,
    app,
    as_noise,
    file_argument,
    format_option,
    option,
    question_options,
    rule_options,
    runs_options,
)
from mislid.cli.output import as_table, print_facts, print_rows

instance_options = all_of(
    file_argument,
    question_options(),
    option("--noise", POSITIVE, "Standard deviation of rewards; by default the file's own, or 1."),
    format_option(),
)


@app.command("run")
@instance_options
@rule_options
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
@option("--output", FOLDER, "Directory for all rows; the same call continues there.")
def run_command(
    file: str, m: int, form: str, jobs: int, output: str | None, **options: Any
) -> None:
    """Identify the m best arms of an instance, many times.

    Measurements are simulated. Prints their number and how often the answer was wrong.
    FILE is .npz or .csv and may declare the misspecification and the noise.
    """
    from mislid.model import load_instance
    from mislid.simulation.replicate import replicate_rows, replicate_settings, summarise
    from mislid.stopping.rules import NO_GUARANTEE, as_stopping_rule

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
    rows = replicate_rows(instance, m, jobs=jobs, output=output, progress=True, **options)
    if form == "csv":
        print_rows(form, rows[0]._fields, rows)
        return
    summary = asdict(summarise(rows))
    facts = {name: summary[name] for name in ("runs", "mean_samples", "std_samples", "error_rate")}
    facts |= {key: [getattr(row, key) for row in rows] for key in ("samples", "correct", "status")}
    is_proved = as_stopping_rule(options["stopping"]).guaranteed
    caveat = "" if is_proved else f", {NO_GUARANTEE}"
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


@app.command("bound")
@instance_options
def bound_command(
    file: str, m: int, delta: float, tolerance: float, form: str, **truth: float | None
) -> None:
    """Print a lower bound on the samples of any method.

    It bounds the mean number of samples of every method with error rate delta. Also prints the
    optimal allocation. FILE is .npz or .csv.
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
