"""`mislid study export`: what a study holds, for other programs and for reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import examples, one_sentence_errors
from mislid.cli.output import aligned, as_csv, as_json
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._words import moment, shown
from mislid.cli.study.result import decided, save_certificate
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.study import Study


@click.command(
    "export",
    epilog=examples(
        "mislid study export potency > measurements.csv",
        "mislid study export potency --events --format json --output log.json",
        "mislid study export potency --html report.html --certificate potency.json",
    ),
)
@name_argument
@storage_option
@click.option("--observations", "what", flag_value="observations", help="The default.")
@click.option("--events", "what", flag_value="events", help="The whole log.")
@click.option("--html", metavar="FILE.html", type=click.Path(), help="Write a report on one page.")
@click.option("--certificate", metavar="FILE.json", type=click.Path(), help="Write a certificate.")
@click.option(
    "--output", metavar="FILE", type=click.Path(), help="Where data go; by default standard output."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="csv",
    show_default=True,
    help="How to write the data.",
)
@one_sentence_errors
def command(
    name: str,
    storage: str | None,
    what: str | None,
    html: str | None,
    certificate: str | None,
    output: str | None,
    form: str,
) -> None:
    """Write the measurements of study NAME, its log, a certificate or a report."""
    for option, place in (("--html", html), ("--certificate", certificate), ("--output", output)):
        _refuse_place(option, place)
    with open_study(name, storage) as study:
        if certificate is not None:
            save_certificate(decided(study), certificate)
        if html is not None:
            from mislid.plotting_study import write_report

            write_report(study, html)
            click.echo(f"Report in {html}.", err=True)
        if what or output or not (html or certificate):
            _export(study, what or "observations", form, output)


def _refuse_place(option: str, place: str | None) -> None:
    if place is None:
        return
    if Path(place).is_dir() or not Path(place).parent.is_dir():
        raise ProblemError(f"{option} must name a file in an existing directory; got {place!r}")


def _export(study: Study, what: str, form: str, output: str | None) -> None:
    rows = _observations(study) if what == "observations" else _events(study)
    heading = _HEADINGS[what]
    if form == "json":
        text = as_json([dict(zip(heading, row, strict=True)) for row in rows])
    elif form == "csv":
        flat = [[as_json(cell) if isinstance(cell, dict) else cell for cell in row] for row in rows]
        text = as_csv(heading, flat)
    else:
        text = aligned([heading, *map(_cells, rows)], len(heading))
    if output is None:
        click.echo(text)
        return
    from mislid.files import write_whole

    write_whole(Path(output), f"{text}\n".encode())
    click.echo(f"{len(rows):,} {what} in {output}.", err=True)


_HEADINGS = {
    "observations": ("event", "time", "trial", "arm", "value"),
    "events": ("sequence", "time", "kind", "fact"),
}


def _observations(study: Study) -> list[list[Any]]:
    return [list(row) for row in study.observation_rows()]


def _events(study: Study) -> list[list[Any]]:
    """Arms by the user's labels, and nothing that has to be known besides."""
    import json

    from mislid.study.events import entry_of

    labels = study.candidates.labels
    rows = []
    for event in study.events():
        entry = entry_of(event)
        fact = json.loads(entry.body)
        for arms in {"arms", "answer", "pair"} & set(fact):
            fact[arms] = [labels[arm] for arm in fact[arms]]
        rows.append([entry.sequence, entry.time, entry.kind, fact])
    return rows


def _cells(row: list[Any]) -> list[str]:
    """For people: times to the second, long facts cut."""
    number, seconds, *rest = row
    texts = [as_json(cell) if isinstance(cell, dict) else shown(cell) for cell in rest]
    return [
        str(number),
        moment(seconds),
        *(text if len(text) <= 80 else f"{text[:77]}..." for text in texts),
    ]
