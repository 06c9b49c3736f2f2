"""Finished runs on disk: settings.json and runs.csv.

Rows are appended one by one, so that a killed replication loses none that had finished, and the
same call resumes it. A last line that a crash left half-written is dropped.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mislid.errors import FileFormatError, ProblemError
from mislid.io import alone_in, as_path, write_whole
from mislid.simulation.job import Row

SETTINGS, RUNS = "settings.json", "runs.csv"
HEADING = ",".join(Row._fields)
# These may differ when a replication is resumed: more runs, another interpreter.
_FREE = {"runs", "python"}


def text_of(row: Row) -> str:
    """A row as a line of runs.csv.

    >>> text_of(Row(3, 120, None, "budget exhausted", 0.25))
    '3,120,,budget exhausted,0.25'
    """
    return ",".join("" if value is None else str(value) for value in row)


def row_of(text: str) -> Row:
    """The row of a line of runs.csv.

    >>> row_of("3,120,True,stopped,0.25")
    Row(run=3, samples=120, correct=True, status='stopped', seconds=0.25)
    """
    run, samples, correct, status, seconds = text.split(",")
    verdict = {"True": True, "False": False, "": None}[correct]
    return Row(int(run), int(samples), verdict, status, float(seconds))


class Ledger:
    """The finished runs of one replication, in a directory."""

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.folder = as_path(folder, "output")
        self.settings = settings
        self.rows: list[Row] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise ProblemError(
                f"output must be a directory that can be made; got {str(self.folder)!r} "
                f"({problem.strerror})"
            ) from None

    @contextlib.contextmanager
    def opened(self) -> Iterator[Ledger]:
        """Lock the directory, read earlier rows, and sort the rows at the end."""
        in_use = ProblemError(
            f"output must not be in use; got {str(self.folder)!r}, which another process is filling"
        )
        with alone_in(self.folder, in_use):
            earlier = self._earlier_settings()
            self.rows = _read_rows(self.folder / RUNS)
            if self.rows:
                self._check_same(earlier)
            settings = json.dumps(self.settings, indent=2) + "\n"
            write_whole(self.folder / SETTINGS, settings.encode())
            self._write_sorted()
            try:
                yield self
            finally:
                self._write_sorted()

    def add(self, row: Row) -> None:
        """Append a row, in one write."""
        self.rows.append(row)
        with (self.folder / RUNS).open("ab", buffering=0) as file:
            file.write(f"{text_of(row)}\n".encode())

    def _write_sorted(self) -> None:
        lines = [HEADING, *(text_of(row) for row in sorted(self.rows))]
        write_whole(self.folder / RUNS, ("\n".join(lines) + "\n").encode())

    def _earlier_settings(self) -> dict[str, Any]:
        if (self.folder / SETTINGS).exists():
            return _read_settings(self.folder / SETTINGS)
        if (self.folder / RUNS).exists():
            raise ProblemError(
                f"output must be a new directory or one of earlier runs; got "
                f"{str(self.folder)!r}, which has a {RUNS} but no {SETTINGS}"
            )
        return {}

    def _check_same(self, earlier: dict[str, Any]) -> None:
        for key in sorted((earlier.keys() | self.settings.keys()) - _FREE):
            was, now = earlier.get(key), self.settings.get(key)
            if was != now:
                if isinstance(was, dict) and isinstance(now, dict):
                    was, now = _without_common(was, now), _without_common(now, was)
                raise ProblemError(
                    f"output must be a new directory or one of the same settings; got "
                    f"{str(self.folder)!r}, where {key} was {json.dumps(was)} and now is "
                    f"{json.dumps(now)}"
                )
        last, runs = max(row.run for row in self.rows), self.settings["runs"]
        if last >= runs:
            raise ProblemError(
                f"runs must be at least {last + 1}, as many as {str(self.folder)!r} has begun; "
                f"got {runs}"
            )


def _without_common(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if other.get(key, other) != value}


def _read_settings(place: Path) -> dict[str, Any]:
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "options" not in found:
        raise FileFormatError(f"{str(place)!r} must be the settings of earlier runs; it is not")
    return found


def _read_rows(place: Path) -> list[Row]:
    try:
        *lines, _half_written = place.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as problem:
        raise FileFormatError(
            f"{str(place)!r} must be a text file that can be read ({problem})"
        ) from None
    if lines and lines[0] != HEADING:
        raise FileFormatError(f"{str(place)!r} must begin with {HEADING!r}; got {lines[0]!r}")
    found: dict[int, Row] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            row = row_of(line)
        except (ValueError, KeyError):
            raise FileFormatError(
                f"{str(place)!r} must hold finished runs; got {line!r} in line {number}"
            ) from None
        found[row.run] = row
    return list(found.values())
