"""Instances as .csv files: one line per arm below the headings, facts in comments above them."""

import csv
import io
from collections.abc import Iterable

import numpy as np

from mislid._validation import Labels, Vector, as_labels, as_noise
from mislid.errors import FileFormatError, ProblemError
from mislid.files._sheet import Sheet, csv_sheet, parsed
from mislid.files._table import Table, declared_misspecification

_NOT_FEATURES = ("name", "mean", "noise")


def csv_table(content: bytes, path: str) -> Table:
    """Give the table in the bytes of a .csv file; `path` is for messages."""
    sheet = csv_sheet(content, path, "arm")
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
            None if declared is None else declared_misspecification(parsed(declared), path)
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


def _sheet_labels(sheet: Sheet) -> Labels:
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
