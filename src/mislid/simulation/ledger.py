"""Files of finished runs and their settings.

settings.json has everything that the rows of runs.csv depend on. Each row is written in one call
when its run finishes. A killed replication loses no finished run, and the same call resumes it. An
incomplete last line is dropped.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import types
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mislid
from mislid.errors import FileFormatError, ProblemError
from mislid.io import alone_in, as_path, as_plain, write_whole
from mislid.model import Instance

SETTINGS, RUNS = "settings.json", "runs.csv"


class Row(NamedTuple):
    """One finished run.

    Attributes
    ----------
    run
        Its number, from 0.
    samples
        Number of measurements.
    correct
        Whether the answer is right; None without an answer.
    status
        "stopped" or "budget exhausted".
    seconds
        Processor time.
    """

    run: int
    samples: int
    correct: bool | None
    status: str
    seconds: float

    @property
    def line(self) -> str:
        """The row as a line of runs.csv.

        Examples
        --------
        >>> Row(3, 120, None, "budget exhausted", 0.25).line
        '3,120,,budget exhausted,0.25'
        """
        return ",".join("" if value is None else str(value) for value in self)


HEADING = ",".join(Row._fields)


def settings_of(
    instance: Instance, m: int, runs: int, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """All settings that rows depend on, with versions, as JSON values."""
    model = instance.model
    numbers = [model.features, model.misspecification, instance.means, instance.noise]
    found = {
        "instance": _digest(json.dumps(numbers, default=_plain).encode()),
        "K": model.K,
        "d": model.d,
        "misspecification": model.misspecification,
        "m": int(m),
        "runs": runs,
        "seed": seed,
        "options": options,
        "versions": {
            "mislid": mislid.__version__,
            "numpy": np.__version__,
            "numba": version("numba"),
        },
    }
    return dict(as_plain(json.loads(json.dumps(found, default=_plain))))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Convert a value for JSON: an array to a digest, an object to its class and attributes.

    >>> json.dumps({"delta": np.float64(0.5), "widths": (np.int64(1), 2)}, default=_plain)
    '{"delta": 0.5, "widths": [1, 2]}'
    """
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return f"array {_digest(f'{value.dtype}{value.shape}'.encode() + value.tobytes())}"
    if isinstance(value, types.FunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    kind = type(value).__qualname__
    if hasattr(value, "__dict__"):
        return {kind: vars(value)}
    if dataclasses.is_dataclass(value):  # with slots
        return {kind: {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}}
    # The repr of some objects has an address, which differs between processes.
    return kind if " at 0x" in repr(value) else repr(value)


class Ledger:
    """The finished runs of one replication, in a directory."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / RUNS
        self.rows = _read_rows(self._file)

    def add(self, row: Row) -> None:
        """Append a row, in one write."""
        self.rows[row.run] = row
        with self._file.open("ab", buffering=0) as file:
            file.write(f"{row.line}\n".encode())

    def sort(self) -> None:
        """Rewrite all rows in order of their runs."""
        lines = [HEADING, *(row.line for row in sorted(self.rows.values()))]
        write_whole(self._file, ("\n".join(lines) + "\n").encode())


@contextlib.contextmanager
def open_ledger(output: str | os.PathLike[str], settings: dict[str, Any]) -> Iterator[Ledger]:
    """Lock a directory and read the rows of earlier runs with the same settings."""
    folder = as_path(output, "output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ProblemError(
            f"output must be a directory that can be made; got {str(folder)!r} ({problem.strerror})"
        ) from None
    in_use = ProblemError(
        f"output must not be in use; got {str(folder)!r}, which another process is filling"
    )
    with alone_in(folder, in_use):
        ledger, place = Ledger(folder), folder / SETTINGS
        if place.exists() or ledger.rows:
            _refuse_others(place, settings, len(ledger.rows) and max(ledger.rows) + 1)
        write_whole(place, (json.dumps(settings, indent=2) + "\n").encode())
        ledger.sort()
        try:
            yield ledger
        finally:
            ledger.sort()


def _refuse_others(place: Path, settings: dict[str, Any], begun: int) -> None:
    """Refuse settings that differ from those of earlier runs, except in the number of runs."""
    try:
        earlier: dict[str, Any] = json.loads(place.read_bytes())
        keys = earlier.keys() | settings.keys()
        earlier["options"]
    except (OSError, ValueError, RecursionError, AttributeError, KeyError):
        raise FileFormatError(
            f"{str(place)!r} must be the settings of earlier runs; it is not"
        ) from None
    for key in sorted(keys - {"runs"}) if begun else ():
        was, now = earlier.get(key), settings.get(key)
        if was != now:
            raise ProblemError(
                "output must be a new directory or one of the same settings; got "
                f"{str(place.parent)!r}, where {key} was {json.dumps(was)} and now is "
                f"{json.dumps(now)}"
            )
    if begun > settings["runs"]:
        raise ProblemError(
            f"runs must be at least {begun}, as many as {str(place.parent)!r} has begun; "
            f"got {settings['runs']}"
        )


def _read_rows(place: Path) -> dict[int, Row]:
    """Rows by run; of a repeated run, the last row."""
    if not place.exists():
        return {}
    found, line = dict[int, Row](), ""
    try:
        line, *lines, _half_written = place.read_text(encoding="utf-8").split("\n")
        if line != HEADING:
            raise ValueError("another heading")
        for line in lines:
            run, samples, correct, status, seconds = line.split(",")
            answer = {"True": True, "False": False, "": None}[correct]
            found[int(run)] = Row(int(run), int(samples), answer, status, float(seconds))
    except (OSError, ValueError, KeyError) as problem:
        raise FileFormatError(
            f"{str(place)!r} must hold finished runs below {HEADING!r}; got {line!r} ({problem})"
        ) from None
    return found
