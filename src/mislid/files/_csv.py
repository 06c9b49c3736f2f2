"""Instances as .csv files: one line per arm below the headings, facts in comments above them."""

import csv
import io
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mislid._validation import Labels, Vector, as_labels, as_noise
from mislid.errors import FileFormatError, ProblemError
from mislid.files._table import Table, declared_misspecification

_NOT_FEATURES = ("name", "mean", "noise")


def csv_table(content: bytes, path: str) -> Table:
    """Give the table in the bytes of a .csv file; `path` is for messages."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path!r} must be UTF-8 text; it is not") from None
    sheet = _sheet(text, path)
    features = [heading for heading in sheet.headings if heading not in _NOT_FEATURES]
    if not sheet.has("mean") or not features:
        raise FileFormatError(
            f"{path!r} must have a column 'mean' and at least one feature column; "
            f"got the headings {', '.join(map(repr, sheet.headings))}"
        )
    noise = sheet.numbers("noise") if sheet.has("noise") else None
    declared = sheet.facts.get("misspecification")
    return Table(
        features=np.column_stack([sheet.numbers(heading) for heading in features]),
        means=sheet.numbers("mean"),
        noise=None if noise is None else as_noise(noise, noise.size, f"noise in {path!r}"),
        names=_sheet_labels(sheet) if sheet.has("name") else None,
        misspecification=(
            None if declared is None else declared_misspecification(_parsed(declared), path)
        ),
    )


def csv_bytes(table: Table) -> bytes:
    """Give the bytes of a .csv file that reads back as the same table."""
    columns: dict[str, Iterable[str | int]] = {}
    if table.names is not None:
        _refuse_unwritable(table.names)
        columns["name"] = table.names
    columns["mean"] = _digits(table.means)
    if table.noise is not None:
        columns["noise"] = _digits(table.noise)
    for column, feature in enumerate(table.features.T):
        columns[f"x{column}"] = _digits(feature)
    buffer = io.StringIO(newline="")
    if table.misspecification is not None:
        buffer.write(f"# misspecification={table.misspecification!r}\n")
    if table.names is not None and isinstance(table.names[0], int):
        buffer.write("# names=integers\n")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue().encode()


class _Sheet(NamedTuple):
    path: str
    facts: dict[str, str]
    headings: list[str]
    rows: list[tuple[int, list[str]]]  # line number in the file, cells

    def has(self, heading: str) -> bool:
        return heading in self.headings

    def texts(self, heading: str) -> list[str]:
        column = self.headings.index(heading)
        return [cells[column] for _, cells in self.rows]

    def numbers(self, heading: str) -> Vector:
        column = self.headings.index(heading)
        return np.array([self._number(line, heading, cells[column]) for line, cells in self.rows])

    def _number(self, line: int, heading: str, cell: str) -> float:
        number = _parsed(cell)
        if isinstance(number, str) or not math.isfinite(number):
            raise FileFormatError(
                f"{self.path!r} must hold finite numbers; "
                f"got {cell!r} in line {line}, column {heading!r}"
            )
        return number


def _sheet(text: str, path: str) -> _Sheet:
    facts, lines = _leading_facts(text)
    reader = csv.reader(io.StringIO(lines, newline=""), strict=True)
    skipped = text.count("\n") - lines.count("\n")
    try:
        rows = [(skipped + reader.line_num, cells) for cells in reader if cells]
    except csv.Error as problem:
        raise FileFormatError(
            f"{path!r} must be comma-separated; line {skipped + reader.line_num} is not: {problem}"
        ) from None
    if len(rows) < 2:
        raise FileFormatError(f"{path!r} must have a heading line and one line per arm")
    headings = [heading.strip() for heading in rows[0][1]]
    _refuse_headings(headings, path)
    for line, cells in rows[1:]:
        if len(cells) != len(headings):
            raise FileFormatError(
                f"{path!r} must have {len(headings)} cells in every line, one per heading; "
                f"got {len(cells)} in line {line}"
            )
    return _Sheet(path, facts, headings, rows[1:])


def _leading_facts(text: str) -> tuple[dict[str, str], str]:
    """Split off the comment lines at the top; those of the form `# key=value` state facts."""
    facts = {}
    while text.startswith("#"):
        comment, _, text = text.partition("\n")
        key, _, value = comment.lstrip("#").partition("=")
        facts[key.strip()] = value.strip()
    return facts, text


def _refuse_headings(headings: list[str], path: str) -> None:
    for column, heading in enumerate(headings):
        if not heading:
            raise FileFormatError(
                f"{path!r} must have a heading for every column ('name' for labels); "
                f"column {column + 1} has none"
            )
        if heading in headings[:column]:
            raise FileFormatError(f"{path!r} must have distinct headings; got {heading!r} twice")


def _sheet_labels(sheet: _Sheet) -> Labels:
    labels: list[str] | list[int] = sheet.texts("name")
    if sheet.facts.get("names") == "integers":
        try:
            labels = [int(label) for label in labels]
        except ValueError as problem:
            raise FileFormatError(
                f"names in {sheet.path!r} must be integers, as its first lines say: {problem}"
            ) from None
    return as_labels(labels, len(labels), f"names in {sheet.path!r}")


def _digits(numbers: Vector) -> list[str]:
    """Shortest decimals that read back as the same floats."""
    return [repr(number) for number in numbers.tolist()]


def _refuse_unwritable(names: Labels) -> None:
    for name in names:
        if isinstance(name, str) and (set(name) & set("\r\n\0") or not _is_unicode(name)):
            raise ProblemError(
                "names saved to .csv must be text without line breaks or NUL characters; "
                f"got {name!r}"
            )


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _parsed(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
