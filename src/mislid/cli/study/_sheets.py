"""Sheets for the lab: trials to be measured, and what came back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid.cli.output import as_csv, did_you_mean
from mislid.cli.study._opening import outside, trial_number
from mislid.errors import FileFormatError, ProblemError
from mislid.io import read_sheet, workbook_bytes

if TYPE_CHECKING:
    from mislid.io import Sheet
    from mislid.study import Study, Trial
    from mislid.study.state import StudyState

# So many complaints about a file are shown.
_SHOWN = 10
_FAILED = ("fail", "failed")
_DONE = ("", "complete", "ok")
# No sheet holds this value: the line is empty.
_NOTHING = math.inf
_OWN = ("trial", "arm", "value", "state", "study")


class Told(NamedTuple):
    """A filled line: a trial's value, or None if it failed."""

    line: int
    trial: int
    value: float | None


def sheet_of(study: Study, trials: Sequence[Trial]) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows of a sheet: trial, arm, features, and columns to be filled in."""
    names = (f"feature {name}" if name in _OWN else name for name in study.candidates.shown)
    heading = ["trial", "arm", *names, "value", "state", "study"]
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


def as_file(place: str | Path, heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """A table as the name of its file says, a workbook or CSV."""
    if is_workbook(place):
        return workbook_bytes(heading, rows)
    return f"{as_csv(heading, rows)}\n".encode()


def is_workbook(place: str | Path) -> bool:
    """Whether a file is an Excel workbook, by its name."""
    return Path(place).suffix.lower() == ".xlsx"


def shown_features(study: Study, trial: Trial) -> dict[str, float]:
    """The given features of a trial's candidate, by name."""
    if trial.features is None:
        return {}
    return {name: float(trial.features[at]) for name, at in study.candidates.shown.items()}


def read_filled(path: str, study: Study, state: StudyState) -> tuple[list[Told], list[int]]:
    """Filled lines of a sheet, and trials with empty ones; refused whole if a line is wrong."""
    table = read_sheet(path, "trial")
    refuse_unknown_columns(table, {"the trials' column": "trial", "the values' column": "value"})
    told: dict[int, Told] = {}
    empty: list[int] = []
    wrong = Wrong(path, "told")
    places = {name: table.headings.index(name) for name in _OWN if table.has(name)}
    for (line, cells), value in zip(table.rows, table.decimals("value"), strict=True):
        row = {name: cells[place] for name, place in places.items()}
        try:
            number = _trial(row, study, state)
            found = _value(row, value, study.settings.reward_range)
            if found == _NOTHING:
                empty.append(number)
                continue
            first = told.setdefault(number, Told(line, number, found))
            if first.value != found:
                raise ProblemError(f"trial {number} is told something else in line {first.line}")
        except ProblemError as problem:
            wrong.add(line, str(problem))
    wrong.refuse()
    return list(told.values()), [number for number in empty if number not in told]


def read_pairs(path: str, study: Study, arm: str, value: str) -> list[tuple[Any, float]]:
    """Candidates and values in two columns; refused whole if a line is wrong."""
    table = read_sheet(path, "measurement")
    refuse_unknown_columns(table, {"--arm-column": arm, "--value-column": value})
    labels = {str(label).strip(): label for label in study.candidates.labels}
    pairs, wrong = list[tuple[Any, float]](), Wrong(path, "imported")
    for at, (label, number) in enumerate(zip(table.texts(arm), table.decimals(value), strict=True)):
        if label not in labels:
            hint = did_you_mean(label, labels)
            wrong.add(table.line(at), f"{label!r} is none of the candidates{hint}")
        elif not isinstance(number, float):
            wrong.add(table.line(at), number or "a value is missing")
        elif complaint := outside(number, study.settings.reward_range):
            wrong.add(table.line(at), complaint)
        else:
            pairs.append((labels[label], number))
    wrong.refuse()
    return pairs


class Wrong:
    """Complaints about a file, line by line: the first ones, and how many there are."""

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


def refuse_unknown_columns(table: Sheet, wanted: Mapping[str, str]) -> None:
    """Refuse columns, by the option that names them, which a file does not have."""
    for option, heading in wanted.items():
        if not table.has(heading):
            headings = ", ".join(map(repr, table.headings))
            raise FileFormatError(
                f"{option} must be a column of {table.path!r}, one of {headings}; got {heading!r}"
                f"{did_you_mean(heading, table.headings)}"
            )


def _trial(row: Mapping[str, str], study: Study, state: StudyState) -> int:
    """The trial of a line, which must be one of this study and of the arm that it names."""
    name = row.get("study")
    if name and name != study.study_name.strip():
        raise ProblemError(f"it is of study {name!r}, not {study.study_name!r}")
    number = trial_number(row["trial"])
    label = str(study.register.labels[state.trial(number).arm])
    arm = row.get("arm")
    if arm and arm != label.strip():
        raise ProblemError(f"trial {number} is of arm {label!r}; got {arm!r}")
    return number


def _value(
    row: Mapping[str, str], value: float | str | None, reward_range: tuple[float, float] | None
) -> float | None:
    """A value, None for a trial that failed, infinity where the line is empty."""
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
    if complaint := outside(value, reward_range):
        raise ProblemError(complaint)
    return value
