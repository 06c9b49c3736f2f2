"""Tables of the generated documents, read back: what pages and pictures say comes from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[1] / "docs"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Table(NamedTuple):
    """What stands above a table, its headings, and its rows."""

    title: str
    header: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> list[str]:
        """The cells below a heading.

        >>> Table("", ["case", "runs"], [["A", "3"], ["B", "5"]]).column("runs")
        ['3', '5']
        """
        if name not in self.header:
            raise ValueError(f"the table has no column {name!r}; it has {', '.join(self.header)}")
        at = self.header.index(name)
        return [row[at] for row in self.rows]


def section(text: str, name: str) -> str:
    """What stands between the markers of a section.

    >>> section("<!-- a:begin -->x<!-- a:end -->", "a")
    'x'
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    _, found, rest = text.partition(begin)
    body, closed, _ = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the document has no markers {begin} and {end}")
    return body


def tables(text: str) -> Iterator[Table]:
    """All Markdown tables of a text, each with the last line of text above it.

    >>> [table] = tables("Times:" + chr(10) + "| case | time |" + chr(10) + "|---|---|" + chr(10)
    ...                  + "| A | 1 s |")
    >>> table.title, table.header, table.rows
    ('Times:', ['case', 'time'], [['A', '1 s']])
    """
    title, lines = "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            lines.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif lines:
            yield Table(title, lines[0], lines[2:])
            lines = []
        if line and not line.startswith("|"):
            title = line


def benchmark(name: str, document: Path = DOCS / "benchmarks.md") -> list[Table]:
    """The tables of a benchmark."""
    return list(tables(section(document.read_text(encoding="utf-8"), name)))


def number(cell: str) -> float | None:
    """The first number of a cell, None where there is none.

    >>> number("≥ 6,598 ± 4,337"), number("0.97 ± 0.06"), number("")
    (6598.0, 0.97, None)
    """
    found = NUMBER.search(cell)
    return None if found is None else float(found[0].replace(",", ""))


def error(cell: str) -> float:
    """The standard error of a cell, 0 where there is none.

    >>> error("2,532 ± 106"), error("12")
    (106.0, 0.0)
    """
    return number(cell.partition("±")[2]) or 0.0


def is_cut(cell: str) -> bool:
    """Whether a number is a lower bound because runs were given up.

    >>> is_cut("≥ 3.70 ± 0.42"), is_cut("at least 45,902 ± 10,524"), is_cut("3.70")
    (True, True, False)
    """
    return cell.startswith(("≥", "at least"))
