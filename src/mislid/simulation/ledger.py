"""A directory that keeps finished runs: settings.json says what was asked, runs.csv what came out.

Rows are appended one by one, so a killed replication loses none that had finished, and the same
question goes on where it ended. A last line that a power cut left half-written is dropped.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mislid._validation import as_flag
from mislid._words import in_ranges, shown
from mislid.errors import FileFormatError, ProblemError
from mislid.io import alone_in, as_path, write_whole
from mislid.simulation.job import Row

SETTINGS, RUNS = "settings.json", "runs.csv"
# Ranges of missing runs that an error names.
MOST_SAID = 10
HEADING = ",".join(Row._fields)
# May differ when a replication goes on: more runs, another interpreter.
_FREE = {"runs", "python"}
# Options whose values are numbers, and those whose values are names.
_NUMBERS = ("delta", "gamma", "tolerance")
_NAMES = ("algorithm", "stopping")


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
            self.rows = _read_rows(self.folder)
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
        if (self.folder / SETTINGS).exists():
            return _read_settings(self.folder)
        if (self.folder / RUNS).exists():
            raise ProblemError(
                f"output must be a new directory or one of earlier runs; got "
                f"{str(self.folder)!r}, which has a {RUNS} but no {SETTINGS}"
            )
        return {}

    def _refuse_others(self, earlier: dict[str, Any]) -> None:
        difference = _difference(earlier, self.settings)
        if difference is not None:
            key, was, now = difference
            raise ProblemError(
                f"output must be a new directory or one of the same settings; got "
                f"{str(self.folder)!r}, where {key} was {was} and now is {now}"
            )
        last, runs = max(row.run for row in self.rows), self.settings["runs"]
        if last >= runs:
            raise ProblemError(
                f"runs must be at least {last + 1}, as many as {str(self.folder)!r} "
                f"already began; got {runs}"
            )

    def _write_in_order(self) -> None:
        lines = [HEADING, *(text_of(row) for row in sorted(self.rows))]
        write_whole(self.folder / RUNS, ("\n".join(lines) + "\n").encode())


def merge(
    folders: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    partial: bool = False,
) -> tuple[list[Row], dict[str, Any]]:
    """Join directories of one replication, such as those of its shards.

    The output is what one replication of all these runs would have written: it can be continued
    by the same call, and merged again.

    Parameters
    ----------
    folders
        Directories that were the `output` of `replicate` or of `mislid run --output`.
    output
        The directory to write. Runs that it holds already are kept, if their settings agree.
    partial
        Whether runs may be missing.

    Returns
    -------
    rows : list of Row
        All runs, in order.
    settings : dict
        What they were asked.

    Raises
    ------
    ProblemError
        Where an argument is no path, settings differ, a run has two different outcomes, runs are
        missing that may not be, or another process is filling the output.
    FileFormatError
        Where a directory holds no finished runs, or files of it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from mislid import Instance, Model, replicate
    >>> instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for shard in (1, 2):
    ...         frame = replicate(
    ...             instance, 1, runs=5, shard=(shard, 2), output=f"{place}/{shard}"
    ...         )
    ...     rows, settings = merge([f"{place}/1", f"{place}/2"], f"{place}/all")
    >>> [row.run for row in rows]
    [0, 1, 2, 3, 4]
    """
    places, merged = _as_places(folders), as_path(output, "output")
    partial = as_flag(partial, "partial")
    if _read_rows(merged):
        places.append(merged)
    settings = _common_settings(places)
    joined = _joined({place: _read_rows(place) for place in places})
    if not partial:
        _refuse_missing(joined, settings["runs"])
    ledger = Ledger(output, settings)
    with ledger.opened():
        ledger.rows = list(joined.values())
    return sorted(joined.values()), settings


def _as_places(folders: Any) -> list[Path]:
    if isinstance(folders, str | bytes | os.PathLike) or not isinstance(folders, Iterable):
        raise ProblemError(f"folders must be a sequence of directories; got {shown(folders)}")
    places = [as_path(folder, "folders") for folder in folders]
    if not places:
        raise ProblemError("folders must name at least one directory; got none")
    return places


def _common_settings(places: list[Path]) -> dict[str, Any]:
    """The settings of all; of the numbers of runs, the largest."""
    first, *others = (_read_settings(place) for place in places)
    for place, settings in zip(places[1:], others, strict=True):
        difference = _difference(first, settings)
        if difference is not None:
            key, one, other = difference
            raise ProblemError(
                f"directories to merge must have the same settings; {key} is {one} in "
                f"{str(places[0])!r} and {other} in {str(place)!r}"
            )
    return first | {"runs": max(settings["runs"] for settings in (first, *others))}


def _joined(sources: dict[Path, list[Row]]) -> dict[int, Row]:
    found: dict[int, tuple[Row, Path]] = {}
    for place, rows in sources.items():
        for row in rows:
            earlier, where = found.setdefault(row.run, (row, place))
            # The same run takes other seconds on another machine.
            if earlier._replace(seconds=row.seconds) != row:
                raise ProblemError(
                    f"directories to merge must agree; run {row.run} is {text_of(earlier)!r} in "
                    f"{str(where)!r} and {text_of(row)!r} in {str(place)!r}"
                )
    return {run: row for run, (row, _) in found.items()}


def _refuse_missing(found: dict[int, Row], runs: int) -> None:
    missing = [run for run in range(runs) if run not in found]
    if missing:
        said = in_ranges(missing)
        words = ", ".join([*said[:MOST_SAID], *["..."] * (len(said) > MOST_SAID)])
        raise ProblemError(
            f"directories to merge must hold all {runs} runs; missing: {words} "
            f"({len(missing)} in all); finish their shards, or allow it with partial"
        )


def _read_settings(folder: Path) -> dict[str, Any]:
    place = folder / SETTINGS
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except OSError:
        raise FileFormatError(
            f"{str(folder)!r} must be a directory of earlier runs; it has no {SETTINGS}"
        ) from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not _are_settings(found):
        raise FileFormatError(f"{str(place)!r} must be the settings of earlier runs; it is not")
    return found


def _are_settings(found: dict[str, Any]) -> bool:
    """Whether a file has all that `Job.settings` writes, each of its kind."""
    options, versions = found.get("options"), found.get("versions")
    return (
        all(type(found.get(name)) is int for name in ("K", "d", "m", "runs", "seed"))
        and (type(eps := found.get("misspecification")) in (int, float) or eps == "inf")
        and isinstance(versions, dict)
        and "mislid" in versions
        and isinstance(options, dict)
        and all(type(options.get(name, 0.0)) in (int, float) for name in _NUMBERS)
        and all(isinstance(options.get(name, ""), str) for name in _NAMES)
    )


def _read_rows(folder: Path) -> list[Row]:
    place = folder / RUNS
    try:
        if not place.exists():
            return []
        *lines, _half_written = place.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise FileFormatError(f"{str(place)!r} must be UTF-8 text; it is not") from None
    except OSError as problem:
        raise FileFormatError(
            f"{str(place)!r} must be a file that can be read ({problem.strerror})"
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


def _difference(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, str, str] | None:
    """The first setting that may not differ and does, with both of its values."""
    for key in sorted((one.keys() | other.keys()) - _FREE):
        if one.get(key) != other.get(key):
            first, second = _apart(one.get(key), other.get(key))
            return key, json.dumps(first), json.dumps(second)
    return None


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
    place = as_path(folder, "output")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ProblemError(
            f"output must be a directory that can be made; got {str(place)!r} ({problem.strerror})"
        ) from None
    return place
