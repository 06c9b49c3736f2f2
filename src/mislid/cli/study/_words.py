"""What commands print about studies: words, and the three formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.output import aligned, as_csv, as_json, as_table

if TYPE_CHECKING:
    from mislid.study import Study

NO_PROOF = "no proof"


def status_words(study: Study) -> str:
    """The status; what has no proof is labelled."""
    from mislid.forecast.overview import is_proven

    status = study.status
    proven = status == "running" or (status == "decided" and is_proven(study.settings.stopping))
    return status if proven else f"{status}, {NO_PROOF}"


def after(study: Study) -> dict[str, Any]:
    """What a study has come to."""
    from mislid.forecast.overview import is_proven

    status = study.status
    proven = status != "contradicted" and is_proven(study.settings.stopping)
    return {"samples": study.samples, "status": status, "proven": proven}


def after_words(study: Study) -> list[tuple[str, str]]:
    """The same for people."""
    return [("measurements", str(study.samples)), ("status", status_words(study))]


def listed(labels: Sequence[Any] | None, separator: str = ", ") -> str:
    """Labels after each other; a dash for none.

    >>> listed(["A12", "C33"]), listed([])
    ('A12, C33', '-')
    """
    return separator.join(map(str, labels)) if labels else "-"


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "trial"), counted(3, "trial")
    ('1 trial', '3 trials')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def print_facts(form: str, facts: Mapping[str, Any], table: Sequence[tuple[str, str]]) -> None:
    """Print facts about one thing, as JSON or as a line of CSV, or a table made for people."""
    if form == "table":
        click.echo(as_table(table))
    else:
        click.echo(facts_text(form, facts))


def facts_text(form: str, facts: Mapping[str, Any]) -> str:
    """Facts about one thing as JSON, or as headings and a line of CSV."""
    return as_json(dict(facts)) if form == "json" else as_csv(list(facts), [csv_cells(facts)])


def rows_text(
    form: str, rows: Sequence[Mapping[str, Any]], heading: Sequence[str], texts: int = 1
) -> str:
    """Several things of a kind, with these columns, the first ones flush left in a table."""
    if form == "json":
        return as_json([dict(row) for row in rows])
    cells = [csv_cells({name: row[name] for name in heading}) for row in rows]
    if form == "csv":
        return as_csv(heading, cells)
    return aligned([heading, *([shown(cell) for cell in row] for row in cells)], texts)


def csv_cells(facts: Mapping[str, Any]) -> list[Any]:
    """One cell per fact: several labels are put in one, truth values are those of JSON."""
    return [_cell(value) for value in facts.values()]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    return value


def shown(value: Any) -> str:
    """A cell of a table.

    >>> shown(None), shown(0.25), shown("a")
    ('-', '0.25', 'a')
    """
    if value is None or value == "":
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
