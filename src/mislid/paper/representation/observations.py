"""Observations of candidates; rows of equal features are one candidate."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Labels, Matrix, Vector
from mislid.errors import FileFormatError, ProblemError
from mislid.io import Sheet, read_sheet

Rows = NDArray[np.intp]


class Observations(NamedTuple):
    """Measured rows, and the candidates among them.

    Attributes
    ----------
    X, y
        Features (n, p) and rewards (n,) of the rows.
    candidates, names
        Features (K, p) of the candidates, and their names if there are any.
    means, repeats
        Average and number (K,) of each candidate's rewards.
    columns
        Headings of the features.
    """

    X: Matrix
    y: Vector
    candidates: Matrix
    means: Vector
    repeats: tuple[int, ...]
    names: Labels | None
    columns: tuple[str, ...]


def read_observations(
    path: str | os.PathLike[str],
    *,
    target: str,
    name: str | None = None,
    groups: Iterable[str] = (),
    where: tuple[str, str] | None = None,
) -> Observations:
    r"""Read a .csv file with a heading line and one line per observation.

    Parameters
    ----------
    path
        The file.
    target
        Heading of the rewards.
    name
        Heading of the candidates' names; by default `name` where there is such a column. Without
        names, lines with the same features are one candidate.
    groups
        Headings of columns that are no features, such as patients or dates.
    where
        A column and the text of a cell: only lines with it make candidates, the network learns
        from all. The column counts as a group.

    Returns
    -------
    Observations
        All rows, and the candidates among them.

    Raises
    ------
    FileFormatError
        Where the file cannot be read, a cell is no number, or a candidate's features differ.
    ProblemError
        Where a column or the cell of `where` is not there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "measured.csv")
    ...     _ = path.write_text("name,day,x,reward\na,1,0.5,1\nb,1,0.7,3\na,2,0.5,2\n")
    ...     seen = read_observations(path, target="reward", groups=["day"])
    >>> seen.names, seen.means.tolist(), seen.repeats, seen.columns
    (('a', 'b'), [1.5, 3.0], (2, 1), ('x',))
    """
    sheet = read_sheet(path, "observation")
    naming = "name" if name is None and sheet.has("name") else name
    apart = {*groups, target} | {heading for heading in (naming, where and where[0]) if heading}
    for heading in sorted(apart):
        if not sheet.has(heading):
            raise ProblemError(
                f"{sheet.path!r} must have a column {heading!r}; got the headings {_listed(sheet)}"
            )
    columns = tuple(heading for heading in sheet.headings if heading not in apart)
    if not columns:
        raise FileFormatError(
            f"{sheet.path!r} must have a feature column besides target, name and groups; "
            f"got the headings {_listed(sheet)}"
        )
    X, y = _numbers(sheet, columns), sheet.numbers(target)
    names = None if naming is None else sheet.texts(naming)
    members: dict[str, list[int]] = {}
    for at in _chosen(sheet, where):
        label = key_of(X[at]).hex() if names is None else names[at]
        members.setdefault(label, []).append(at)
    _refuse_unfit(sheet, columns, X, members)
    return Observations(
        X=X,
        y=y,
        candidates=X[[first for first, *_ in members.values()]],
        means=np.array([y[rows].mean() for rows in members.values()]),
        repeats=tuple(len(rows) for rows in members.values()),
        names=None if naming is None else tuple(members),
        columns=columns,
    )


def key_of(row: Vector) -> bytes:
    """A key that equal rows share."""
    # Adding zero turns -0.0 into 0.0.
    return (row + 0.0).tobytes()


def numbered(rows: Matrix) -> Rows:
    """The candidate of every row (n, p), numbered in the order in which they come.

    >>> numbered(np.array([[5.0, 1.0], [2.0, 0.0], [5.0, 1.0], [2.0, -0.0]])).tolist()
    [0, 1, 0, 1]
    """
    found: dict[bytes, int] = {}
    return np.array([found.setdefault(key_of(row), len(found)) for row in rows], dtype=np.intp)


def _numbers(sheet: Sheet, columns: tuple[str, ...]) -> Matrix:
    try:
        return sheet.matrix(columns)
    except FileFormatError as problem:
        problem.add_note("name columns that are no features as groups")
        raise


def _chosen(sheet: Sheet, where: tuple[str, str] | None) -> list[int]:
    """Places of the rows that make candidates."""
    if where is None:
        return list(range(len(sheet.rows)))
    column, value = where
    cells = sheet.texts(column)
    chosen = [at for at, cell in enumerate(cells) if cell == value.strip()]
    if not chosen:
        raise ProblemError(
            f"where must name a cell of column {column!r} of {sheet.path!r}, "
            f"such as {cells[0]!r}; got {value!r}"
        )
    return chosen


def _refuse_unfit(
    sheet: Sheet, columns: tuple[str, ...], X: Matrix, members: dict[str, list[int]]
) -> None:
    """Refuse single candidates, some without a name, and rows of one with other features."""
    if "" in members:
        raise FileFormatError(
            f"{sheet.path!r} must name every candidate; the name in line "
            f"{sheet.line(members[''][0])} is empty"
        )
    if len(members) < 2:
        raise FileFormatError(f"{sheet.path!r} must have at least 2 candidates to choose from")
    for label, rows in members.items():
        different = np.argwhere(X[rows] != X[rows[0]])
        if different.size:
            row, column = different[0]
            raise FileFormatError(
                f"{sheet.path!r} must give candidate {label!r} the same features in every line; "
                f"lines {sheet.line(rows[0])} and {sheet.line(rows[row])} differ in column "
                f"{columns[column]!r} (is it a group?)"
            )


def _listed(sheet: Sheet, most: int = 8) -> str:
    shown = ", ".join(map(repr, sheet.headings[:most]))
    rest = len(sheet.headings) - most
    return f"{shown} and {rest} more" if rest > 0 else shown
