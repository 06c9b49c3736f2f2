"""Sheets for the lab: trials to be measured, and what came back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid.cli.output import as_csv
from mislid.errors import FileFormatError, ProblemError
from mislid.files import read_spreadsheet, workbook_bytes

if TYPE_CHECKING:
    from mislid.files import Spreadsheet
    from mislid.study import Study, Trial
    from mislid.study.settings import Settings
    from mislid.study.state import StudyState

# Of what is wrong with a sheet, so much is shown.
_SHOWN = 10
_FAILED = ("fail", "failed")
_DONE = ("", "complete", "ok")
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
    table = read_spreadsheet(path, "trial")
    missing = [heading for heading in ("trial", "value") if not table.sheet.has(heading)]
    if missing:
        headings = ", ".join(map(repr, table.sheet.headings))
        raise FileFormatError(
            f"{path!r} must have the columns 'trial' and 'value'; got the headings {headings}"
        )
    told: dict[int, Told] = {}
    empty: list[int] = []
    wrong: list[str] = []
    for at, value in enumerate(table.decimals("value")):
        line = table.sheet.rows[at][0]
        try:
            row = _row(table, at, value, study_name, state)
        except ProblemError as problem:
            wrong.append(f"line {line}: {problem}")
            continue
        if row is None:
            empty.append(int(_cell(table, "trial", at)))
        elif row.trial not in told:
            told[row.trial] = row
        elif told[row.trial].value != row.value:
            first = told[row.trial].line
            wrong.append(f"line {line}: trial {row.trial} is told something else in line {first}")
    refuse_wrong(path, "told", wrong)
    return Filled(list(told.values()), [number for number in empty if number not in told])


def refuse_wrong(path: str, verb: str, wrong: Sequence[str]) -> None:
    """Refuse a file in which something is wrong, line by line."""
    if wrong:
        rest = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise FileFormatError(
            f"nothing was {verb}, {path!r} must be corrected first: "
            f"{'; '.join(wrong[:_SHOWN])}{rest}"
        )


def refuse_unknown_columns(table: Spreadsheet, wanted: Iterable[tuple[str, str]]) -> None:
    """Refuse options, given with their values, that do not name a column."""
    for option, heading in wanted:
        if not table.sheet.has(heading):
            headings = ", ".join(map(repr, table.sheet.headings))
            raise ProblemError(
                f"{option} must name a column of {table.sheet.path!r}, one of {headings}; "
                f"got {heading!r}"
            )


def outside(value: float, settings: Settings) -> str | None:
    """What is wrong with a value outside the range that was declared, if one was."""
    low, high = settings.reward_range or (-math.inf, math.inf)
    if low <= value <= high:
        return None
    return f"a value must be from {low:g} to {high:g}, as was declared; got {value!r}"


def _row(
    table: Spreadsheet, at: int, value: float | str | None, study_name: str, state: StudyState
) -> Told | None:
    """What a line says, or nothing."""
    study = _cell(table, "study", at)
    if study and study != study_name.strip():
        raise ProblemError(f"it is of study {study!r}, not {study_name!r}")
    number = trial_number(_cell(table, "trial", at))
    record = state.trial(number)
    label = str(state.candidates.labels[record.arm])
    arm = _cell(table, "arm", at)
    if arm and arm != label.strip():
        raise ProblemError(f"trial {number} is of arm {label!r}; got {arm!r}")
    outcome = _cell(table, "state", at).casefold()
    if outcome not in (*_FAILED, *_DONE):
        raise ProblemError(f"state must be empty, complete or fail; got {outcome!r}")
    if isinstance(value, str):
        raise ProblemError(value)
    if outcome in _FAILED:
        if value is not None:
            raise ProblemError(f"a trial that failed has no value; got {value!r}")
        return Told(table.sheet.rows[at][0], number, None)
    if value is None:
        return None
    if complaint := outside(value, state.settings):
        raise ProblemError(complaint)
    return Told(table.sheet.rows[at][0], number, value)


def trial_number(cell: str) -> int:
    """The number of a trial that was asked, as people write it."""
    if not cell.isascii() or not cell.isdigit():
        raise ProblemError(f"trial must be the number of one that was asked; got {cell!r}")
    return int(cell)


def _cell(table: Spreadsheet, heading: str, at: int) -> str:
    sheet = table.sheet
    return sheet.rows[at][1][sheet.headings.index(heading)] if sheet.has(heading) else ""
