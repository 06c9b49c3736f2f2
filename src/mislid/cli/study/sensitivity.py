"""`mislid study sensitivity`: the answer as a function of the misspecification."""

from __future__ import annotations

from typing import Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.output import as_json, as_table, number
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._words import many

_COLUMNS = ("misspecification", "answer", "statistic", "threshold", "decided")


@click.command(
    "sensitivity",
    epilog=examples(
        "mislid study sensitivity potency",
        "mislid study sensitivity potency --format csv",
    ),
)
@name_argument
@storage_option
@format_option
@one_sentence_errors
def command(name: str, storage: str | None, form: str) -> None:
    """Print the largest misspecification for which the measurements of study NAME still decide, and
    the answer for each of several.
    """
    with open_study(name, storage) as study:
        facts = {"study": name} | study.sensitivity().to_dict()
    columns = list(facts["table"][0]) if facts["table"] else list(_COLUMNS)
    if form == "json":
        click.echo(as_json(facts))
    elif form == "csv":
        click.echo(many(form, facts["table"], columns))
    else:
        click.echo(f"{as_table(_head(facts))}\n\n{many(form, facts['table'], columns, texts=2)}")


def _head(facts: dict[str, Any]) -> list[tuple[str, str]]:
    largest = facts["largest"]
    rows = [
        ("study", facts["study"]),
        ("declared", _shown(facts["declared"])),
        ("decides up to", "nowhere" if largest is None else _shown(largest)),
    ]
    if facts["smallest"]:
        rows.append(("contradicted below", _shown(facts["smallest"])))
    return rows


def _shown(value: Any) -> str:
    return number(float(value)) if isinstance(value, int | float) else str(value)
