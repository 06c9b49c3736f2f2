"""Read and write the arrays of an instance as .npz or .csv, whatever they are used for."""

import math
import os
from pathlib import Path
from typing import Any

from mislid.errors import FileFormatError, ProblemError
from mislid.files._csv import csv_bytes, csv_table
from mislid.files._npz import npz_bytes, npz_table
from mislid.files._sheet import Sheet, csv_sheet
from mislid.files._spreadsheet import Spreadsheet, decimal, spreadsheet
from mislid.files._table import Table
from mislid.files._whole import Draft, write_whole

__all__ = [
    "Draft",
    "Sheet",
    "Spreadsheet",
    "Table",
    "as_plain",
    "decimal",
    "new_place",
    "place_to_write",
    "read_sheet",
    "read_spreadsheet",
    "read_table",
    "write_table",
    "write_whole",
]


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a .npz or .csv file, as `write_table` writes it or as `load_instance` describes it."""
    place = _with_suffix(path, ".npz", ".csv")
    content = _content(place, "an instance")
    read = npz_table if place.suffix.lower() == ".npz" else csv_table
    return read(content, str(place))


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Read the cells of a .csv file of observations, whatever its columns are."""
    place = _with_suffix(path, ".csv")
    return csv_sheet(_content(place, "observations"), str(place), "observation")


def read_spreadsheet(path: str | os.PathLike[str], row: str) -> Spreadsheet:
    """Read the cells of a file that a spreadsheet program may have written; `row` is one line."""
    place = Path(path)
    return spreadsheet(_content(place, f"one line per {row}"), str(place), row)


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write a .npz or .csv file, whole or not at all.

    >>> import tempfile
    >>> import numpy as np
    >>> table = Table(np.eye(2), np.array([0.1, 0.2]), np.ones(2), ("a", "b"), 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Path(folder) / "arms.csv", table)
    ...     print((Path(folder) / "arms.csv").read_text().strip())
    # misspecification=0.5
    name,mean,noise,x0,x1
    a,0.1,1.0,1.0,0.0
    b,0.2,1.0,0.0,1.0
    """
    place = place_to_write(path)
    write = npz_bytes if place.suffix.lower() == ".npz" else csv_bytes
    write_whole(place, write(table))


def place_to_write(path: str | os.PathLike[str]) -> Path:
    """Give the place of an instance to be written, or say why it cannot be there."""
    return new_place(_with_suffix(path, ".npz", ".csv"))


def new_place(path: Any, name: str = "path") -> Path:
    """Where a file may be written; `name` is what the user calls the path.

    >>> new_place("no/such/directory/arms.npz", "--output")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: --output must name a file in an existing directory;
    got 'no/such/directory/arms.npz', whose directory does not exist
    """
    place = _as_path(path, name)
    if place.is_dir() or not place.parent.is_dir():
        raise ProblemError(
            f"{name} must name a file in an existing directory; got {str(place)!r}, "
            + ("a directory" if place.is_dir() else "whose directory does not exist")
        )
    return place


def as_plain(value: Any) -> Any:
    """Values of JSON, which has no infinity: "inf"; what is not a number becomes null.

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


def _content(place: Path, what: str) -> bytes:
    if place.is_dir():
        raise FileFormatError(f"path must be a file; got the directory {str(place)!r}")
    try:
        content = place.read_bytes()
    except OSError as problem:
        raise FileFormatError(
            f"path must be a readable file; got {str(place)!r} ({problem.strerror})"
        ) from None
    if not content:
        raise FileFormatError(f"path must be a file with {what}; got {str(place)!r}, empty")
    return content


def _as_path(path: Any, name: str = "path") -> Path:
    try:
        return Path(path)
    except TypeError:
        raise ProblemError(f"{name} must be a string or a path; got {path!r}") from None


def _with_suffix(path: Any, *suffixes: str) -> Path:
    place = _as_path(path)
    if place.suffix.lower() not in suffixes:
        raise FileFormatError(f"path must end in {' or '.join(suffixes)}; got {str(place)!r}")
    return place
