"""Sheets in Excel workbooks (.xlsx): the first worksheet, headings and one row per line.

Numbers stay numbers and texts stay texts, also those that look like numbers or formulas. Of a
formula that somebody wrote, the value counts that the spreadsheet program saved with it.
"""

import io
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from mislid.errors import FileFormatError, MissingPackageError
from mislid.io.archives import opened_archive

ENDING = ".xlsx"
MOST_CELLS = 1 << 22
"""Cells of a worksheet, with those of empty rows above its last one."""


def require_workbooks(what: str) -> None:
    """Refuse what needs workbooks where they cannot be read or written."""
    if find_spec("openpyxl") is None:
        raise MissingPackageError(
            f"{what} needs openpyxl (pip install 'mislid[xlsx]'); a .csv file does without"
        )


def workbook_bytes(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """The content of a workbook with one sheet; None is an empty cell."""
    require_workbooks(f"a {ENDING} file")
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    for line, cells in enumerate([heading, *rows], start=1):
        for column, value in enumerate(cells, start=1):
            cell = sheet.cell(line, column)
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                cell.value = str(value)
                cell.data_type = "s"  # "=1+1" is a label, no formula
                cell.number_format = "@"  # and "007" stays what it is when somebody edits it
            else:
                cell.value = value
    sheet.freeze_panes = "A2"
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def workbook_rows(content: bytes, path: str) -> list[tuple[int, list[str]]]:
    """Line numbers and cells, as texts, of the filled rows of a workbook's first worksheet."""
    require_workbooks(f"{path!r}")
    opened_archive(content, path, _broken(path, "it is no zip archive")).close()
    try:
        return _rows(content, path)
    except FileFormatError:
        raise
    except Exception as problem:  # noqa: BLE001 - whatever it is, the file is to blame
        raise _broken(path, problem) from None


def _broken(path: str, problem: object) -> FileFormatError:
    said = " ".join(str(problem).split())
    return FileFormatError(
        f"{path!r} must be an Excel workbook ({ENDING}) with a sheet; it cannot be read "
        f"({said[:100]})"
    )


def _rows(content: bytes, path: str) -> list[tuple[int, list[str]]]:
    from openpyxl import load_workbook

    # Read as a stream: only cells that are there take memory.
    book = load_workbook(io.BytesIO(content), data_only=True, read_only=True)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what the file says of its size need not be true
    found, left = [], MOST_CELLS
    for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        # An empty row costs something, too, and one cell far down comes with all rows above it.
        left -= len(cells) + 1
        if left < 0:
            raise FileFormatError(
                f"{path!r} must have at most {MOST_CELLS:,} cells in its first sheet; it has more: "
                "divide it, or save it as .csv"
            )
        texts = [_text(value) for value in cells]
        if any(texts):
            found.append((line, texts))
    return found


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
