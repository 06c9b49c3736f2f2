"""Results as aligned text, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any


def as_json(value: Any) -> str:
    """Strict JSON: infinity is the text "inf", what is not a number is null.

    >>> as_json({"upper": float("inf"), "mean": float("nan")})
    '{"upper": "inf", "mean": null}'
    """
    from mislid.io import as_plain

    return json.dumps(as_plain(value), allow_nan=False)


def as_csv(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Comma-separated lines; None is empty, and no cell is a formula.

    >>> print(as_csv(["a", "b"], [[1, None], ["=1+1", -2]]))
    a,b
    1,
    '=1+1,-2
    """
    from mislid.io import guarded

    return "\n".join(_line(map(guarded, row)) for row in [heading, *rows])


def _line(cells: Iterable[Any]) -> str:
    """Cells in one line; the writer puts those with line breaks of either kind in quotes."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n")


def as_table(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns.

    >>> print(as_table([("runs", "3"), ("error rate", "0")]))
    runs        3
    error rate  0
    """
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in rows)


def aligned(rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Columns of any number, the first ones flush left, the others right.

    >>> print(aligned([("arm", "mean"), ("C33", "0.9"), ("x", "10.25")]))
    arm   mean
    C33    0.9
    x    10.25
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def number(value: float) -> str:
    """A number for people: thousands apart, three digits after the point of small ones.

    >>> number(25804.2), number(0.0512), number(float("inf"))
    ('25,804', '0.0512', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
