"""Read and write the arrays of an instance as .npz or .csv, whatever they are used for."""

import os
from pathlib import Path
from typing import Any

from mislid.errors import FileFormatError, ProblemError
from mislid.files.instances import Table, csv_bytes, csv_table, npz_bytes, npz_table
from mislid.files.sheets import Sheet, Spreadsheet, csv_sheet, decimal, spreadsheet
from mislid.files.writing import Draft, alone_in, write_whole

__all__ = [
    "Draft",
    "Sheet",
    "Spreadsheet",
    "Table",
    "alone_in",
    "decimal",
    "npz_bytes",
    "npz_table",
    "place_to_write",
    "read_sheet",
    "read_spreadsheet",
    "read_table",
    "write_table",
    "write_whole",
]


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read the arrays of an instance.

    Parameters
    ----------
    path
        A .npz or .csv file, as `write_table` writes it or as `mislid.load_instance` describes it.

    Returns
    -------
    Table
        Features, means, and what else the file says.

    Raises
    ------
    FileFormatError
        Where the file cannot be read, is damaged, or lacks features or means.
    """
    place = _with_suffix(path, ".npz", ".csv")
    content = _content(place, "an instance")
    read = npz_table if place.suffix.lower() == ".npz" else csv_table
    return read(content, str(place))


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Read the cells of a .csv file of observations, whatever its columns are.

    Parameters
    ----------
    path
        A .csv file with a heading line and one line per observation.

    Returns
    -------
    Sheet
        Its cells by heading.

    Raises
    ------
    FileFormatError
        Where the file cannot be read or its lines do not fit its headings.
    """
    place = _with_suffix(path, ".csv")
    return csv_sheet(_content(place, "observations"), str(place), "observation")


def read_spreadsheet(path: str | os.PathLike[str], row: str) -> Spreadsheet:
    """Read the cells of a file that a spreadsheet program may have written.

    Parameters
    ----------
    path
        A text file with a heading line, separated by commas, semicolons or tabs.
    row
        What messages call a line, such as "candidate".

    Returns
    -------
    Spreadsheet
        Its cells, and numbers with decimal points or commas.

    Raises
    ------
    FileFormatError
        Where the file cannot be read or its lines do not fit its headings.
    """
    place = Path(path)
    return spreadsheet(_content(place, f"one line per {row}"), str(place), row)


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write the arrays of an instance, whole or not at all.

    Parameters
    ----------
    path
        Where the file goes; .npz or .csv.
    table
        What `read_table` reads back from it, exactly.

    Raises
    ------
    ProblemError
        Where the path is not in an existing directory, or a name cannot be written.

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
    place = place_to_write(path)
    write = npz_bytes if place.suffix.lower() == ".npz" else csv_bytes
    write_whole(place, write(table))


def place_to_write(path: str | os.PathLike[str]) -> Path:
    """Check, before anything is computed, that an instance can be written to a place.

    Parameters
    ----------
    path
        A .npz or .csv file that may not exist yet.

    Returns
    -------
    Path
        The same place.

    Raises
    ------
    ProblemError
        Where it is a directory or in none that exists.
    FileFormatError
        Where it ends otherwise.
    """
    place = _with_suffix(path, ".npz", ".csv")
    if place.is_dir() or not place.parent.is_dir():
        raise ProblemError(
            f"path must name a file in an existing directory; got {str(place)!r}, "
            + ("a directory" if place.is_dir() else "whose directory does not exist")
        )
    return place


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


def _with_suffix(path: Any, *suffixes: str) -> Path:
    try:
        place = Path(path)
    except TypeError:
        raise ProblemError(f"path must be a string or a path; got {path!r}") from None
    if place.suffix.lower() not in suffixes:
        raise FileFormatError(f"path must end in {' or '.join(suffixes)}; got {str(place)!r}")
    return place
