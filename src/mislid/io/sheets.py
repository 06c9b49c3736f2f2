"""Tables of cells in .csv files and Excel workbooks, as people and spreadsheet programs write them.

Spreadsheet programs write a byte-order mark, semicolons or tabs and decimal commas where the
country does, a line `sep=;`, and rows and columns that are empty. A number that can be read in two
ways is refused.
"""

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from mislid._formatting import did_you_mean
from mislid._validation import Matrix, Vector
from mislid.errors import FileFormatError, MissingPackageError
from mislid.io.files import as_path, read_content

Row = tuple[int, list[str]]
"""The line number in the file, and the cells."""

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Digits in groups of three, as in 1.000; a leading zero is never grouped.
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_MARKS = {".": "point", ",": "comma"}
# Cells that begin with apostrophes get one more, so that `bare` restores them.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(value: Any) -> Any:
    """A value for a cell of a text file, protected from being read as a formula.

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
    """Headings and rows of cells, and the comments `# key=value` above the headings."""

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

    def listed(self, most: int = 8) -> str:
        """The first headings, for messages."""
        more = len(self.headings) - most
        some = ", ".join(map(repr, self.headings[:most]))
        return f"{some} and {more} more" if more > 0 else some

    def column(self, heading: str) -> int:
        """The place of a column; refuses one that is not there."""
        if not self.has(heading):
            raise FileFormatError(
                f"{self.path!r} must have a column {heading!r}; got the headings {self.listed()}"
                f"{did_you_mean(heading, self.headings)}"
            )
        return self.headings.index(heading)

    def texts(self, heading: str) -> list[str]:
        """The cells of a column."""
        column = self.column(heading)
        return [cells[column] for _, cells in self.rows]

    def decimals(self, heading: str) -> list[float | str | None]:
        """Per row the number in this column, None for an empty cell, or what is wrong with it."""
        cells = self.texts(heading)
        mark = _decimal_mark(cells, self.separator)
        return [decimal(cell, mark) if cell else None for cell in cells]

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


def _decimal_mark(cells: Sequence[str], separator: str) -> str:
    """The decimal mark of a column; empty where it may also separate thousands.

    Semicolons separate cells where the comma is the decimal mark. Tabs do not say.
    """
    if separator == ",":
        return "."
    sure = [cell for cell in cells if _is_number(cell) and not _GROUPED.fullmatch(cell)]
    seen = [mark for mark in ",." if any(mark in cell for cell in sure)]
    usual = "," if separator == ";" else ""
    return usual if not seen or usual in seen else seen[0]


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.replace(",", ".", 1)) is not None


def decimal(cell: str, mark: str = ".") -> float | str:
    """The finite number in a cell, or a sentence on why there is none.

    `mark` is the decimal mark, or empty where it is not known.

    Examples
    --------
    >>> decimal("0.31"), decimal("0,31", ",")
    (0.31, 0.31)
    >>> decimal("0,31")
    "'0,31' may be a decimal comma or thousands: write a decimal point and no separator"
    >>> decimal("1.234", "")
    "'1.234' may be a decimal point or thousands: write '1.2340' or '1234', whichever is meant"
    >>> decimal("n/a")
    "a finite number is needed; got 'n/a'"
    """
    number = cell.replace(",", ".", 1)
    if not _is_number(cell) or not math.isfinite(float(number)):
        return f"a finite number is needed; got {_shown(cell)}"
    used = "," if "," in cell else "." if "." in cell else mark
    if used == mark:
        return float(number)
    doubt = f"{_shown(cell)} may be a decimal {_MARKS[used]} or thousands"
    if mark:
        return f"{doubt}: write a decimal {_MARKS[mark]} and no separator"
    return f"{doubt}: write '{cell}0' or {cell.replace(used, '')!r}, whichever is meant"


def read_sheet(path: str | os.PathLike[str], row: str) -> Sheet:
    """Read a .csv file, or the first sheet of an .xlsx file; messages call a line a `row`."""
    place = as_path(path)
    ending = place.suffix.lower()
    if ending == ".xls":
        raise FileFormatError(f"path must be saved as .xlsx or .csv; got {str(place)!r}")
    content = read_content(place, f"one line per {row}")
    return (_workbook_sheet if ending == ".xlsx" else csv_sheet)(content, str(place), row)


def csv_sheet(content: bytes, path: str, row: str) -> Sheet:
    """Read the bytes of a text file; spaces around cells do not count."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path!r} must be UTF-8 text; it is not") from None
    lines = list(io.StringIO(text, newline=""))
    comments: list[str] = []
    above = 0
    while above < len(lines) and (lines[above].startswith("#") or not lines[above].strip("\r\n")):
        comments.append(lines[above])
        above += 1
    separator, stated = _separator(lines[above:], path)
    above += stated
    reader = csv.reader(lines[above:], delimiter=separator, strict=True)
    try:
        found = [(above + reader.line_num, cells) for cells in reader]
    except csv.Error as problem:
        raise FileFormatError(
            f"{path!r} must be separated by {_SEPARATORS[separator]}; line "
            f"{above + reader.line_num} is not: {problem}"
        ) from None
    # A spreadsheet program writes separators after a comment.
    comments = [line.rstrip("\r\n" + separator) for line in comments]
    rows = [(line, [bare(cell.strip()).strip() for cell in cells]) for line, cells in found]
    return _sheet(path, comments, rows, row, separator)


def _separator(lines: Sequence[str], path: str) -> tuple[str, int]:
    """The separator of cells, and whether a line `sep=` declares it (1 or 0)."""
    first = lines[0] if lines else ""
    stated = re.match(r"(?i)sep=([,;\t])", first)
    if stated:
        return stated[1], 1
    heading = re.sub(r'"[^"]*"', "", first)
    found = [separator for separator in _SEPARATORS if separator in heading]
    if len(found) > 1:
        named = " and ".join(_SEPARATORS[separator] for separator in found)
        raise FileFormatError(
            f"{path!r} must be separated by commas, semicolons or tabs, and by one of them in its "
            f"heading line; got {named}: write headings that contain one in quotation marks"
        )
    return found[0] if found else ",", 0


def _sheet(
    path: str, comments: Sequence[str], rows: list[Row], row: str, separator: str = ","
) -> Sheet:
    """Check that headings are distinct, and that every line has a cell for each.

    Further cells that are empty do not count where there is no heading for them.
    """
    facts = {}
    for comment in comments:
        key, _, value = comment.lstrip("#").partition("=")
        facts[key.strip()] = value.strip()
    rows = [(line, cells) for line, cells in rows if any(cells)]
    if len(rows) < 2:
        raise FileFormatError(f"{path!r} must have a heading line and one line per {row}")
    headings = list(rows[0][1])
    while not headings[-1]:
        headings.pop()
    _check_headings(headings, path)
    for line, cells in rows[1:]:
        if len(cells) < len(headings) or any(cells[len(headings) :]):
            raise FileFormatError(
                f"{path!r} must have {len(headings)} cells in every line, one per heading; "
                f"got {len(cells)} in line {line}"
            )
    return Sheet(path, facts, headings, rows[1:], separator)


def _check_headings(headings: list[str], path: str) -> None:
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


def require_workbooks(what: str) -> None:
    """Raise an error that says what to install where openpyxl is missing."""
    if find_spec("openpyxl") is None:
        raise MissingPackageError(
            f"{what} needs openpyxl (pip install 'mislid[xlsx]'); a .csv file does without"
        )


def workbook_bytes(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """The content of a workbook with one sheet, whose texts are never formulas or numbers."""
    require_workbooks("an .xlsx file")
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    for line, cells in enumerate([heading, *rows], start=1):
        for column, value in enumerate(cells, start=1):
            cell = sheet.cell(line, column)
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                cell.value = str(value)
                cell.data_type = "s"  # "=1+1" is a label, no formula
                cell.number_format = "@"  # and "007" stays a text when it is edited
            else:
                cell.value = value
    sheet.freeze_panes = "A2"
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _workbook_sheet(content: bytes, path: str, row: str) -> Sheet:
    """Read the first worksheet; of a formula, the value counts that was saved with it."""
    require_workbooks(repr(path))
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(content), data_only=True, read_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what the file says of its size need not be true
        lines = list(enumerate(sheet.iter_rows(values_only=True), start=1))
    except Exception as problem:  # noqa: BLE001 - openpyxl raises a dozen types on damaged bytes
        said = " ".join(str(problem).split())
        raise FileFormatError(
            f"{path!r} must be an Excel workbook (.xlsx) with a sheet; it cannot be read "
            f"({said[:100]})"
        ) from None
    texts = [(line, [_text(value) for value in cells]) for line, cells in lines]
    rows = [(line, cells) for line, cells in texts if any(cells)]
    comments = []
    while rows and rows[0][1][0].startswith("#"):
        comments.append(rows.pop(0)[1][0])
    # A row ends with its last cell that is filled.
    width = len(rows[0][1]) if rows else 0
    padded = [(line, cells + [""] * (width - len(cells))) for line, cells in rows]
    return _sheet(path, comments, padded, row)


def _text(value: Any) -> str:
    """A cell as it would stand in a text file.

    >>> _text(None), _text(7.0), _text(0.1), _text(" 007 ")
    ('', '7', '0.1', '007')
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()
