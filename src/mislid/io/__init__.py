"""Read and write the arrays of an instance as .npz or .csv, whatever they are used for."""

import errno
import math
import os
import stat
from pathlib import Path
from typing import Any

from mislid._words import shown
from mislid.errors import FileFormatError, ProblemError
from mislid.io.guards import guarded
from mislid.io.instances import (
    Table,
    csv_bytes,
    csv_table,
    declared_misspecification,
    npz_bytes,
    npz_table,
)
from mislid.io.sheets import (
    Sheet,
    Spreadsheet,
    csv_sheet,
    decimal,
    from_workbook,
    spreadsheet,
)
from mislid.io.workbooks import ENDING, require_workbooks, workbook_bytes, workbook_rows
from mislid.io.writing import Draft, alone_in, write_whole

__all__ = [
    "Draft",
    "Sheet",
    "Spreadsheet",
    "Table",
    "alone_in",
    "as_path",
    "as_plain",
    "decimal",
    "declared_misspecification",
    "guarded",
    "new_place",
    "npz_bytes",
    "npz_table",
    "read_sheet",
    "read_spreadsheet",
    "read_table",
    "require_workbooks",
    "workbook_bytes",
    "write_table",
    "write_whole",
]

LARGEST_FILE = 1 << 28
"""Bytes of a file that is read."""

# What files of instances end in.
_INSTANCE = (".npz", ".csv")


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read the arrays of an instance, as `mislid.load_instance` describes its files."""
    place = _ending(path, "path", *_INSTANCE)
    content = _content(place, "an instance")
    read = npz_table if place.suffix.lower() == ".npz" else csv_table
    return read(content, str(place))


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Read the cells of a .csv file with a heading line and one line per observation."""
    place = _ending(path, "path", ".csv")
    return csv_sheet(_content(place, "observations"), str(place), "observation")


def read_spreadsheet(path: str | os.PathLike[str], row: str) -> Spreadsheet:
    """Read the cells of a file that a spreadsheet program may have written.

    It has a heading line and commas, semicolons or tabs between cells, and numbers with decimal
    points or commas; or it is a workbook, .xlsx, of which the first sheet is read. Messages call a
    line a `row`, such as "candidate".
    """
    place = as_path(path)
    if place.suffix.lower() == ".xls":
        raise FileFormatError(f"path must be saved as .xlsx or .csv; got {str(place)!r}")
    if place.suffix.lower() == ENDING:
        content = _content(place, f"one line per {row}")
        return from_workbook(workbook_rows(content, str(place)), str(place), row)
    return spreadsheet(_content(place, f"one line per {row}"), str(place), row)


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write the arrays of an instance to a .npz or .csv file, whole or not at all.

    Examples
    --------
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
    place = new_place(path, "path", *_INSTANCE)
    write = npz_bytes if place.suffix.lower() == ".npz" else csv_bytes
    write_whole(place, write(table))


def new_place(path: Any, name: str = "path", *endings: str) -> Path:
    """Check, before anything is computed, that a file can be written to a place.

    Messages call the path by `name`; `endings` are those that its name may have, if not all.

    Examples
    --------
    >>> new_place("no/such/directory/arms.npz", "--output")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: --output must name a file in an existing directory;
    got 'no/such/directory/arms.npz', whose directory does not exist
    """
    place = _ending(path, name, *endings)
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


def as_plain(value: Any) -> Any:
    """Values of JSON, which has no infinity: that is the text "inf"; what is no number is None.

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


def _content(place: Path, what: str) -> bytes:
    if place.is_dir():
        raise FileFormatError(f"path must be a file; got the directory {str(place)!r}")
    try:
        about = place.stat()
        # A pipe may never end, and reading one that nobody writes to never begins.
        if not stat.S_ISREG(about.st_mode):
            raise FileFormatError(
                f"path must be a file; got {str(place)!r}, a pipe or device: save what it gives "
                "to a file first"
            )
        _refuse_larger(about.st_size, place)
        with place.open("rb") as file:
            content = file.read(about.st_size)
    except OSError as problem:
        raise FileFormatError(
            f"path must be a readable file; got {str(place)!r} ({problem.strerror})"
        ) from None
    if not content:
        raise FileFormatError(f"path must be a file with {what}; got {str(place)!r}, empty")
    return content


def _refuse_larger(size: int, place: Path) -> None:
    if size > LARGEST_FILE:
        raise FileFormatError(
            f"path must be a file of at most {LARGEST_FILE:,} bytes; got {str(place)!r} with "
            f"{size:,}"
        )


def as_path(path: Any, name: str = "path") -> Path:
    """Check that something is a path, and one that can be."""
    try:
        place = Path(path)
        os.lstat(place)
    except TypeError:
        raise ProblemError(f"{name} must be a string or a path; got {shown(path)}") from None
    except ValueError:
        raise ProblemError(
            f"{name} must be a path that the system can have; got {shown(path)}"
        ) from None
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            raise ProblemError(
                f"{name} must be a shorter path; got one of {len(str(place)):,} characters"
            ) from None
    return place


def _ending(path: Any, name: str, *endings: str) -> Path:
    """The path, with a name that ends in one of these."""
    place = as_path(path, name)
    if endings and place.suffix.lower() not in endings:
        raise FileFormatError(f"{name} must end in {' or '.join(endings)}; got {str(place)!r}")
    return place
