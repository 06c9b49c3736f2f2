"""Files that went through a spreadsheet program."""

from pathlib import Path

import pytest

from mislid.errors import FileFormatError
from mislid.files import Spreadsheet, read_spreadsheet


@pytest.fixture
def read(tmp_path: Path):
    def reading(content: str | bytes) -> Spreadsheet:
        path = tmp_path / "sheet.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_spreadsheet(path, "trial")

    return reading


def test_a_plain_file(read):
    table = read("trial,value\n0,0.5\n1,-2e-3\n")
    assert table.separator == ","
    assert table.decimals("value") == [0.5, -0.002]
    assert [line for line, _ in table.sheet.rows] == [2, 3]


def test_everything_a_spreadsheet_program_does_at_once(read):
    table = read(
        b"\xef\xbb\xbfsep=;\r\n trial ;arm;value;;\r\n0; a ;0,5 ;;\r\n;;;;\r\n"
        b'1;"b;c";"1,25";;\r\n\r\n2;d;;;\r\n;;;;\r\n'
    )
    assert table.sheet.headings == ["trial", "arm", "value"]
    assert table.sheet.texts("arm") == ["a", "b;c", "d"]
    assert table.decimals("value") == [0.5, 1.25, None]
    assert [line for line, _ in table.sheet.rows] == [3, 5, 7]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_found(read, separator):
    table = read(f"trial{separator}value\n0{separator}1.5\n")
    assert table.separator == separator
    assert table.decimals("value") == [1.5]


def test_one_column_needs_no_separator(read):
    assert read("arm\na\nb\n").sheet.texts("arm") == ["a", "b"]


def test_a_separator_inside_quotation_marks_is_none(read):
    assert read('"mass, kg";value\n1;2\n').sheet.headings == ["mass, kg", "value"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("trial;arm, long;value\n0;a;1\n", "one kind of separator in its heading line; got commas"),
        ("sep=|\ntrial|value\n0|1\n", "separated by commas, semicolons or tabs; got 'sep=|'"),
        ("trial,value\n0,0,31\n", "2 cells in every line, one per heading; got 3 in line 2"),
        ("trial,value\n", "a heading line and one line per trial"),
        ("trial,,value\n0,1,2\n", "column 2 has none"),
        ("trial,trial\n0,1\n", "distinct headings; got 'trial' twice"),
        (b"trial,value\n\xfc,1\n", "must be UTF-8 text"),
        ("", "a file with one line per trial"),
    ],
)
def test_what_cannot_be_read_is_refused(read, content, complaint):
    with pytest.raises(FileFormatError, match=r"sheet\.csv") as caught:
        read(content)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "cell",
    ["nan", "inf", "-Infinity", "1e999", "1_000", "n/a", "1 000", "0x1", "1.2.3", "--1", "٣"],
)
def test_what_is_no_finite_number_is_said_per_cell(read, cell):
    (good, wrong) = read(f"trial,value\n0,1\n1,{cell}\n").decimals("value")
    assert good == 1.0
    assert wrong == f"a finite number is needed; got {cell!r}"


def test_a_comma_is_refused_where_it_may_be_thousands(read):
    (wrong,) = read('trial,value\n0,"1,234"\n').decimals("value")
    assert "may be a decimal comma or thousands" in wrong


@pytest.mark.parametrize("cell", ["1.234,5", "1,234.5", "1,2,3"])
def test_thousands_are_refused_beside_decimal_commas(read, cell):
    (wrong,) = read(f"trial;value\n0;{cell}\n").decimals("value")
    assert "a finite number is needed" in wrong


def test_commas_and_points_in_one_column_are_refused(read):
    table = read("trial;x;value\n0;1.5;0,31\n1;1.5;0.31\n")
    assert table.numbers("x") == [1.5, 1.5]
    with pytest.raises(FileFormatError, match="a comma in line 2 and a point in line 3"):
        table.decimals("value")


def test_numbers_have_no_gaps(read):
    with pytest.raises(FileFormatError, match="line 3, column 'value': a number is missing"):
        read("trial,value\n0,1\n1,\n").numbers("value")
