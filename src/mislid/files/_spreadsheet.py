"""Tables that went through a spreadsheet program, with its habits.

Such programs write a mark before the text, semicolons or tabs and decimal commas where the country
does, a line `sep=;`, spaces, and rows and columns that are empty. A number that can be read in two
ways is refused.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from mislid.errors import FileFormatError
from mislid.files._sheet import Sheet, cells_of, checked, decoded, leading_facts

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


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
    text = decoded(content, path)
    facts, lines = leading_facts(text)
    separator, lines = _separator(lines, path)
    skipped = text.count("\n") - lines.count("\n")
    rows = [
        (line, [cell.strip() for cell in cells])
        for line, cells in cells_of(lines, path, skipped, separator)
    ]
    facts = {key: value.rstrip(separator) for key, value in facts.items()}
    sheet = checked(path, facts, _without_empty([entry for entry in rows if any(entry[1])]), row)
    return Spreadsheet(sheet, separator)


def decimal(cell: str, *, commas: bool = False) -> float | str:
    """The number in a cell, or what is wrong with it; `commas`: may decimal commas be meant?

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
