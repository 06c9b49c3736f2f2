"""Files of instances, sheets and workbooks; each is written whole or not at all.

The reader accepts what spreadsheet programs write: a byte-order mark, semicolons or tabs, decimal
commas, a line `sep=;`, and empty rows and columns. It refuses a number that has two readings.
"""

import contextlib
import csv
import errno
import io
import math
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mislid._formatting import did_you_mean, shown
from mislid._validation import Labels, Matrix, Vector
from mislid.errors import FileFormatError, MissingPackageError, ProblemError

Row = tuple[int, list[str]]
"""The line number in the file, and the cells."""

_INSTANCES = (".npz", ".csv")
_NOT_FEATURES = ("name", "mean", "noise")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Digits in groups of three, as in 1.000; a leading zero is never grouped.
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_MARKS = {".": "point", ",": "comma"}
# Cells that begin with apostrophes get one more, so that `bare` restores them.
_FORMULA = re.compile("'*[-=+@\t\r\n;|%\uff1d\uff0b\uff0d\uff20]")


def as_plain(value: Any) -> Any:
    """A value for JSON: infinity becomes the text "inf", NaN becomes None.

    Examples
    --------
    >>> as_plain({"upper": float("inf"), "pair": (1, float("nan"))})
    {'upper': 'inf', 'pair': [1, None]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {key: as_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(entry) for entry in value]
    return value


def as_path(path: Any, name: str = "path", *endings: str) -> Path:
    """Check that an argument is a valid path with one of these endings."""
    try:
        place = Path(path)
        os.lstat(place)
    except (TypeError, ValueError):
        raise ProblemError(f"{name} must be a path; got {shown(path)}") from None
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            raise ProblemError(
                f"{name} must be a shorter path; got one of {len(str(place)):,} characters"
            ) from None
    if endings and place.suffix.lower() not in endings:
        raise FileFormatError(f"{name} must end in {' or '.join(endings)}; got {str(place)!r}")
    return place


def new_place(path: Any, name: str = "path", *endings: str) -> Path:
    """Check, before any computation, that a file can be written to a path.

    Messages call the path `name`. Without `endings`, every ending is allowed.

    Examples
    --------
    >>> new_place("no/such/directory/arms.npz", "--output")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: --output must name a file in an existing directory;
    got 'no/such/directory/arms.npz', whose directory does not exist
    """
    place = as_path(path, name, *endings)
    reason = ""
    if place.is_dir():
        reason = "a directory"
    elif not place.parent.is_dir():
        reason = "whose directory does not exist"
    elif not os.access(place.parent, os.W_OK | os.X_OK):
        reason = "whose directory cannot be written to"
    if reason:
        raise ProblemError(
            f"{name} must name a file in an existing directory; got {str(place)!r}, {reason}"
        )
    return place


def read_content(place: Path, what: str) -> bytes:
    """The bytes of a non-empty file; messages say `what` it should hold."""
    try:
        # Reading a pipe may block for ever.
        if place.exists() and not place.is_file():
            raise FileFormatError(f"path must be a file; got {str(place)!r}, which is none")
        content = place.read_bytes()
    except OSError as problem:
        raise FileFormatError(
            f"path must be a readable file; got {str(place)!r} ({problem.strerror})"
        ) from None
    if not content:
        raise FileFormatError(f"path must be a file with {what}; got {str(place)!r}, empty")
    return content


def write_whole(place: Path, content: bytes) -> None:
    """Replace a file, or write a new one; readers see the old or the new content, never a mixture.

    A link is replaced, and its target does not change. Devices, such as /dev/null, and pipes are
    written to directly.
    """
    if place.exists() and not place.is_file() and not place.is_dir():
        place.write_bytes(content)
        return
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def alone_in(folder: Path, refusal: Exception) -> Iterator[None]:
    """Lock a directory while the block runs; raise the refusal if another process has the lock.

    The system releases the lock of a process that is killed.
    """
    try:
        import fcntl
    except ImportError:  # fcntl exists on POSIX only
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refusal from None
        yield
    finally:
        os.close(handle)


def guarded(value: Any) -> Any:
    """A value for a cell of a text file, protected from being read as a formula.

    A text that begins with = + - @, also of full width, with ; | %, a tab or a line break gets a
    leading apostrophe, unless it is a number.

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


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Comma-separated lines in which no cell is a formula."""
    lines = []
    for row in rows:
        line = io.StringIO(newline="")
        # With this line terminator, cells that contain \r or \n are quoted.
        csv.writer(line, lineterminator="\r\n").writerow([guarded(cell) for cell in row])
        lines.append(line.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


@dataclass(frozen=True)
class Sheet:
    """Headings and rows of cells."""

    path: str
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
        """The index of a column; raises an error if there is none with this heading."""
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
        """The entry of each row in this column: a number, None if empty, or an error message."""
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

    If semicolons separate cells, the comma is the usual decimal mark; tabs allow either.
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
    """The finite number in a cell, or an error message.

    `mark` is the decimal mark, or empty if it is unknown.

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
        return f"a finite number is needed; got {shown(cell, 40)}"
    used = "," if "," in cell else "." if "." in cell else mark
    if used == mark:
        return float(number)
    way_out = f"'{cell}0' or {cell.replace(used, '')!r}, whichever is meant"
    if mark:
        way_out = f"a decimal {_MARKS[mark]} and no separator"
    return f"{shown(cell, 40)} may be a decimal {_MARKS[used]} or thousands: write {way_out}"


def read_sheet(path: str | os.PathLike[str], row: str) -> Sheet:
    """Read a .csv file, or the first sheet of an .xlsx file; messages call a line a `row`."""
    place = as_path(path)
    ending = place.suffix.lower()
    if ending == ".xls":
        raise FileFormatError(f"path must be saved as .xlsx or .csv; got {str(place)!r}")
    content = read_content(place, f"one line per {row}")
    return (_workbook_sheet if ending == ".xlsx" else csv_sheet)(content, str(place), row)


def csv_sheet(content: bytes, path: str, row: str) -> Sheet:
    """Read the bytes of a text file, without the spaces around cells."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path!r} must be UTF-8 text; it is not") from None
    lines = list(io.StringIO(text, newline=""))
    above = 0
    while above < len(lines) and (lines[above].startswith("#") or not lines[above].strip("\r\n")):
        above += 1
    separator, stated = _separator(lines[above:])
    above += stated
    reader = csv.reader(lines[above:], delimiter=separator, strict=True)
    try:
        found = [(above + reader.line_num, cells) for cells in reader]
    except csv.Error as problem:
        line = above + reader.line_num
        raise FileFormatError(f"{path!r}, line {line}, is not separated: {problem}") from None
    rows = [(line, [bare(cell.strip()).strip() for cell in cells]) for line, cells in found]
    return _sheet(path, rows, row, separator)


def _separator(lines: Sequence[str]) -> tuple[str, int]:
    """The separator of cells, and whether a line `sep=` declares it (1 or 0)."""
    first = lines[0] if lines else ""
    stated = re.match(r"(?i)sep=([,;\t])", first)
    if stated:
        return stated[1], 1
    heading = re.sub(r'"[^"]*"', "", first)
    return next((separator for separator in ";\t" if separator in heading), ","), 0


def _sheet(path: str, rows: list[Row], row: str, separator: str = ",") -> Sheet:
    """Check that headings are distinct, and that every line has a cell for each.

    Empty cells beyond the last heading are ignored.
    """
    rows = [(line, cells) for line, cells in rows if any(cells)]
    if len(rows) < 2:
        raise FileFormatError(f"{path!r} must have a heading line and one line per {row}")
    headings = list(rows[0][1])
    while not headings[-1]:
        headings.pop()
    repeated = [heading for heading in headings if headings.count(heading) > 1]
    if repeated and all(headings):
        raise FileFormatError(f"{path!r} must have distinct headings; got {repeated[0]!r} twice")
    if not all(headings) or all(_NUMBER.fullmatch(heading) for heading in headings):
        raise FileFormatError(
            f"{path!r} must begin with a line of headings, one for every column and 'name' for "
            f"labels; got {shown(headings)}"
        )
    for line, cells in rows[1:]:
        if len(cells) < len(headings) or any(cells[len(headings) :]):
            raise FileFormatError(
                f"{path!r} must have {len(headings)} cells in every line, one per heading; "
                f"got {len(cells)} in line {line}"
            )
    return Sheet(path, headings, rows[1:], separator)


def require_workbooks(what: str) -> None:
    """Raise an error if openpyxl is missing; it says what to install."""
    if find_spec("openpyxl") is None:
        raise MissingPackageError(
            f"{what} needs openpyxl (pip install 'mislid[xlsx]'); a .csv file does without"
        )


def workbook_bytes(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """The content of a workbook with one sheet, in which no text is a formula or a number."""
    require_workbooks("an .xlsx file")
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    for line, cells in enumerate([heading, *rows], start=1):
        for column, value in enumerate(cells, start=1):
            cell = sheet.cell(line, column)
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                cell.value = str(value)
                cell.data_type = "s"  # "=1+1" is a label, not a formula
                cell.number_format = "@"  # "007" stays a text when it is edited
            else:
                cell.value = value
    sheet.freeze_panes = "A2"
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _workbook_sheet(content: bytes, path: str, row: str) -> Sheet:
    """Read the first worksheet; a formula is read as the value saved with it."""
    require_workbooks(repr(path))
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(content), data_only=True, read_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # the size stored in the file may be wrong
        lines = list(enumerate(sheet.iter_rows(values_only=True), start=1))
    except Exception as problem:  # noqa: BLE001 - openpyxl raises a dozen types on damaged bytes
        said = " ".join(str(problem).split())
        raise FileFormatError(
            f"{path!r} must be an Excel workbook (.xlsx) with a sheet; it cannot be read "
            f"({said[:100]})"
        ) from None
    texts = [(line, [_text(value) for value in cells]) for line, cells in lines]
    rows = [(line, cells) for line, cells in texts if any(cells)]
    while rows and rows[0][1][0].startswith("#"):
        rows.pop(0)
    # openpyxl ends a row at its last filled cell.
    width = len(rows[0][1]) if rows else 0
    padded = [(line, cells + [""] * (width - len(cells))) for line, cells in rows]
    return _sheet(path, padded, row)


def _text(value: Any) -> str:
    """A cell's value as text.

    >>> _text(None), _text(7.0), _text(0.1), _text(" 007 ")
    ('', '7', '0.1', '007')
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()


class Table(NamedTuple):
    """The arrays of an instance in a file; None for those that the file lacks."""

    features: Matrix
    means: Vector
    noise: Vector | None = None
    names: Labels | None = None
    misspecification: float | None = None


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read the arrays of an instance, as `mislid.load_instance` describes its files."""
    place = as_path(path, "path", *_INSTANCES)
    content = read_content(place, "an instance")
    return (npz_table if place.suffix.lower() == ".npz" else _csv_table)(content, str(place))


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write the arrays of an instance to a .npz file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> table = Table(np.eye(2), np.array([0.1, 0.2]), np.ones(2), ("a", "b"), 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Path(folder) / "arms.npz", table)
    ...     read_table(Path(folder) / "arms.npz").names
    ('a', 'b')
    """
    write_whole(new_place(path, "path", ".npz"), npz_bytes(table))


def npz_table(content: bytes, path: str) -> Table:
    """Read the bytes of a .npz file; `path` is for messages."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in Table._fields if name in file}
            present = ", ".join(file) or "none"
    except Exception as problem:  # noqa: BLE001 - NumPy raises a dozen types on damaged bytes
        raise FileFormatError(
            f"{path!r} must be a complete .npz file with numbers, and names saved with "
            f"names.astype(str); it cannot be read ({problem})"
        ) from None
    missing = [name for name in ("features", "means") if name not in arrays]
    if missing:
        raise FileFormatError(
            f"{path!r} must hold the arrays features and means; "
            f"it lacks {' and '.join(missing)} and holds {present}"
        )
    names = arrays.pop("names", None)
    return Table(names=None if names is None else tuple(names.tolist()), **arrays)


def npz_bytes(table: Table) -> bytes:
    """The bytes of a .npz file with every field of the table that is not None."""
    arrays = {key: np.asarray(value) for key, value in table._asdict().items() if value is not None}
    if table.names is not None:
        stored = arrays["names"]
        # NumPy drops trailing NULs of text and makes objects of integers beyond 64 bits.
        if stored.dtype.kind not in "Uiu" or stored.tolist() != [*table.names]:
            raise ProblemError(
                "names saved to .npz must be text without NUL characters or 64-bit integers; "
                f"got {', '.join(map(repr, table.names[:3]))}, ..."
            )
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the keys are never `allow_pickle`
    return buffer.getvalue()


def _csv_table(content: bytes, path: str) -> Table:
    sheet = csv_sheet(content, path, "arm")
    features = [heading for heading in sheet.headings if heading not in _NOT_FEATURES]
    if not sheet.has("mean") or not features:
        raise FileFormatError(
            f"{path!r} must have a column 'mean' and at least one feature column; "
            f"got the headings {sheet.listed()}"
        )
    return Table(
        features=sheet.matrix(features),
        means=sheet.numbers("mean"),
        noise=sheet.numbers("noise") if sheet.has("noise") else None,
        names=tuple(sheet.texts("name")) if sheet.has("name") else None,
    )
