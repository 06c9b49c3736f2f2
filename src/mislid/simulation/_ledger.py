"""A directory that keeps finished runs: settings.json says what was asked, runs.csv what came out.

Rows are appended one by one, so a killed replication loses none that had finished, and the same
question goes on where it ended. A last line that a power cut left half-written is dropped.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mislid.errors import FileFormatError, ProblemError
from mislid.files import alone_in, write_whole
from mislid.simulation._job import Row

SETTINGS, RUNS = "settings.json", "runs.csv"
HEADING = ",".join(Row._fields)
# May differ when a replication goes on: more runs, another interpreter.
_FREE = {"runs", "python"}


def text_of(row: Row) -> str:
    """A row as it stands in runs.csv.

    >>> text_of(Row(3, 120, None, "budget exhausted", 0.25))
    '3,120,,budget exhausted,0.25'
    """
    return ",".join("" if value is None else str(value) for value in row)


def row_of(text: str) -> Row:
    """What `text_of` wrote.

    >>> row_of("3,120,True,stopped,0.25")
    Row(run=3, samples=120, correct=True, status='stopped', seconds=0.25)
    """
    run, samples, correct, status, seconds = text.split(",")
    verdict = {"True": True, "False": False, "": None}[correct]
    return Row(int(run), int(samples), verdict, status, float(seconds))


class Ledger:
    """The finished runs of one replication, on disk."""

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.folder = _as_folder(folder)
        self.settings = settings
        self.rows: list[Row] = []

    @contextlib.contextmanager
    def opened(self) -> Iterator[Ledger]:
        """Take up what is there, and put the rows in order at the end."""
        with alone_in(self.folder, self._in_use()):
            earlier = self._earlier_settings()
            self.rows = self._read()
            if self.rows:
                self._refuse_others(earlier)
            settings = json.dumps(self.settings, indent=2) + "\n"
            write_whole(self.folder / SETTINGS, settings.encode())
            self._write_in_order()
            try:
                yield self
            finally:
                self._write_in_order()

    def add(self, row: Row) -> None:
        """Append a row, in one write."""
        self.rows.append(row)
        line = (text_of(row) + "\n").encode()
        with (self.folder / RUNS).open("ab", buffering=0) as file:
            file.write(line)

    def _in_use(self) -> ProblemError:
        return ProblemError(
            f"output must not be in use; got {str(self.folder)!r}, which another process is filling"
        )

    def _earlier_settings(self) -> dict[str, Any]:
        place = self.folder / SETTINGS
        if not place.exists():
            if (self.folder / RUNS).exists():
                raise ProblemError(
                    f"output must be a new directory or one of earlier runs; got "
                    f"{str(self.folder)!r}, which has a {RUNS} but no {SETTINGS}"
                )
            return {}
        try:
            earlier = json.loads(place.read_text(encoding="utf-8"))
        except ValueError:
            earlier = None
        if not isinstance(earlier, dict) or "mislid" not in earlier.get("versions", ()):
            raise FileFormatError(f"{str(place)!r} must be the settings of earlier runs; it is not")
        return earlier

    def _refuse_others(self, earlier: dict[str, Any]) -> None:
        for key in sorted((earlier.keys() | self.settings.keys()) - _FREE):
            was, now = earlier.get(key), self.settings.get(key)
            if was != now:
                was, now = _apart(was, now)
                raise ProblemError(
                    f"output must be a new directory or one of the same settings; got "
                    f"{str(self.folder)!r}, where {key} was {json.dumps(was)} "
                    f"and now is {json.dumps(now)}"
                )

    def _read(self) -> list[Row]:
        place = self.folder / RUNS
        if not place.exists():
            return []
        *lines, _half_written = place.read_text(encoding="utf-8").split("\n")
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
        runs = self.settings["runs"]
        if found and max(found) >= runs:
            raise ProblemError(
                f"runs must be at least {max(found) + 1}, as many as {str(self.folder)!r} "
                f"already began; got {runs}"
            )
        return list(found.values())

    def _write_in_order(self) -> None:
        lines = [HEADING, *(text_of(row) for row in sorted(self.rows))]
        write_whole(self.folder / RUNS, ("\n".join(lines) + "\n").encode())


def _apart(was: Any, now: Any) -> tuple[Any, Any]:
    """Of two records, the entries that differ.

    >>> _apart({"delta": 0.1, "gamma": 1.0}, {"delta": 0.1, "gamma": 1.5})
    ({'gamma': 1.0}, {'gamma': 1.5})
    """
    if not (isinstance(was, dict) and isinstance(now, dict)):
        return was, now
    same = {key for key in was.keys() & now.keys() if was[key] == now[key]}
    first, second = ({key: one[key] for key in one if key not in same} for one in (was, now))
    return first, second


def _as_folder(folder: str | os.PathLike[str]) -> Path:
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ProblemError(
            f"output must be a directory that can be made; got {str(place)!r} ({problem.strerror})"
        ) from None
    return place
