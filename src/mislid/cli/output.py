"""Output of commands: aligned tables, JSON or CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import plain, visible

if TYPE_CHECKING:
    from mislid.study import Study

NO_PROOF = "no proof"
_EMPTY: tuple[Any, ...] = (None, (), [], "")
Lines = Iterable[tuple[str, Any]]
"""Labels and values: the rows of a table of facts."""


def print_facts(form: str, facts: Mapping[str, Any], lines: Lines | None = None) -> None:
    """Print facts as JSON, as a line of CSV, or as a table of `lines` or else of the facts.

    A table omits values that are None or empty.
    """
    if form == "json":
        click.echo(as_json(facts))
    elif form == "csv":
        click.echo(as_csv(list(facts), [list(facts.values())]), nl=False)
    else:
        pairs = facts.items() if lines is None else lines
        known = [(name.replace("_", " "), value) for name, value in pairs if value not in _EMPTY]
        click.echo(as_table(known, 2))


def print_rows(
    form: str, heading: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1
) -> None:
    """Print rows with the same columns; a table aligns the first `texts` columns left."""
    if form == "json":
        click.echo(as_json([dict(zip(heading, row, strict=True)) for row in rows]))
    elif form == "csv":
        click.echo(as_csv(heading, rows), nl=False)
    else:
        click.echo(as_table([heading, *rows], texts))


def as_json(value: Any) -> str:
    """Strict JSON: infinity is the text "inf", NaN is null.

    >>> as_json({"upper": float("inf"), "mean": float("nan")})
    '{"upper": "inf", "mean": null}'
    """
    from mislid.io import as_plain

    return json.dumps(as_plain(value), allow_nan=False)


def as_csv(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Comma-separated lines; None is empty, several values share a cell, no cell is a formula.

    >>> print(as_csv(["a", "b"], [[True, None], ["=1+1", ["x", 2]]]), end="")
    a,b
    true,
    '=1+1,x; 2
    """
    from mislid.io import csv_text

    return csv_text(map(_cell, row) for row in [heading, *rows])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return as_json(value)
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else value


def as_table(rows: Iterable[Sequence[Any]], texts: int) -> str:
    """Aligned columns: the first `texts` of them left, the others right.

    Control characters are escaped.

    >>> print(as_table([("arm", "mean"), ("C33", 0.9), ("x", None)], texts=1))
    arm  mean
    C33   0.9
    x       -
    """
    cells = [[visible(shown(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def shown(value: Any) -> str:
    """A value in a cell of a table; a dash for None.

    >>> shown(["A12", "C33"]), shown(True), shown(())
    ('A12, C33', 'true', '-')
    """
    return plain(_cell(value) if isinstance(value, bool | dict) else value) or "-"


def sentence(problem: Exception) -> str:
    """The message of an exception with its notes."""
    notes = " ".join(getattr(problem, "__notes__", []))
    text = f"{problem} ({notes})" if notes else str(problem)
    return text if text.endswith("?") else f"{text}."


def complain(text: str) -> None:
    """Print a warning or an error on stderr, on one line."""
    click.echo(visible(text), err=True)


@contextmanager
def figure_if_possible() -> Iterator[None]:
    """Print that there is no figure if matplotlib is missing."""
    try:
        yield
    except ImportError as problem:
        complain(f"No figure: {problem}.")


def is_proven(status: str, stopping: str) -> bool:
    """Whether the answer of a study is, or will be, proven."""
    from mislid.stopping.rules import stopping_rule_called

    return status != "contradicted" and stopping_rule_called(stopping).guaranteed


def print_change(
    form: str, study: Study, facts: Mapping[str, Any], lines: Mapping[str, Any]
) -> None:
    """Print a change of a study and its status after it."""
    samples, status = study.samples, study.status
    proven = is_proven(status, study.settings.stopping)
    unproven = "" if proven or status == "running" else f", {NO_PROOF}"
    facts = {**facts, "samples": samples, "status": status, "proven": proven}
    lines = {**lines, "measurements": samples, "status": f"{status}{unproven}"}
    print_facts(form, facts, lines.items())


def record_change(form: str, study: Study, change: Callable[[], Any]) -> None:
    """Change a study; print whether anything changed and the status."""
    events = len(study.events())
    change()
    changed = len(study.events()) > events
    withdrawn = any(one.sequence > events for one in study.overview().withdrawn)
    again = "made again" if study.status == "decided" else "there is none now"
    lines = {
        "changed": "yes" if changed else "no: it was so before",
        "decision": f"withdrawn, and {again}" if withdrawn else None,
    }
    print_change(form, study, {"changed": changed, "withdrawn": withdrawn}, lines)
