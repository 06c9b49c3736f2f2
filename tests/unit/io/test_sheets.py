"""Files that went through a spreadsheet program."""

import csv
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mislid.cli.output import as_csv
from mislid.errors import FileFormatError
from mislid.io import Spreadsheet, read_spreadsheet
from mislid.io.guards import NUMBER, bare, guarded
from mislid.model import Instance, Model, load_instance


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


def test_headings_may_be_wavelengths(read):
    assert read("sample,400,450\na,0.1,0.2\n").sheet.headings == ["sample", "400", "450"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("trial;arm, long;value\n0;a;1\n", "one kind of separator in its heading line; got commas"),
        ("sep=|\ntrial|value\n0|1\n", "separated by commas, semicolons or tabs; got 'sep=|'"),
        ("trial,value\n0,0,31\n", "2 cells in every line, one per heading; got 3 in line 2"),
        ("trial,value\n", "a heading line and one line per trial"),
        ("trial,,value\n0,1,2\n", "column 2 has none"),
        ("trial,trial\n0,1\n", "distinct headings; got 'trial' twice"),
        ("1,2\n2,1\n", "must begin with a line of headings, such as 'name' for labels; got '1', "),
        ("0.7\n0.2\n", "got '0.7', which look like values: put headings above"),
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


def test_commas_between_tabs_are_as_ambiguous(read):
    assert "thousands" in read("trial\tvalue\n0\t1,234\n").decimals("value")[0]
    assert read("trial\tvalue\n0\t1,234\n1\t0,5\n").decimals("value") == [1.234, 0.5]
    assert read("trial;value\n0;1,234\n").decimals("value") == [1.234]


def test_a_column_of_points_and_commas_that_may_be_thousands(read):
    with pytest.raises(FileFormatError, match="a comma in line 2 and a point in line 3"):
        read("trial;value\n0;0,31\n1;1.234\n").decimals("value")


def peak(action) -> int:
    """Most bytes that Python held at once, beyond those before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("line", "times"),
    [(b"1,1\n", 10.0), (b"0.123456,0.123456\n", 4.0), (b"12," * 499 + b"12\n", 5.0)],
    ids=["short", "usual", "wide"],
)
def test_memory_is_a_few_times_the_file(tmp_path, line, times):
    heading = ",".join(f"x{column}" for column in range(line.count(b",") + 1)).encode()
    content = heading + b"\n" + line * (200_000 // len(line))
    path = tmp_path / "sheet.csv"
    path.write_bytes(content)

    def reading() -> None:
        table = read_spreadsheet(path, "row")
        table.matrix(table.sheet.headings)
        table.decimals("x1")
        table.sheet.texts("x0")

    reading()  # what is loaded at first does not count
    assert peak(reading) < times * len(content)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_and_rows_are_bounded(read, monkeypatch, ending):
    monkeypatch.setattr("mislid.io.lines.LONGEST_LINE", 40)
    monkeypatch.setattr("mislid.io.sheets.MOST_ROWS", 3)
    row = f"0,{'1' * 30}{ending}"
    assert len(read(f"trial,value{ending}{row * 3}").decimals("value")) == 3
    with pytest.raises(FileFormatError, match="at most 3 lines below its headings, one per trial"):
        read(f"trial,value{ending}{row * 4}")
    with pytest.raises(FileFormatError, match="at most 40 characters; line 3 has more"):
        read(f"trial,value{ending}{row}0,{'1' * 40}{ending}")


def test_cells_over_many_lines_are_bounded(read, monkeypatch):
    monkeypatch.setattr("mislid.io.lines.LONGEST_LINE", 40)
    with pytest.raises(FileFormatError, match="is a quotation mark missing"):
        read('trial,value\n0,"1\n' + "2,3\n" * 20)


def test_comments_are_bounded(read):
    few = "".join(f"# {key}=1\n" for key in range(1000))
    assert len(read(f"{few}a,b\n1,2\n").sheet.facts) == 1000
    with pytest.raises(FileFormatError, match="at most 1,000 comments"):
        read(f"{few}# more=1\na,b\n1,2\n")


def test_files_are_bounded(tmp_path, monkeypatch):
    path = tmp_path / "sheet.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr("mislid.io.LARGEST_FILE", 8)
    assert read_spreadsheet(path, "row").numbers("b") == [2.0]
    monkeypatch.setattr("mislid.io.LARGEST_FILE", 7)
    with pytest.raises(FileFormatError, match=r"at most 7 bytes; got '.*sheet.csv' with 8"):
        read_spreadsheet(path, "row")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "device.csv"):
        with pytest.raises(FileFormatError, match="a pipe or device: save what it gives to a file"):
            read_spreadsheet(tmp_path / name, "row")
        with pytest.raises(FileFormatError, match="a pipe or device"):
            load_instance(tmp_path / name)


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
        assert cell[:1] not in tuple("=+-@\t\r") or NUMBER.fullmatch(cell)
    table = read_spreadsheet(path, "row")
    assert table.sheet.headings == ["arm", heading]
    assert table.sheet.texts("arm") == [label.strip(), "b"]
    assert table.numbers(heading) == [-1.5, 2.0]


@pytest.mark.parametrize("label", [name for name in NASTY if "\r" not in name])
def test_names_of_instances_are_no_formulas_either(tmp_path, label):
    instance = Instance(Model([[1.0], [2.0]], 3.0), [-1.0, 2.0], names=[label, "b"])
    instance.save(tmp_path / "arms.csv")
    line = (tmp_path / "arms.csv").read_text().splitlines()[-2]
    assert line[:1] not in tuple("=+-@\t\r") or label in ("-5", "+5e3")
    assert load_instance(tmp_path / "arms.csv").names == (label, "b")


@given(st.text(alphabet="'=+-@ax5.e\t \u00e9", max_size=6))
def test_guards_are_taken_off_again(text):
    assert bare(guarded(text)) == text
    assert guarded(text)[:1] not in tuple("=+-@\t\r") or NUMBER.fullmatch(text)
