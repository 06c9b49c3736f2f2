"""`mislid study what-if`: how many more measurements another question would take."""

from __future__ import annotations

from typing import Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.output import aligned
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._state_of import forecast
from mislid.cli.study._words import listed, many, one, shown


@click.command(
    "what-if",
    epilog=examples(
        "mislid study what-if potency",
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
    tolerance or misspecification; without any of them, for several at once. Nothing is changed, and
    a question that is chosen by looking at this does not keep its error rate.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    with open_study(name, storage) as study:
        if not given:
            click.echo(_several(form, [row.to_dict() for row in study.what_ifs()]))
            return
        facts = {"study": name} | study.what_if(**given).to_dict()
    table = [("study", name), *((key, f"{value:g}") for key, value in given.items())]
    table.append(("forecast", _forecast(facts)))
    table.append(("best now", listed(facts["answer_now"])))
    click.echo(one(form, facts, table))


def _forecast(facts: dict[str, Any]) -> str:
    return "would have decided" if facts["decided_now"] else forecast(facts)


def _several(form: str, rows: list[dict[str, Any]]) -> str:
    if form != "table":
        return many(form, rows, list(rows[0]) if rows else [])
    heading = ("question", "forecast", "best now")
    return aligned(
        [heading, *((_question(row), _forecast(row), listed(row["answer_now"])) for row in rows)],
        len(heading),
    )


def _question(row: dict[str, Any]) -> str:
    """What differs from the study's own question."""
    return ", ".join(f"{name} {shown(row[name])}" for name in row["changed"])
