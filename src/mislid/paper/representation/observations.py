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
    means
        Average rewards (K,) of the candidates.
    columns
        Headings of the features.
    """

    X: Matrix
    y: Vector
    candidates: Matrix
    means: Vector
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
    >>> seen.names, seen.means.tolist(), seen.columns
    (('a', 'b'), [1.5, 3.0], ('x',))
    """
    sheet = read_sheet(path, "observation")
    naming = "name" if name is None and sheet.has("name") else name
    apart = {*groups, target} | {heading for heading in (naming, where and where[0]) if heading}
    for heading in sorted(apart):
        sheet.column(heading)
    columns = tuple(heading for heading in sheet.headings if heading not in apart)
    if not columns:
        raise FileFormatError(
            f"{sheet.path!r} must have a feature column besides target, name and groups; "
            f"got the headings {sheet.listed()}"
        )
    try:
        X = sheet.matrix(columns)
    except FileFormatError as problem:
        problem.add_note("name columns that are no features as groups")
        raise
    y = sheet.numbers(target)
    labels = numbered(X).tolist() if naming is None else sheet.texts(naming)
    members: dict[str | int, list[int]] = {}
    for at in _chosen(sheet, where):
        members.setdefault(labels[at], []).append(at)
    _check_members(sheet, columns, X, members)
    return Observations(
        X=X,
        y=y,
        candidates=X[[first for first, *_ in members.values()]],
        means=np.array([y[rows].mean() for rows in members.values()]),
        names=None if naming is None else tuple(map(str, members)),
        columns=columns,
    )


def numbered(rows: Matrix) -> Rows:
    """The candidate of every row (n, p), numbered in the order in which they come.

    >>> numbered(np.array([[5.0, 1.0], [2.0, 0.0], [5.0, 1.0], [2.0, -0.0]])).tolist()
    [0, 1, 0, 1]
    """
    found: dict[bytes, int] = {}
    # Adding zero turns -0.0 into 0.0.
    keys = [row.tobytes() for row in rows + 0.0]
    return np.array([found.setdefault(key, len(found)) for key in keys], dtype=np.intp)


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


def _check_members(
    sheet: Sheet, columns: tuple[str, ...], X: Matrix, members: dict[str | int, list[int]]
) -> None:
    """Check that there are two candidates, all with names, and each with one row of features."""
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
