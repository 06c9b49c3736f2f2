"""Candidates from a file: .csv with labels and features, or the .npz file of an instance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid._validation import Labels
from mislid.errors import FileFormatError, ProblemError
from mislid.files import read_spreadsheet, read_table

if TYPE_CHECKING:
    from mislid.files import Spreadsheet

# What the columns of an instance's file are called that hold no feature.
_RESERVED = {
    "mean": "leave it out with --ignore mean",
    "noise": "use it with --noise noise, or leave it out with --ignore noise",
}


class Given(NamedTuple):
    """What a file says: labels, features per candidate, noise and misspecification, if any."""

    labels: Labels
    features: list[list[float]] | None
    noise: float | list[float] | None
    misspecification: float | None

    def candidates(self) -> dict[str, Any]:
        """As `create_study` takes them."""
        if self.features is None:
            return {"candidates": list(self.labels)}
        return {"candidates": self.features, "names": self.labels}


def read_candidates(
    path: str, label: str | None, noise: str | None, ignored: Sequence[str]
) -> Given:
    """Read the file; `noise` is a number or the column that has one per candidate."""
    if Path(path).suffix.lower() != ".npz":
        return _from_csv(path, label, noise, ignored)
    if label is not None or ignored:
        option = "--ignore" if label is None else "--label-column"
        raise ProblemError(f"{option} must be left out for {path!r}: a .npz file has no columns")
    table = read_table(path)
    spread = table.noise if noise is None else _number(noise, path, [])
    names = tuple(range(len(table.features))) if table.names is None else table.names
    declared = None if spread is None or isinstance(spread, float) else spread.tolist()
    return Given(
        labels=names,
        features=table.features.tolist(),
        noise=spread if isinstance(spread, float) else declared,
        misspecification=table.misspecification,
    )


def _from_csv(path: str, label: str | None, noise: str | None, ignored: Sequence[str]) -> Given:
    table = read_spreadsheet(path, "candidate")
    sheet = table.sheet
    naming = sheet.headings[0] if label is None else label
    _refuse_unknown(table, [("--label-column", naming), *(("--ignore", name) for name in ignored)])
    spread: float | list[float] | None = None
    apart = {naming, *ignored}
    if noise is not None and sheet.has(noise):
        apart.add(noise)
        spread = table.numbers(noise)
    elif noise is not None:
        spread = _number(noise, path, sheet.headings)
    columns = [heading for heading in sheet.headings if heading not in apart]
    for column in columns:
        if column in _RESERVED:
            raise FileFormatError(
                f"{path!r} has a column {column!r}, which is hardly a feature: {_RESERVED[column]}"
            )
    features = [table.numbers(column) for column in columns]
    declared = sheet.facts.get("misspecification")
    return Given(
        labels=_labels(table, naming),
        features=[list(row) for row in zip(*features, strict=True)] if columns else None,
        noise=spread,
        misspecification=None if declared is None else float(declared),
    )


def _labels(table: Spreadsheet, naming: str) -> Labels:
    """Texts, also where they look like numbers, unless a line above the headings says otherwise."""
    cells = table.sheet.texts(naming)
    for (line, _), cell in zip(table.sheet.rows, cells, strict=True):
        if not cell:
            raise FileFormatError(
                f"{table.sheet.path!r} must name every candidate; line {line}, column {naming!r} "
                "is empty"
            )
    if table.sheet.facts.get("names") != "integers":
        return tuple(cells)
    try:
        return tuple(int(cell) for cell in cells)
    except ValueError as problem:
        raise FileFormatError(
            f"{table.sheet.path!r} must have integers for names, as its first lines say: {problem}"
        ) from None


def _number(text: str, path: str, headings: Sequence[str]) -> float:
    try:
        return float(text)
    except ValueError:
        known = f", one of {', '.join(map(repr, headings))}" if headings else ""
        raise ProblemError(
            f"--noise must be a number or a column of {path!r}{known}; got {text!r}"
        ) from None


def _refuse_unknown(table: Spreadsheet, wanted: Sequence[tuple[str, str]]) -> None:
    for option, heading in wanted:
        if not table.sheet.has(heading):
            headings = ", ".join(map(repr, table.sheet.headings))
            raise ProblemError(
                f"{option} must name a column of {table.sheet.path!r}, one of {headings}; "
                f"got {heading!r}"
            )
