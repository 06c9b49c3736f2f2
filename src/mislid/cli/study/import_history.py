"""`mislid study import`: measurements of any origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._words import counted, is_proven, one, status_words
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.study import Study


@click.command(
    "import",
    epilog=examples(
        "mislid study import potency history.csv",
        "mislid study import potency lims.csv --arm-column compound --value-column ic50",
    ),
)
@name_argument
@click.argument("file", type=click.Path())
@storage_option
@click.option("--arm-column", metavar="COLUMN", default="arm", show_default=True)
@click.option("--value-column", metavar="COLUMN", default="value", show_default=True)
@click.option("--again", is_flag=True, help="Count rows that were imported before once more.")
@format_option
@one_sentence_errors
def command(
    name: str,
    file: str,
    storage: str | None,
    arm_column: str,
    value_column: str,
    again: bool,
    form: str,
) -> None:
    """Take in measurements that study NAME did not ask for, from the columns arm and value of
    FILE.csv: all of them, or none if anything is wrong.
    """
    with open_study(name, storage) as study:
        pairs = _pairs(study, file, arm_column, value_column)
        if not again:
            _refuse_known(study, file, pairs)
        study.add_observations(pairs)
        facts: dict[str, Any] = {
            "imported": len(pairs),
            "samples": study.samples,
            "status": study.status,
            "proven": is_proven(study.settings.stopping),
        }
        table = [
            ("imported", str(len(pairs))),
            ("measurements", str(facts["samples"])),
            ("status", status_words(study)),
        ]
        click.echo(one(form, facts, table))


def _pairs(study: Study, file: str, arm: str, value: str) -> list[tuple[Any, float]]:
    from mislid.cli.study._sheet import outside, refuse_wrong
    from mislid.files import read_spreadsheet

    table = read_spreadsheet(file, "measurement")
    for option, heading in (("--arm-column", arm), ("--value-column", value)):
        if not table.sheet.has(heading):
            headings = ", ".join(map(repr, table.sheet.headings))
            raise ProblemError(
                f"{option} must name a column of {file!r}, one of {headings}; got {heading!r}"
            )
    labels = {str(label).strip(): label for label in study.candidates.labels}
    labels |= {str(label): label for label in study.candidates.labels}
    settings = study.settings
    pairs, wrong = [], []
    cells = table.sheet.texts(arm)
    for at, number in enumerate(table.decimals(value)):
        line = table.sheet.rows[at][0]
        if cells[at] not in labels:
            wrong.append(f"line {line}: {cells[at]!r} is none of the candidates")
        elif number is None or isinstance(number, str):
            wrong.append(f"line {line}: {number or 'a value is missing'}")
        elif complaint := outside(number, settings):
            wrong.append(f"line {line}: {complaint}")
        else:
            pairs.append((labels[cells[at]], number))
    refuse_wrong(file, "imported", wrong)
    return pairs


def _refuse_known(study: Study, file: str, pairs: list[tuple[Any, float]]) -> None:
    from mislid.study.events import Observed

    positions = study.candidates.positions
    rows = Observed(
        tuple(positions[label] for label, _ in pairs), tuple(value for _, value in pairs)
    )
    for event in study.events():
        if event.fact == rows:
            raise ProblemError(
                f"the {counted(len(pairs), 'row')} of {file!r} were imported before, as event "
                f"{event.sequence}: --again counts them once more"
            )
