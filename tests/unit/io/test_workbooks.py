"""Excel workbooks as sheets."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mislid.errors import FileFormatError
from mislid.io import read_sheet, workbook_bytes

openpyxl = pytest.importorskip("openpyxl")


def saved(folder: Path, rows: list[list[Any]], name: str = "sheet.xlsx") -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(folder / name)
    return folder / name


@pytest.mark.parametrize(
    ("label", "value"),
    [("007", 0.1), ("1e5", 1e-300), ("=A1", -1.5), ("ü", 7.0), ("a,b;c", 1 / 3), ("TRUE", 2.0**60)],
)
def test_what_is_written_is_read(tmp_path: Path, label: str, value: float) -> None:
    (tmp_path / "s.xlsx").write_bytes(workbook_bytes(["name", "x"], [[label, value], ["b", 1]]))
    table = read_sheet(tmp_path / "s.xlsx", "candidate")
    assert table.texts("name") == [label, "b"]
    assert table.numbers("x").tolist() == [value, 1.0]


def test_files_that_are_no_workbooks(tmp_path: Path) -> None:
    (tmp_path / "s.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match="must be an Excel workbook"):
        read_sheet(tmp_path / "s.xlsx", "row")
    (tmp_path / "s.xls").write_bytes(b"\xd0\xcf")
    with pytest.raises(FileFormatError, match=r"must be saved as \.xlsx or \.csv"):
        read_sheet(tmp_path / "s.xls", "row")
    with pytest.raises(FileFormatError, match="a heading line and one line per row"):
        read_sheet(saved(tmp_path, [["a", "b"]]), "row")
    with pytest.raises(FileFormatError, match="got 'a' twice"):
        read_sheet(saved(tmp_path, [["a", "a"], [1, 2]]), "row")


def changed(content: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """The workbook with another text in one of its parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            text = old.read(entry)
            if entry.filename == part:
                text = change(text.decode()).encode()
            new.writestr(entry, text)
    return buffer.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
SMALL = workbook_bytes(["a", "b"], [[1, 2]])


def read_bytes(folder: Path, content: bytes) -> Any:
    (folder / "s.xlsx").write_bytes(content)
    return read_sheet(folder / "s.xlsx", "row")


def test_what_a_sheet_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    huge = changed(SMALL, SHEET, lambda text: text.replace('ref="A1:B2"', 'ref="A1:XFD1048576"'))
    assert huge != SMALL
    assert read_bytes(tmp_path, huge).numbers("b").tolist() == [2.0]
