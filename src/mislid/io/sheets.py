"""Tables of cells: .csv files as people and spreadsheet programs write them, and workbooks.

Spreadsheet programs write a byte-order mark, semicolons or tabs and decimal commas where the
country does, a line `sep=;`, and rows and columns that are empty. A number that can be read in two
ways is refused.
"""

import csv
import io
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.errors import FileFormatError
from mislid.io.files import as_path, read_content
from mislid.io.workbooks import ENDING, workbook_rows

Row = tuple[int, list[str]]
"""The line number in the file, and the cells."""

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Digits in groups of three, as thousands are written; nobody groups after a zero.
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}")
# The apostrophes of a cell that has some of its own are kept.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(value: Any) -> Any:
    """A value for a cell of a text file, which no spreadsheet program takes for a formula.

    A text that begins with one of = + - @, a tab or a carriage return gets an apostrophe before
    it, unless it is a number.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5+A1"), guarded(-5.0), guarded("'@")
    ("'=1+1", '-5', "'-5+A1", -5.0, "''@")
    """
    formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def bare(cell: str) -> str:
    """The value of a cell that `guarded` made.

    >>> bare("'=1+1"), bare("''@"), bare("'tis"), bare("-5")
    ('=1+1', "'@", "'tis", '-5')
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


@dataclass(frozen=True)
class Sheet:
    """Headings and rows of cells, with what comments above the headings state, as `# key=value`.

    Spaces around cells do not count, except in `rows` of a file that was read with them.
    """

    path: str
    facts: dict[str, str]
    headings: list[str]
    rows: list[Row]
    separator: str = ","

    def has(self, heading: str) -> bool:
        """Whether a column has this heading."""
        return heading in self.headings

    def line(self, at: int) -> int:
        """The line number of a row."""
        return self.rows[at][0]

    def texts(self, heading: str) -> list[str]:
        """The cells of a column."""
        column = self.headings.index(heading)
        return [cells[column] for _, cells in self.rows]

    def decimals(self, heading: str) -> list[float | str | None]:
        """Per row the number in this column, None for an empty cell, or what is wrong with it."""
        cells = [cell.strip() for cell in self.texts(heading)]
        commas = self.separator != ","
        grouping = self._grouping(heading, cells) if commas else ""
        return [decimal(cell, commas=commas, grouping=grouping) if cell else None for cell in cells]

    def numbers(self, heading: str) -> Vector:
        """The finite numbers in a column without empty cells."""
        found = self.decimals(heading)
        for at, value in enumerate(found):
            if value is None or isinstance(value, str):
                raise FileFormatError(
                    f"{self.path!r}, line {self.line(at)}, column {heading!r}: "
                    f"{value or 'a number is missing'}"
                )
        return np.array(found, dtype=np.float64)

    def matrix(self, headings: Sequence[str]) -> Matrix:
        """The numbers in columns without empty cells, shape (rows, columns)."""
        columns: Matrix = np.column_stack([self.numbers(heading) for heading in headings])
        return columns

    def _grouping(self, heading: str, cells: list[str]) -> str:
        """Which marks may stand between thousands, by all that is in the column."""
        first: dict[str, int] = {}
        decimal_marks = set()
        for (line, _), cell in zip(self.rows, cells, strict=True):
            mark = "," if "," in cell else "." if "." in cell else ""
            if mark and isinstance(decimal(cell, commas=True), float):
                first.setdefault(mark, line)
                if not _GROUPED.fullmatch(cell):
                    decimal_marks.add(mark)
        if len(first) > 1:
            raise FileFormatError(
                f"{self.path!r} must have one decimal mark in column {heading!r}; got a comma in "
                f"line {first[',']} and a point in line {first['.']}"
            )
        # Where semicolons separate, they do so because the comma is the decimal mark.
        doubtful = "." if self.separator == ";" else ".,"
        return "".join(mark for mark in doubtful if mark not in decimal_marks)


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
        return (
            f"{shown} may be a decimal mark or thousands: write {other!r} or "
            f"{cell.replace(grouped[1], '')!r}, whichever is meant"
        )
    pointed = cell.replace(",", ".", 1)
    if pointed != cell and not commas and _NUMBER.fullmatch(pointed):
        return (
            f"{shown} may be a decimal comma or thousands: write a decimal point and no separator"
        )
    if _NUMBER.fullmatch(pointed) and math.isfinite(number := float(pointed)):
        return number
    return f"a finite number is needed; got {shown}"


def read_sheet(path: str | os.PathLike[str], row: str) -> Sheet:
    """Read a .csv file, or the first sheet of an .xlsx file; messages call a line a `row`."""
    place = as_path(path)
    if place.suffix.lower() == ".xls":
        raise FileFormatError(f"path must be saved as .xlsx or .csv; got {str(place)!r}")
    content = read_content(place, f"one line per {row}")
    if place.suffix.lower() != ENDING:
        return csv_sheet(content, str(place), row)
    facts: dict[str, str] = {}
    rows = workbook_rows(content, str(place))
    while rows and rows[0][1][0].startswith("#"):
        _, (comment, *_) = rows.pop(0)
        facts |= _fact(comment)
    # A row ends with its last cell that is filled.
    width = len(rows[0][1]) if rows else 0
    padded = [(line, cells + [""] * (width - len(cells))) for line, cells in rows]
    return _checked(str(place), facts, padded, row)


def csv_sheet(content: bytes, path: str, row: str, *, trimmed: bool = True) -> Sheet:
    """The sheet in the bytes of a text file; unless `trimmed`, cells keep spaces around them."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path!r} must be UTF-8 text; it is not") from None
    lines = list(io.StringIO(text, newline=""))
    facts: dict[str, str] = {}
    above = 0
    while above < len(lines) and (lines[above].startswith("#") or not lines[above].strip("\r\n")):
        facts |= _fact(lines[above]) if lines[above].startswith("#") else {}
        above += 1
    separator, stated = _separator(lines[above:], path)
    facts = {key: value.rstrip(separator) for key, value in facts.items()}
    reader = csv.reader(lines[above + stated :], delimiter=separator, strict=True)
    rows = []
    try:
        for cells in reader:
            line = above + stated + reader.line_num
            found = [bare(cell.strip()).strip() if trimmed else bare(cell) for cell in cells]
            if any(found):
                rows.append((line, found))
    except csv.Error as problem:
        raise FileFormatError(
            f"{path!r} must be separated by {_SEPARATORS[separator]}; line "
            f"{above + stated + reader.line_num} is not: {problem}"
        ) from None
    return _checked(path, facts, rows, row, separator)


def _separator(lines: Sequence[str], path: str) -> tuple[str, int]:
    """What separates cells, and how many lines say so, one or none."""
    first = lines[0] if lines else ""
    stated = re.match(r"(?i)sep=(.)", first)
    if stated and stated[1] in _SEPARATORS:
        return stated[1], 1
    heading = re.sub(r'"[^"]*"', "", first)
    found = [separator for separator in _SEPARATORS if separator in heading]
    if len(found) > 1 or stated:
        named = " and ".join(_SEPARATORS[separator] for separator in found)
        raise FileFormatError(
            f"{path!r} must be separated by commas, semicolons or tabs, and by one of them in its "
            f"heading line; got {named or repr(first.strip())}: write headings that contain one in "
            "quotation marks"
        )
    return found[0] if found else ",", 0


def _fact(comment: str) -> dict[str, str]:
    """What a comment states.

    >>> _fact("# misspecification=0.2")
    {'misspecification': '0.2'}
    """
    key, _, value = comment.lstrip("#").partition("=")
    return {key.strip(): value.strip()}


def _checked(
    path: str, facts: dict[str, str], rows: list[Row], row: str, separator: str = ","
) -> Sheet:
    """The sheet, if it has distinct headings and as many cells in every line.

    Further cells that are empty do not count where there is no heading for them.
    """
    headings = [heading.strip() for heading in rows[0][1]] if rows else []
    while headings and not headings[-1]:
        headings.pop()
    if len(rows) < 2:
        raise FileFormatError(f"{path!r} must have a heading line and one line per {row}")
    _refuse_headings(headings, path)
    for line, cells in rows[1:]:
        if len(cells) < len(headings) or any(cells[len(headings) :]):
            raise FileFormatError(
                f"{path!r} must have {len(headings)} cells in every line, one per heading; "
                f"got {len(cells)} in line {line}"
            )
    return Sheet(path, facts, headings, rows[1:], separator)


def _refuse_headings(headings: list[str], path: str) -> None:
    if "" in headings:
        raise FileFormatError(
            f"{path!r} must have a heading for every column ('name' for labels); "
            f"column {headings.index('') + 1} has none"
        )
    repeated = [heading for heading in headings if headings.count(heading) > 1]
    if repeated:
        raise FileFormatError(f"{path!r} must have distinct headings; got {repeated[0]!r} twice")
    if all(_NUMBER.fullmatch(heading) for heading in headings):
        raise FileFormatError(
            f"{path!r} must begin with a line of headings, such as 'name' for labels; got "
            f"{', '.join(map(_shown, headings[:3]))}, which look like values: put headings above"
        )


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")
