"""Files that went through a spreadsheet program."""

import csv
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mislid.cli.output import as_csv
from mislid.errors import FileFormatError
from mislid.io import Sheet, bare, guarded, read_sheet
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
        ("trial;mass, kg\n0;1\n", ["trial", "mass, kg"]),
    ],
)
def test_the_separator_is_found(read, content, headings):
    assert read(content).headings == headings


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("trial,arm;long\n0,a\n", "2 cells in every line, one per heading; got 1 in line 2"),
        ("trial,value\n0,0,31\n", "2 cells in every line, one per heading; got 3 in line 2"),
        ("trial,trial\n0,1\n", "distinct headings; got 'trial' twice"),
        (
            "0.7\n0.2\n",
            "a line of headings, one for every column and 'name' for labels; got ['0.7']",
        ),
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


@pytest.mark.parametrize(
    ("separator", "cells", "numbers"),
    [
        (";", ["1,234", "0,5"], [1.234, 0.5]),
        (";", ["1.234", "0.5"], [1.234, 0.5]),
        ("\t", ["1.234", "1.2340"], [1.234, 1.234]),
        ("\t", ["1,234", "1e1", "0,123"], [1.234, 10.0, 0.123]),
    ],
)
def test_a_column_shows_its_decimal_mark(read, separator, cells, numbers):
    lines = [f"0{separator}{cell}" for cell in cells]
    table = read("\n".join([f"trial{separator}value", *lines]))
    assert table.numbers("value").tolist() == numbers


@pytest.mark.parametrize(
    ("separator", "cells", "way_out"),
    [
        (",", ["7", '"0,31"'], "'0,31' may be a decimal comma or thousands: write a decimal point"),
        (";", ["7", "1.234"], "'1.234' may be a decimal point or thousands: write a decimal comma"),
        (";", ["0.5", "1,234"], "'1,234' may be a decimal comma or .*: write a decimal point"),
        (";", ["0,5", "0.5"], "'0.5' may be a decimal point or .*: write a decimal comma"),
        ("\t", ["7", "-1.234"], "'-1.234' may be .*: write '-1.2340' or '-1234', whichever"),
        ("\t", ["7", "1,234"], "'1,234' may be a decimal comma or .*: write '1,2340' or '1234'"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_refused(read, separator, cells, way_out):
    lines = [f"0{separator}{cell}" for cell in cells]
    table = read("\n".join([f"trial{separator}value", *lines]))
    with pytest.raises(FileFormatError, match=f"line 3, column 'value': {way_out}"):
        table.numbers("value")
    assert isinstance(table.decimals("value")[0], float)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "device.csv"):
        with pytest.raises(FileFormatError, match="which is none"):
            read_sheet(tmp_path / name, "row")
        with pytest.raises(FileFormatError, match="which is none"):
            load_instance(tmp_path / name)


NUMBERS = ["-1.5", "-5", "+5e3"]
NASTY = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\tx", "\rx", "'=1", "''@x", "'", "'tis", "-5", "+5e3"]
NASTY += ["-5-5", "=", "-", "a=1", "=HYPERLINK(1,2)", '=cmd|"/c calc"!A1', "-inf", "'-5", "-1,5"]
NASTY += ["\nx", ";x", "|x", "%x", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x", "''|"]


@pytest.mark.parametrize("label", NASTY)
def test_no_cell_is_written_as_a_formula_and_all_read_back(tmp_path, label):
    heading = label.strip().replace(";", "")  # those that a sheet has, and no other separator
    text = as_csv(["arm", heading], [[label, -1.5], ["b", 2]])
    path = tmp_path / "sheet.csv"
    path.write_bytes(text.encode())
    with path.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "-1.5" in cells  # numbers stay numbers
    for cell in cells:
        assert cell[:1] not in tuple("=+-@\t\r\n;|%\uff1d\uff0b\uff0d\uff20") or cell in NUMBERS
    table = read_sheet(path, "row")
    assert table.headings == ["arm", heading]
    assert table.texts("arm") == [label.strip(), "b"]
    assert table.numbers(heading).tolist() == [-1.5, 2.0]


@given(st.text(alphabet="'=+-@ax5.e\t\r\n;|%\uff1d\uff0b\uff0d\uff20 \u00e9", max_size=6))
def test_guards_are_taken_off_again(text):
    assert bare(guarded(text)) == text
