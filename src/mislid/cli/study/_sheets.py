"""Sheets for the lab: trials to be measured, and what came back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid.cli.output import as_csv
from mislid.errors import FileFormatError, ProblemError
from mislid.io import read_sheet, workbook_bytes

if TYPE_CHECKING:
    from mislid.io import Sheet
    from mislid.study import Study, Trial
    from mislid.study.settings import Settings
    from mislid.study.state import StudyState

# Of what is wrong with a sheet, so much is shown.
_SHOWN = 10
_FAILED = ("fail", "failed")
_DONE = ("", "complete", "ok")
# No sheet holds this value: the line is empty.
_NOTHING = math.inf
_OWN = ("trial", "arm", "value", "state", "study")


class Told(NamedTuple):
    """A line that says something: that a trial gave this value, or None if it failed."""

    line: int
    trial: int
    value: float | None


class Filled(NamedTuple):
    """A sheet that came back: what it tells, and the trials whose line is still empty."""

    told: list[Told]
    empty: list[int]


def sheet_of(study: Study, trials: Sequence[Trial]) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows of a sheet: trial, arm, features, and columns to be filled in."""
    names = study.candidates.shown
    heading = ["trial", "arm", *map(_heading, names), "value", "state", "study"]
    rows = [
        [
            trial.id,
            trial.arm,
            *shown_features(study, trial).values(),
            None,
            None,
            study.study_name,
        ]
        for trial in trials
    ]
    return heading, rows


def as_file(place: Path, heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """A table as the name of its file says, a workbook or CSV."""
    if is_workbook(place):
        return workbook_bytes(heading, rows)
    return f"{as_csv(heading, rows)}\n".encode()


def is_workbook(place: str | Path) -> bool:
    """Whether a file is an Excel workbook, by its name."""
    return Path(place).suffix.lower() == ".xlsx"


def _heading(name: str) -> str:
    """What a feature is called in a sheet, whose own columns have their names."""
    return f"feature {name}" if name in _OWN else name


def shown_features(study: Study, trial: Trial) -> dict[str, float]:
    """The features that somebody gave for a trial's candidate, by their names."""
    if trial.features is None:
        return {}
    return {name: float(trial.features[at]) for name, at in study.candidates.shown.items()}


def read_filled(path: str, study_name: str, state: StudyState) -> Filled:
    """Read a sheet that came back; one with anything wrong in it is refused as a whole."""
    table = read_sheet(path, "trial")
    missing = [heading for heading in ("trial", "value") if not table.has(heading)]
    if missing:
        headings = ", ".join(map(repr, table.headings))
        raise FileFormatError(
            f"{path!r} must have the columns 'trial' and 'value'; got the headings {headings}"
        )
    told: dict[int, Told] = {}
    empty: list[int] = []
    wrong = Wrong(path, "told")
    places = {name: table.headings.index(name) for name in _OWN if table.has(name)}
    for (line, cells), value in zip(table.rows, table.decimals("value"), strict=True):
        row = {name: cells[place] for name, place in places.items()}
        try:
            number = _trial(row, study_name, state)
            found = _value(row, value, state.settings)
            if found == _NOTHING:
                empty.append(number)
                continue
            first = told.setdefault(number, Told(line, number, found))
            if first.value != found:
                raise ProblemError(f"trial {number} is told something else in line {first.line}")
        except ProblemError as problem:
            wrong.add(line, str(problem))
    wrong.refuse()
    return Filled(list(told.values()), [number for number in empty if number not in told])


class Wrong:
    """What is wrong with a file, line by line; the first complaints, and how many there are."""

    def __init__(self, path: str, verb: str) -> None:
        self._path, self._verb = path, verb
        self._shown: list[str] = []
        self._count = 0

    def add(self, line: int, what: str) -> None:
        """Complain of a line."""
        self._count += 1
        if self._count <= _SHOWN:
            self._shown.append(f"line {line}: {what}")

    def refuse(self) -> None:
        """Refuse the file, if there was anything."""
        if self._count:
            rest = f"; and {self._count - _SHOWN} more" if self._count > _SHOWN else ""
            raise FileFormatError(
                f"nothing was {self._verb}, {self._path!r} must be corrected first: "
                f"{'; '.join(self._shown)}{rest}"
            )


def refuse_unknown_columns(table: Sheet, wanted: Iterable[tuple[str, str]]) -> None:
    """Refuse options, given with their values, that do not name a column."""
    for option, heading in wanted:
        if not table.has(heading):
            headings = ", ".join(map(repr, table.headings))
            raise ProblemError(
                f"{option} must name a column of {table.path!r}, one of {headings}; got {heading!r}"
            )


def outside(value: float, settings: Settings) -> str | None:
    """What is wrong with a value outside the range that was declared, if one was."""
    low, high = settings.reward_range or (-math.inf, math.inf)
    if low <= value <= high:
        return None
    return f"a value must be from {low:g} to {high:g}, as was declared; got {value!r}"


def _trial(row: Mapping[str, str], study_name: str, state: StudyState) -> int:
    """The trial that a line is about, which must be one of this study and of the arm it says."""
    study = row.get("study")
    if study and study != study_name.strip():
        raise ProblemError(f"it is of study {study!r}, not {study_name!r}")
    number = trial_number(row["trial"])
    label = str(state.census.register.labels[state.trial(number).arm])
    arm = row.get("arm")
    if arm and arm != label.strip():
        raise ProblemError(f"trial {number} is of arm {label!r}; got {arm!r}")
    return number


def _value(row: Mapping[str, str], value: float | str | None, settings: Settings) -> float | None:
    """What a line tells: a value, None for a trial that failed, infinity where it is empty."""
    outcome = row.get("state", "").casefold()
    if outcome not in (*_FAILED, *_DONE):
        raise ProblemError(f"state must be empty, complete or fail; got {outcome!r}")
    if isinstance(value, str):
        raise ProblemError(value)
    if outcome in _FAILED:
        if value is not None:
            raise ProblemError(f"a trial that failed has no value; got {value!r}")
        return None
    if value is None:
        return _NOTHING
    if complaint := outside(value, settings):
        raise ProblemError(complaint)
    return value


def trial_number(cell: str) -> int:
    """The number of a trial that was asked, as people write it."""
    if not re.fullmatch(r"[0-9]{1,18}", cell):
        shown = cell if len(cell) <= 40 else f"{cell[:37]}..."
        raise ProblemError(f"trial must be the number of one that was asked; got {shown!r}")
    return int(cell)
