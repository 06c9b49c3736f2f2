"""Comma-separated tables: facts in comments at the top, headings, one line of cells per row."""

import csv
import io
import math
from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.errors import FileFormatError


class Sheet(NamedTuple):
    """The cells of a .csv file; `path` is for messages."""

    path: str
    facts: dict[str, str]
    headings: list[str]
    rows: list[tuple[int, list[str]]]  # line number in the file, cells

    def has(self, heading: str) -> bool:
        """Whether a column has this heading."""
        return heading in self.headings

    def texts(self, heading: str) -> list[str]:
        """The cells of a column as they stand there."""
        column = self.headings.index(heading)
        return [cells[column] for _, cells in self.rows]

    def numbers(self, heading: str) -> Vector:
        """The cells of a column as finite numbers."""
        column = self.headings.index(heading)
        return np.array([self._number(line, heading, cells[column]) for line, cells in self.rows])

    def _number(self, line: int, heading: str, cell: str) -> float:
        number = parsed(cell)
        if isinstance(number, str) or not math.isfinite(number):
            raise FileFormatError(
                f"{self.path!r} must hold finite numbers; "
                f"got {cell!r} in line {line}, column {heading!r}"
            )
        return number


def csv_sheet(content: bytes, path: str, row: str) -> Sheet:
    """Give the cells in the bytes of a .csv file; messages call a line of them a `row`."""
    text = decoded(content, path)
    facts, lines = leading_facts(text)
    skipped = text.count("\n") - lines.count("\n")
    return checked(path, facts, cells_of(lines, path, skipped), row)


def decoded(content: bytes, path: str) -> str:
    """Give the text, without the mark that some programs put before it."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path!r} must be UTF-8 text; it is not") from None


def cells_of(
    lines: str, path: str, skipped: int, separator: str = ","
) -> list[tuple[int, list[str]]]:
    """Give line numbers and cells; so many lines were skipped before."""
    reader = csv.reader(io.StringIO(lines, newline=""), delimiter=separator, strict=True)
    try:
        return [(skipped + reader.line_num, cells) for cells in reader if cells]
    except csv.Error as problem:
        raise FileFormatError(
            f"{path!r} must be comma-separated; line {skipped + reader.line_num} is not: {problem}"
        ) from None


def checked(path: str, facts: dict[str, str], rows: list[tuple[int, list[str]]], row: str) -> Sheet:
    """Give the sheet if it has distinct headings and as many cells in every line."""
    if len(rows) < 2:
        raise FileFormatError(f"{path!r} must have a heading line and one line per {row}")
    headings = [heading.strip() for heading in rows[0][1]]
    _refuse_headings(headings, path)
    for line, cells in rows[1:]:
        if len(cells) != len(headings):
            raise FileFormatError(
                f"{path!r} must have {len(headings)} cells in every line, one per heading; "
                f"got {len(cells)} in line {line}"
            )
    return Sheet(path, facts, headings, rows[1:])


def leading_facts(text: str) -> tuple[dict[str, str], str]:
    """Split off the comment lines at the top; those of the form `# key=value` state facts."""
    facts = {}
    while text.startswith("#"):
        comment, _, text = text.partition("\n")
        key, _, value = comment.lstrip("#").partition("=")
        facts[key.strip()] = value.strip()
    return facts, text


def _refuse_headings(headings: list[str], path: str) -> None:
    for column, heading in enumerate(headings):
        if not heading:
            raise FileFormatError(
                f"{path!r} must have a heading for every column ('name' for labels); "
                f"column {column + 1} has none"
            )
        if heading in headings[:column]:
            raise FileFormatError(f"{path!r} must have distinct headings; got {heading!r} twice")


def parsed(cell: str) -> float | str:
    """A cell as a number, or as it stands there."""
    try:
        return float(cell)
    except ValueError:
        return cell
