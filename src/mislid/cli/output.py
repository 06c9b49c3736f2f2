"""Results as aligned tables, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

Lines = Iterable[tuple[str, Any]]
"""Labels and values of a table about one thing."""


def print_facts(form: str, facts: Mapping[str, Any], lines: Lines | None = None) -> None:
    """Print facts about one thing as JSON, a line of CSV, or a table of `lines` or the facts."""
    if form == "json":
        click.echo(as_json(facts))
    elif form == "csv":
        click.echo(as_csv(list(facts), [list(facts.values())]))
    else:
        click.echo(as_table(known(facts) if lines is None else lines, 2))


def known(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Lines of a table: the facts that are neither None nor empty.

    >>> known({"best_now": ["a"], "pair": None, "contradictions": []})
    [('best now', ['a'])]
    """
    return [
        (name.replace("_", " "), value)
        for name, value in facts.items()
        if value not in (None, (), [])
    ]


def print_rows(
    form: str, heading: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1
) -> None:
    """Print several things of one kind; a table aligns the first columns, `texts`, left."""
    if form == "json":
        click.echo(as_json([dict(zip(heading, row, strict=True)) for row in rows]))
    else:
        table = [heading, *rows]
        click.echo(as_csv(heading, rows) if form == "csv" else as_table(table, texts))


def as_json(value: Any) -> str:
    """Strict JSON: infinity is the text "inf", NaN is null.

    >>> as_json({"upper": float("inf"), "mean": float("nan")})
    '{"upper": "inf", "mean": null}'
    """
    from mislid.io import as_plain

    return json.dumps(as_plain(value), allow_nan=False)


def as_csv(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Comma-separated lines; None is empty, several values share a cell, no cell is a formula.

    >>> print(as_csv(["a", "b"], [[True, None], ["=1+1", ["x", 2]]]))
    a,b
    true,
    '=1+1,x; 2
    """
    from mislid.io import guarded

    return "\n".join(_line(guarded(_cell(cell)) for cell in row) for row in [heading, *rows])


def _line(cells: Iterable[Any]) -> str:
    """One line; cells with line breaks of either kind are quoted."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n")


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return as_json(value)
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else value


def as_table(rows: Iterable[Sequence[Any]], texts: int) -> str:
    """Aligned columns, the first ones flush left, the others right.

    >>> print(as_table([("arm", "mean"), ("C33", 0.9), ("x", None)], texts=1))
    arm  mean
    C33   0.9
    x       -
    """
    cells = [[_shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, list | tuple):
        return listed(value)
    return f"{value:.6g}" if isinstance(value, float) else str(_cell(value))


def number(value: float) -> str:
    """A number with separated thousands, or three digits.

    >>> number(25804.2), number(0.0512), number(float("inf"))
    ('25,804', '0.0512', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def listed(labels: Sequence[Any] | None) -> str:
    """Labels after each other; a dash for none.

    >>> listed(["A12", "C33"]), listed([])
    ('A12, C33', '-')
    """
    return ", ".join(map(str, labels)) if labels else "-"


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "trial"), counted(3, "trial")
    ('1 trial', '3 trials')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


@contextmanager
def figure_if_possible() -> Iterator[None]:
    """Say that there is no figure, where matplotlib is missing."""
    try:
        yield
    except ImportError as problem:
        click.echo(f"No figure: {problem}.", err=True)
