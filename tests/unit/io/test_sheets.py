"""Files that went through a spreadsheet program."""

import csv
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mislid.cli.output import as_csv
from mislid.errors import FileFormatError
from mislid.io import Sheet, read_sheet
from mislid.io.sheets import bare, guarded
from mislid.model import load_instance


@pytest.fixture
def read(tmp_path: Path):
    def reading(content: str | bytes) -> Sheet:
        path = tmp_path / "sheet.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_sheet(path, "trial")

    return reading


def test_everything_a_spreadsheet_program_does_at_once(read):
    table = read(
        b"\xef\xbb\xbfsep=;\r\n trial ;arm;value;;\r\n0; a ;0,5 ;;\r\n;;;;\r\n"
        b'1;"b;c";"1,25";;\r\n\r\n2;d;;;\r\n;;;;\r\n'
    )
    assert table.headings == ["trial", "arm", "value"]
    assert table.texts("arm") == ["a", "b;c", "d"]
    assert table.decimals("value") == [0.5, 1.25, None]
    assert [line for line, _ in table.rows] == [3, 5, 7]


@pytest.mark.parametrize(
    ("content", "headings"),
    [
        ("trial;value\n0;1.5\n", ["trial", "value"]),
        ('"mass, kg";value\n1;2\n', ["mass, kg", "value"]),
    ],
)
def test_the_separator_is_found(read, content, headings):
    assert read(content).headings == headings


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            "trial;arm, long;value\n0;a;1\n",
            "in its heading line; got commas and semicolons",
        ),
        ("trial,value\n0,0,31\n", "2 cells in every line, one per heading; got 3 in line 2"),
        ("trial,trial\n0,1\n", "distinct headings; got 'trial' twice"),
        ("0.7\n0.2\n", "got '0.7', which look like values: put headings above"),
        (b"trial,value\n\xfc,1\n", "must be UTF-8 text"),
    ],
)
def test_what_cannot_be_read_is_refused(read, content, complaint):
    with pytest.raises(FileFormatError, match=r"sheet\.csv") as caught:
        read(content)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "cell",
    ["nan", "1e999", "1_000", "1 000", "٣"],
)
def test_what_is_no_finite_number_is_said_per_cell(read, cell):
    (good, wrong) = read(f"trial,value\n0,1\n1,{cell}\n").decimals("value")
    assert good == 1.0
    assert wrong == f"a finite number is needed; got {cell!r}"


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("cell", ["1.234", "-12.345", "+123.456"])
def test_a_point_is_refused_where_it_may_be_thousands(read, separator, cell):
    table = read(f"trial{separator}value\n0{separator}{cell}\n1{separator}7\n")
    wrong, good = table.decimals("value")
    comma, plain = cell.replace(".", ","), cell.replace(".", "")
    assert wrong == (
        f"{cell!r} may be a decimal mark or thousands: write {comma!r} or {plain!r}, whichever is "
        "meant"
    )
    assert good == 7.0
    with pytest.raises(FileFormatError, match=r"line 2, column 'value': .*whichever is meant"):
        table.numbers("value")


@pytest.mark.parametrize("plain", ["0.5", "1.2340", "1234.567", ".123", "0.123", "1.234e0"])
def test_another_cell_of_the_column_can_say_that_a_point_is_decimal(read, plain):
    assert read(f"trial;value\n0;1.234\n1;{plain}\n").decimals("value")[0] == 1.234
    beside = read(f"trial;x;value\n0;{plain};1.234\n").decimals("value")
    assert "thousands" in beside[0]  # another column says nothing


def test_files_are_bounded(tmp_path, monkeypatch):
    path = tmp_path / "sheet.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr("mislid.io.files.LARGEST_FILE", 8)
    assert read_sheet(path, "row").numbers("b").tolist() == [2.0]
    monkeypatch.setattr("mislid.io.files.LARGEST_FILE", 7)
    with pytest.raises(FileFormatError, match=r"at most 7 bytes; got '.*sheet.csv' with 8"):
        read_sheet(path, "row")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "device.csv"):
        with pytest.raises(FileFormatError, match="must be a file; got the pipe or device"):
            read_sheet(tmp_path / name, "row")
        with pytest.raises(FileFormatError, match="pipe or device"):
            load_instance(tmp_path / name)


NUMBERS = ["-1.5", "-5", "+5e3"]
NASTY = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\tx", "\rx", "'=1", "''@x", "'", "'tis", "-5", "+5e3"]
NASTY += ["-5-5", "=", "-", "a=1", "=HYPERLINK(1,2)", '=cmd|"/c calc"!A1', "-inf", "'-5", "-1,5"]


@pytest.mark.parametrize("label", NASTY)
def test_no_cell_is_written_as_a_formula_and_all_read_back(tmp_path, label):
    heading = label.strip()  # those that a sheet has
    text = as_csv(["arm", heading], [[label, -1.5], ["b", 2]]) + "\n"
    path = tmp_path / "sheet.csv"
    path.write_bytes(text.encode())
    with path.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "-1.5" in cells  # numbers stay numbers
    for cell in cells:
        assert cell[:1] not in tuple("=+-@\t\r") or cell in NUMBERS
    table = read_sheet(path, "row")
    assert table.headings == ["arm", heading]
    assert table.texts("arm") == [label.strip(), "b"]
    assert table.numbers(heading).tolist() == [-1.5, 2.0]


@given(st.text(alphabet="'=+-@ax5.e\t \u00e9", max_size=6))
def test_guards_are_taken_off_again(text):
    assert bare(guarded(text)) == text
