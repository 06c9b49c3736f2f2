"""Tables of cells in text files: facts in comments at the top, headings, one line per row.

`csv_sheet` reads what programs write, with commas and points. `spreadsheet` also reads what went
through a spreadsheet program: such programs write a mark before the text, semicolons or tabs and
decimal commas where the country does, a line `sep=;`, spaces, and rows and columns that are empty.
A number that can be read in two ways is refused.
"""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.errors import FileFormatError
from mislid.io.guards import NUMBER
from mislid.io.lines import Rows, fact_of, leading_facts

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# Digits in groups of three, as thousands are written; nobody groups after a zero.
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}")

_CELLS_AT_ONCE = 1 << 14

MOST_ROWS = 1 << 20
"""Lines below the headings; a spreadsheet has no more."""


class Sheet(NamedTuple):
    """The cells of a file of `size` rows; `path` is for messages."""

    path: str
    facts: dict[str, str]
    headings: list[str]
    cells: Iterable[tuple[int, list[str]]]  # line number in the file, cells; headings first
    size: int

    @property
    def rows(self) -> Iterable[tuple[int, list[str]]]:
        """Line numbers and cells, without the headings."""
        rows = iter(self.cells)
        next(rows)
        return rows

    def line(self, at: int) -> int:
        """The line number of a row."""
        return next(line for row, (line, _) in enumerate(self.rows) if row == at)

    def has(self, heading: str) -> bool:
        """Whether a column has this heading."""
        return heading in self.headings

    def texts(self, heading: str) -> list[str]:
        """The cells of a column as they stand there."""
        column = self.headings.index(heading)
        # Equal cells are one text: there are few different ones in most columns.
        known: dict[str, str] = {}
        return [known.setdefault(cells[column], cells[column]) for _, cells in self.rows]

    def numbers(self, heading: str) -> Vector:
        """The cells of a column as finite numbers."""
        return self.matrix([heading])[:, 0]

    def matrix(self, headings: Sequence[str]) -> Matrix:
        """The cells of these columns as finite numbers, shape (rows, columns)."""
        columns = [self.headings.index(heading) for heading in headings]
        found = np.empty((self.size, len(columns)))
        rows, at = iter(self.rows), 0
        # So many rows at once that neither they nor the calls for them take much.
        while part := list(islice(rows, 1 + _CELLS_AT_ONCE // len(self.headings))):
            found[at : at + len(part)] = self._numbers(part, columns)
            at += len(part)
        return found

    def _numbers(self, rows: list[tuple[int, list[str]]], columns: list[int]) -> Matrix:
        try:
            found = np.array([[float(cells[column]) for column in columns] for _, cells in rows])
        except ValueError:
            found = np.array([[math.nan]])
        if not np.isfinite(found).all():
            for line, cells in rows:
                self._refuse(line, cells, columns)
        return found

    def _refuse(self, line: int, cells: list[str], columns: list[int]) -> None:
        for column in columns:
            number = parsed(cells[column])
            if isinstance(number, str) or not math.isfinite(number):
                raise FileFormatError(
                    f"{self.path!r} must hold finite numbers; got {_shown(cells[column])} in line "
                    f"{line}, column {self.headings[column]!r}"
                )


def csv_sheet(content: bytes, path: str, row: str) -> Sheet:
    """Give the cells in the bytes of a .csv file; messages call a line of them a `row`."""
    facts, _, comments = leading_facts(content, path)
    return _checked(path, facts, Rows(content, path, skipped=comments), row)


def _checked(
    path: str, facts: dict[str, str], cells: Iterable[tuple[int, list[str]]], row: str
) -> Sheet:
    """Give the sheet if it has distinct headings and as many cells in every line.

    Further cells that are empty do not count where there is no heading for them.
    """
    rows = iter(cells)
    _, first = next(rows, (0, []))
    headings = [heading.strip() for heading in first]
    while headings and not headings[-1]:
        headings.pop()
    size = 0
    for line, found in rows:
        if not size:
            _refuse_headings(headings, path)
        if len(found) != len(headings) and (
            len(found) < len(headings) or any(found[len(headings) :])
        ):
            raise FileFormatError(
                f"{path!r} must have {len(headings)} cells in every line, one per heading; "
                f"got {len(found)} in line {line}"
            )
        size += 1
        if size > MOST_ROWS:
            raise FileFormatError(
                f"{path!r} must have at most {MOST_ROWS:,} lines below its headings, one per "
                f"{row}; it has more: divide it into several files"
            )
    if not size:
        raise FileFormatError(f"{path!r} must have a heading line and one line per {row}")
    return Sheet(path, facts, headings, cells, size)


def _refuse_headings(headings: list[str], path: str) -> None:
    seen: set[str] = set()
    for column, heading in enumerate(headings):
        if not heading:
            raise FileFormatError(
                f"{path!r} must have a heading for every column ('name' for labels); "
                f"column {column + 1} has none"
            )
        if heading in seen:
            raise FileFormatError(f"{path!r} must have distinct headings; got {heading!r} twice")
        seen.add(heading)
    if all(NUMBER.fullmatch(heading) for heading in headings):
        raise FileFormatError(
            f"{path!r} must begin with a line of headings, such as 'name' for labels; got "
            f"{', '.join(map(_shown, headings[:3]))}, which look like values: put headings above"
        )


def parsed(cell: str) -> float | str:
    """A cell as a number, or as it stands there."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")


class Spreadsheet(NamedTuple):
    """A sheet whose cells are without spaces around them, and what separated them."""

    sheet: Sheet
    separator: str

    def decimals(self, heading: str) -> "list[float | str | None]":
        """Per row the number in this column, None for an empty cell, or what is wrong with it."""
        column = self.sheet.headings.index(heading)
        reading = self._reading([column])[0]
        return [_read(cells[column], reading) for _, cells in self.sheet.rows]

    def numbers(self, heading: str) -> list[float]:
        """The numbers in a column without empty cells."""
        return [float(number) for number in self.matrix([heading])[:, 0]]

    def matrix(self, headings: Sequence[str]) -> Matrix:
        """The numbers in columns without empty cells, shape (rows, columns)."""
        columns = [self.sheet.headings.index(heading) for heading in headings]
        readings = self._reading(columns)
        found = np.empty((self.sheet.size, len(columns)))
        for at, (line, cells) in enumerate(self.sheet.rows):
            for place, (column, reading) in enumerate(zip(columns, readings, strict=True)):
                value = _read(cells[column], reading)
                if value is None or isinstance(value, str):
                    raise FileFormatError(
                        f"{self.sheet.path!r}, line {line}, column "
                        f"{self.sheet.headings[column]!r}: {value or 'a number is missing'}"
                    )
                found[at, place] = value
        return found

    def _reading(self, columns: Sequence[int]) -> "list[Reading]":
        """How the numbers of each column are meant, by all that stands in it."""
        if self.separator == ",":
            return [Reading()] * len(columns)
        # Where semicolons separate, they do so because the comma is the decimal mark.
        grouping = "." if self.separator == ";" else ".,"
        marks: list[dict[str, int]] = [{} for _ in columns]
        plain: list[set[str]] = [set() for _ in columns]
        for line, cells in self.sheet.rows:
            for place, column in enumerate(columns):
                cell = cells[column]
                mark = "," if "," in cell else "." if "." in cell else ""
                if mark and isinstance(decimal(cell, commas=True), float):
                    marks[place].setdefault(mark, line)
                    if not _GROUPED.fullmatch(cell):
                        plain[place].add(mark)
        for column, first in zip(columns, marks, strict=True):
            self._refuse_mixed(column, first)
        return [
            Reading(commas=True, grouping="".join(mark for mark in grouping if mark not in known))
            for known in plain
        ]

    def _refuse_mixed(self, column: int, first: dict[str, int]) -> None:
        if len(first) > 1:
            raise FileFormatError(
                f"{self.sheet.path!r} must have one decimal mark in column "
                f"{self.sheet.headings[column]!r}; got a comma in line {first[',']} and a point in "
                f"line {first['.']}"
            )


class Reading(NamedTuple):
    """Whether commas may be decimal marks, and which marks may also stand between thousands."""

    commas: bool = False
    grouping: str = ""


def _read(cell: str, reading: Reading) -> float | str | None:
    return decimal(cell, commas=reading.commas, grouping=reading.grouping) if cell else None


def spreadsheet(content: bytes, path: str, row: str) -> Spreadsheet:
    """Give the cells in the bytes of a file; messages call a line of them a `row`."""
    facts, following, skipped = leading_facts(content, path)
    separator, stated = _separator(following, path)
    rows = Rows(content, path, separator, skipped + stated, trimmed=True)
    facts = {key: value.rstrip(separator) for key, value in facts.items()}
    return Spreadsheet(_checked(path, facts, rows, row), separator)


def from_workbook(rows: list[tuple[int, list[str]]], path: str, row: str) -> Spreadsheet:
    """Give the cells of a workbook's sheet, which may begin with rows that state facts."""
    facts: dict[str, str] = {}
    filled = [entry for entry in rows if any(entry[1])]
    while filled and filled[0][1][0].startswith("#"):
        _, (comment, *_) = filled.pop(0)
        facts |= fact_of(comment)
    # A row ends with its last cell that is filled.
    width = len(filled[0][1]) if filled else 0
    cells = [(line, found + [""] * (width - len(found))) for line, found in filled]
    return Spreadsheet(_checked(path, facts, cells, row), ",")


def decimal(cell: str, *, commas: bool = False, grouping: str = "") -> float | str:
    """The finite number in a cell, or a sentence on why there is none.

    `commas` says that decimal commas may be meant, because something else separates cells, and
    `grouping` which marks may be meant to stand between thousands.

    Examples
    --------
    >>> decimal("0.31"), decimal("0,31", commas=True)
    (0.31, 0.31)
    >>> decimal("0,31")
    "'0,31' may be a decimal comma or thousands: write a decimal point and no separator"
    >>> decimal("1.234", commas=True, grouping=".")
    "'1.234' may be a decimal mark or thousands: write '1,234' or '1234', whichever is meant"
    >>> decimal("n/a")
    "a finite number is needed; got 'n/a'"
    """
    shown = _shown(cell)
    grouped = _GROUPED.fullmatch(cell)
    if grouped and grouped[1] in grouping:
        other = cell.translate(str.maketrans(".,", ",."))
        plain = cell.replace(grouped[1], "")
        return (
            f"{shown} may be a decimal mark or thousands: write {other!r} or {plain!r}, whichever "
            "is meant"
        )
    if NUMBER.fullmatch(cell):
        number = float(cell)
    elif "," in cell and NUMBER.fullmatch(cell.replace(",", ".", 1)):
        if not commas:
            return (
                f"{shown} may be a decimal comma or thousands: write a decimal point and no "
                "separator"
            )
        number = float(cell.replace(",", "."))
    else:
        return f"a finite number is needed; got {shown}"
    return number if math.isfinite(number) else f"a finite number is needed; got {shown}"


def _separator(following: Sequence[str], path: str) -> tuple[str, int]:
    """What separates cells, and how many lines say so, one or none."""
    first = following[0] if following else ""
    stated = re.match(r"(?i)sep=(.)", first)
    if stated and len(following) > 1:
        if stated[1] not in _SEPARATORS:
            raise FileFormatError(
                f"{path!r} must be separated by commas, semicolons or tabs; got {first.strip()!r}"
            )
        return stated[1], 1
    heading = re.sub(r'"[^"]*"', "", first)
    found = [separator for separator in _SEPARATORS if separator in heading]
    if len(found) > 1:
        named = " and ".join(_SEPARATORS[separator] for separator in found)
        raise FileFormatError(
            f"{path!r} must have one kind of separator in its heading line; got {named}: write "
            "headings that contain one in quotation marks"
        )
    return found[0] if found else ",", 0
