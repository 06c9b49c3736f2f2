"""Results as aligned tables, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click


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


def as_table(rows: Sequence[Sequence[Any]], texts: int = 2) -> str:
    """Aligned columns, the first ones flush left, the others right.

    >>> print(as_table([("arm", "mean"), ("C33", 0.9), ("x", None)], texts=1))
    arm  mean
    C33   0.9
    x       -
    """
    cells = [[shown(_cell(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def print_facts(form: str, facts: Mapping[str, Any], table: Sequence[tuple[str, Any]]) -> None:
    """Print facts about one thing as JSON or a line of CSV, or the table made of them."""
    if form == "json":
        click.echo(as_json(dict(facts)))
    elif form == "csv":
        click.echo(as_csv(list(facts), [list(facts.values())]))
    else:
        click.echo(as_table(table))


def rows_text(
    form: str, rows: Sequence[Mapping[str, Any]], heading: Sequence[str], texts: int = 1
) -> str:
    """Several things of a kind, with these columns; a table aligns the first ones left."""
    if form == "json":
        return as_json([dict(row) for row in rows])
    cells = [[row[name] for name in heading] for row in rows]
    return as_csv(heading, cells) if form == "csv" else as_table([heading, *cells], texts)


def shown(value: Any) -> str:
    """A cell of a table.

    >>> shown(None), shown(0.25), shown("a")
    ('-', '0.25', 'a')
    """
    if value is None or value == "":
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


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


def did_you_mean(word: str, known: Iterable[Any]) -> str:
    """A suggestion for a mistyped word, if one is close.

    >>> did_you_mean("staus", ["status", "list"]), did_you_mean("x", ["status"])
    ("; did you mean 'status'?", '')
    """
    near = get_close_matches(word, [str(one) for one in known], 1)
    return f"; did you mean {near[0]!r}?" if near else ""
