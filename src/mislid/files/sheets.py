"""Tables of cells in text files: facts in comments at the top, headings, one line per row.

`csv_sheet` reads what programs write, with commas and points. `spreadsheet` also reads what went
through a spreadsheet program: such programs write a mark before the text, semicolons or tabs and
decimal commas where the country does, a line `sep=;`, spaces, and rows and columns that are empty.
A number that can be read in two ways is refused.
"""

import csv
import io
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.errors import FileFormatError

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


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
    text = _decoded(content, path)
    facts, lines = _leading_facts(text)
    skipped = text.count("\n") - lines.count("\n")
    return _checked(path, facts, _cells_of(lines, path, skipped), row)


def _decoded(content: bytes, path: str) -> str:
    """Give the text, without the mark that some programs put before it."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path!r} must be UTF-8 text; it is not") from None


def _cells_of(
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


def _checked(
    path: str, facts: dict[str, str], rows: list[tuple[int, list[str]]], row: str
) -> Sheet:
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


def _leading_facts(text: str) -> tuple[dict[str, str], str]:
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


class Spreadsheet(NamedTuple):
    """A sheet whose cells are without spaces around them, and what separated them."""

    sheet: Sheet
    separator: str

    def decimals(self, heading: str) -> "list[float | str | None]":
        """Per row the number in this column, None for an empty cell, or what is wrong with it."""
        cells = self.sheet.texts(heading)
        commas = self.separator != ","
        if commas:
            _refuse_mixed(self.sheet, heading, cells)
        return [decimal(cell, commas=commas) if cell else None for cell in cells]

    def numbers(self, heading: str) -> list[float]:
        """The numbers in a column without empty cells."""
        found = []
        for (line, _), value in zip(self.sheet.rows, self.decimals(heading), strict=True):
            if value is None or isinstance(value, str):
                raise FileFormatError(
                    f"{self.sheet.path!r}, line {line}, column {heading!r}: "
                    f"{value or 'a number is missing'}"
                )
            found.append(value)
        return found


def spreadsheet(content: bytes, path: str, row: str) -> Spreadsheet:
    """Give the cells in the bytes of a file; messages call a line of them a `row`."""
    text = _decoded(content, path)
    facts, lines = _leading_facts(text)
    separator, lines = _separator(lines, path)
    skipped = text.count("\n") - lines.count("\n")
    rows = [
        (line, [cell.strip() for cell in cells])
        for line, cells in _cells_of(lines, path, skipped, separator)
    ]
    facts = {key: value.rstrip(separator) for key, value in facts.items()}
    sheet = _checked(path, facts, _without_empty([entry for entry in rows if any(entry[1])]), row)
    return Spreadsheet(sheet, separator)


def from_workbook(rows: list[tuple[int, list[str]]], path: str, row: str) -> Spreadsheet:
    """Give the cells of a workbook's sheet, which may begin with rows that state facts."""
    facts: dict[str, str] = {}
    filled = [entry for entry in rows if any(entry[1])]
    while filled and filled[0][1][0].startswith("#"):
        _, (comment, *_) = filled.pop(0)
        facts |= _leading_facts(f"{comment}\n")[0]
    return Spreadsheet(_checked(path, facts, _without_empty(filled), row), ",")


def decimal(cell: str, *, commas: bool = False) -> float | str:
    """The finite number in a cell, or a sentence on why there is none.

    `commas` says that decimal commas may be meant, because something else separates cells.

    Examples
    --------
    >>> decimal("0.31"), decimal("0,31", commas=True)
    (0.31, 0.31)
    >>> decimal("0,31")
    "'0,31' may be a decimal comma or thousands: write a decimal point and no separator"
    >>> decimal("n/a")
    "a finite number is needed; got 'n/a'"
    """
    shown = cell if len(cell) <= 40 else cell[:37] + "..."
    if _NUMBER.fullmatch(cell):
        number = float(cell)
    elif "," in cell and _NUMBER.fullmatch(cell.replace(",", ".", 1)):
        if not commas:
            return (
                f"{shown!r} may be a decimal comma or thousands: write a decimal point and no "
                "separator"
            )
        number = float(cell.replace(",", "."))
    else:
        return f"a finite number is needed; got {shown!r}"
    return number if math.isfinite(number) else f"a finite number is needed; got {shown!r}"


def _refuse_mixed(sheet: Sheet, heading: str, cells: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for (line, _), cell in zip(sheet.rows, cells, strict=True):
        for mark in ",.":
            if mark in cell and isinstance(decimal(cell, commas=True), float):
                first.setdefault(mark, line)
    if len(first) > 1:
        raise FileFormatError(
            f"{sheet.path!r} must have one decimal mark in column {heading!r}; got a comma in line "
            f"{first[',']} and a point in line {first['.']}"
        )


def _separator(lines: str, path: str) -> tuple[str, str]:
    """What separates cells, and the lines without one that says so."""
    stated = re.match(r"(?i)sep=(.)[^\n]*\n", lines)
    if stated:
        if stated[1] not in _SEPARATORS:
            raise FileFormatError(
                f"{path!r} must be separated by commas, semicolons or tabs; "
                f"got {stated[0].strip()!r}"
            )
        return stated[1], lines[stated.end() :]
    heading = re.sub(r'"[^"]*"', "", lines.lstrip("\r\n").partition("\n")[0])
    found = [separator for separator in _SEPARATORS if separator in heading]
    if len(found) > 1:
        named = " and ".join(_SEPARATORS[separator] for separator in found)
        raise FileFormatError(
            f"{path!r} must have one kind of separator in its heading line; got {named}: write "
            "headings that contain one in quotation marks"
        )
    return found[0] if found else ",", lines


def _without_empty(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Leave out columns at the right that have neither a heading nor a cell."""
    widest = max((len(cells) for _, cells in rows), default=0)
    while widest and all(not any(cells[widest - 1 :]) for _, cells in rows):
        widest -= 1
    return [(line, cells[:widest]) for line, cells in rows]
