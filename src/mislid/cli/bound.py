"""`mislid bound`: samples that any method needs."""

from __future__ import annotations

from typing import Any

import click

from mislid._formatting import the_best
from mislid.cli.options import instance_options, load, setting
from mislid.cli.output import as_csv, as_json, as_table, number


@click.command("bound")
@instance_options
@setting(
    "--rtol",
    click.FloatRange(0, 1, min_open=True),
    1e-3,
    "Largest relative distance between the proved bounds.",
)
def command(
    form: str, delta: float, rtol: float, tolerance: float, m: int, file: str, **declared: Any
) -> None:
    """Print the characteristic time of FILE (.npz or .csv), the optimal allocation of measurements,
    and the number of measurements that any method with error rate delta needs on average.
    """
    from mislid.geometry.time import characteristic_time

    instance = load(file, **declared)
    time = characteristic_time(
        instance.model, instance.means, m, noise=instance.noise, tolerance=tolerance, rtol=rtol
    )
    samples, shares = time.samples(delta), time.allocation.tolist()
    facts = {
        "characteristic_time": time.value,
        "lower": time.lower,
        "upper": time.upper,
        "samples": samples,
    }
    if form == "json":
        note = {"note": time.note} if time.note else {}
        click.echo(as_json({**facts, "allocation": shares, **note}))
        return
    if form == "csv":
        heading = [*facts, *(f"allocation_{arm}" for arm in range(instance.K))]
        click.echo(as_csv(heading, [[*facts.values(), *shares]]))
        return
    rows = [
        ("arms, dimension", f"{instance.K}, {instance.d}"),
        ("misspecification", f"{instance.model.misspecification:g}"),
        ("characteristic time", f"{time.value:.6g}, between {time.lower:.6g} and {time.upper:.6g}"),
        ("samples needed", f"{number(samples)} on average at error rate {delta:g}"),
    ]
    if time.tolerance:
        caution = "other answers that it allows may need fewer"
        rows.insert(2, ("tolerance", f"{time.tolerance:g}, for {the_best(time.m)}; {caution}"))
    if time.note:
        rows.append(("note", time.note))
    order = sorted(range(instance.K), key=lambda arm: -shares[arm])
    allocation = [(f"arm {instance.label(arm)}", f"{shares[arm]:7.2%}") for arm in order]
    click.echo(f"{as_table(rows)}\n\noptimal allocation\n{as_table(allocation)}")
