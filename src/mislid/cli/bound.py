"""`mislid bound`: what any method needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mislid._words import the_best
from mislid.cli.options import instance_options, load, one_sentence_errors, setting
from mislid.cli.output import as_csv, as_json, as_table, number

if TYPE_CHECKING:
    from mislid.geometry.time import CharacteristicTime
    from mislid.model import Instance


@click.command("bound")
@instance_options
@setting(
    "--rtol",
    click.FloatRange(0, 1, min_open=True),
    1e-3,
    "Largest relative distance between the proved sides.",
)
@one_sentence_errors
def command(
    form: str,
    delta: float,
    rtol: float,
    tolerance: float,
    m: int,
    file: str,
    **declared: float | None,
) -> None:
    """Print the characteristic time of FILE (.npz or .csv), the optimal allocation of measurements,
    and the number of measurements that any method with error rate delta needs on average.
    """
    from mislid.geometry.time import characteristic_time

    instance = load(file, **declared)
    time = characteristic_time(
        instance.model,
        instance.means,
        m,
        noise=instance.noise,
        tolerance=tolerance,
        rtol=rtol,
    )
    click.echo(_PRINT[form](instance, time, delta))


def _json(instance: Instance, time: CharacteristicTime, delta: float) -> str:
    return as_json(
        {
            "characteristic_time": time.value,
            "lower": time.lower,
            "upper": time.upper,
            "samples": time.samples(delta),
            "allocation": time.allocation.tolist(),
        }
        | ({"note": time.note} if time.note else {})
    )


def _csv(instance: Instance, time: CharacteristicTime, delta: float) -> str:
    heading = ["characteristic_time", "lower", "upper", "samples"]
    heading += [f"allocation_{arm}" for arm in range(instance.K)]
    row = [time.value, time.lower, time.upper, time.samples(delta), *time.allocation.tolist()]
    return as_csv(heading, [row])


def _table(instance: Instance, time: CharacteristicTime, delta: float) -> str:
    samples = time.samples(delta)
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
    order = sorted(range(instance.K), key=lambda arm: -time.allocation[arm])
    shares = [(f"arm {instance.label(arm)}", f"{time.allocation[arm]:7.2%}") for arm in order]
    return as_table(rows) + "\n\noptimal allocation\n" + as_table(shares)


_PRINT = {"json": _json, "csv": _csv, "table": _table}
