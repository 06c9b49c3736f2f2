"""`mislid study what-if` and `sensitivity`: the same data for another question."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import file_option, new_picture, printed, question_options
from mislid.cli.output import aligned, as_json, as_table, number
from mislid.cli.study._opening import open_study, study_command
from mislid.cli.study._words import listed, print_facts, rows_text, shown
from mislid.cli.study.status import forecast_words

if TYPE_CHECKING:
    from mislid.forecast import Sensitivity, WhatIf


@study_command(
    "what-if",
    "mislid study what-if potency",
    "mislid study what-if potency --delta 0.1",
    "mislid study what-if potency --m 2 --tolerance 0.05",
)
@question_options(changes=True)
@printed()
def what_if_command(name: str, storage: str | None, form: str, **changes: Any) -> None:
    """Estimate how many more measurements study NAME would take with another m, error rate,
    tolerance or misspecification; without any of them, for several at once. Nothing is changed, and
    a question that is chosen by looking at this does not keep its error rate.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    with open_study(name, storage) as study:
        if not given:
            click.echo(_several(form, study.what_ifs()))
            return
        found = study.what_if(**given)
    table = [
        ("study", name),
        *((key, f"{value:g}") for key, value in given.items()),
        ("forecast", _forecast(found)),
        ("best now", listed(found.answer_now)),
    ]
    print_facts(form, {"study": name, **found.to_dict()}, table)


def _forecast(found: WhatIf) -> str:
    return "would have decided" if found.decided_now else forecast_words(found)


def _several(form: str, found: tuple[WhatIf, ...]) -> str:
    if form != "table":
        rows = [one.to_dict() for one in found]
        return rows_text(form, rows, list(rows[0]) if rows else [])
    heading = ("question", "forecast", "best now")
    cells = ((_question(one), _forecast(one), listed(one.answer_now)) for one in found)
    return aligned([heading, *cells], len(heading))


def _question(found: WhatIf) -> str:
    """What differs from the study's own question."""
    return ", ".join(f"{name} {shown(getattr(found, name))}" for name in found.changed)


@study_command(
    "sensitivity",
    "mislid study sensitivity potency",
    "mislid study sensitivity potency --format csv",
    "mislid study sensitivity potency --plot dial.svg",
)
@file_option(
    "--plot",
    "Save a picture of it: evidence against misspecification.",
    "FILE.png|svg",
    "picture",
)
@printed()
def sensitivity_command(name: str, storage: str | None, picture: str | None, form: str) -> None:
    """Print up to which misspecification the measurements of study NAME prove its answer, which
    ones they refute, and the preferred answer for each of several.
    """
    place = None if picture is None else new_picture(picture, "--plot")
    with open_study(name, storage) as study:
        found = study.sensitivity()
    if place is not None:
        from mislid.plotting import draw_dial, save

        save(draw_dial(found), place)
        click.echo(f"Picture in {picture}.", err=True)
    facts = {"study": name, **found.to_dict()}
    if form == "json":
        click.echo(as_json(facts))
        return
    from mislid.forecast import SensitivityRow

    columns = [field.name for field in fields(SensitivityRow)]
    table = rows_text(form, facts["table"], columns, texts=2)
    if form == "csv":
        click.echo(table)
    else:
        click.echo(f"{as_table(_head(name, found))}\n\n{found.statement}\n\n{table}")


def _head(name: str, found: Sensitivity) -> list[tuple[str, str]]:
    largest = "nowhere" if found.largest is None else number(found.largest)
    verb = "proved" if found.proven else "decides"
    return [
        ("study", name),
        ("declared", number(found.declared)),
        ("answer", listed(found.answer)),
        (f"{verb} up to", largest),
        ("refuted below", number(found.smallest)),
        ("level", number(found.level)),
    ]
