"""`mislid study what-if`: how many more measurements another question would take."""

from __future__ import annotations

from typing import Any

import click

from mislid.cli._common import examples, format_option, one_sentence_errors
from mislid.cli.study import _parts
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._state_of import forecast
from mislid.cli.study._words import listed, one, shown


@click.command(
    "what-if",
    epilog=examples(
        "mislid study what-if potency --delta 0.1",
        "mislid study what-if potency --m 2 --tolerance 0.05",
    ),
)
@name_argument
@storage_option
@click.option("--m", type=click.IntRange(1), help="Number of candidates to find.")
@click.option("--delta", type=click.FloatRange(0, 0.5, min_open=True), help="Error rate.")
@click.option("--tolerance", type=click.FloatRange(0), help="How much better others may be.")
@click.option("--misspecification", type=click.FloatRange(0), help="Deviation from linearity.")
@format_option
@one_sentence_errors
def command(name: str, storage: str | None, form: str, **changes: Any) -> None:
    """Estimate how many more measurements study NAME would take with another m, error rate,
    tolerance or misspecification. Nothing is changed.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    if not given:
        raise click.UsageError("give at least one of --m, --delta, --tolerance, --misspecification")
    with open_study(name, storage) as study:
        facts = {"study": name} | _parts.what_if(study, **given)
    table = [("study", name), *((key, f"{value:g}") for key, value in given.items())]
    if facts["decided_now"]:
        table.append(("decided now", f"{listed(facts['answer_now'])} (for this question)"))
    else:
        table.append(("forecast", "unknown" if facts["more"] is None else forecast(facts)))
        table.append(("best now", shown(listed(facts["answer_now"]))))
    click.echo(one(form, facts, table))
