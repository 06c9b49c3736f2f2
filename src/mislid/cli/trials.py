"""Commands `mislid study ask`, `tell`, `import`, `correct` and `void`: trials and sheets."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import in_ranges, moment
from mislid.cli.options import (
    FILE,
    WHOLE,
    Signed,
    file_argument,
    flag,
    on_study,
    option,
    reason_option,
    trial_number,
)
from mislid.cli.output import as_csv, print_change, print_rows, record_change, shown
from mislid.errors import ConflictingTellError, FileFormatError, MislidError, ProblemError

if TYPE_CHECKING:
    from mislid.study import Study, Trial
    from mislid.study.state import StudyState

# Most columns of a printed table: trial, arm and features.
_COLUMNS = 8
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Headings of sheets and tables that a feature must not have.
_TAKEN = ("trial", "arm", "value", "state", "study", "worker", "until")
_NOTES = {
    "used up": "the budget is used up; `mislid study result --now` says what to report",
    "decided": "the study has decided; more is not needed",
    "contradicted": "the data contradict what was declared, and nothing is proven; `mislid study "
    "status` says what to do",
}


def _seconds(text: str) -> float:
    """Parse a duration in seconds, or with a unit."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if not found or int(found[1]) == 0:
        raise click.BadParameter(f"{text!r} is no time such as 90, 30m, 1h or 2d")
    return float(found[1]) * _SECONDS[found[2] or "s"]


@on_study(
    "ask",
    "mislid study ask potency -n 8 --worker lab-1 --lease 2d --csv plate.csv",
    "mislid study ask potency --pending --worker lab-1 --csv again.csv",
)
@option("-n", WHOLE, "Number of trials.", 1)
@option("--worker", str, "Who asks. Asking again returns the open trials of this worker.")
@option("--lease", _seconds, "Then others may get the trials: 90, 30m, 1h or 2d.", metavar="TIME")
@option("--max-candidates", WHOLE, "Different candidates in the batch.")
@option("--max-per-candidate", WHOLE, "Trials of one candidate in the batch.")
@option("--replicates", WHOLE, "Trials of each chosen candidate; -n counts trials.", 1)
@option("--csv", FILE, "Write a sheet to fill in, .csv or .xlsx.", None, "sheet")
@flag("--pending", "Hand out nothing new: all open trials, or those of --worker.")
def ask_command(
    study: Study, n: int, worker: str | None, sheet: str | None, form: str, **rest: Any
) -> None:
    """Print what to measure next, also as a sheet for the lab.

    A batch is spread over candidates. The sheet has a line per trial: write what was measured in
    its column `value`, or `fail` in its column `state`, and give it to `mislid study tell`.
    """
    place = None if sheet is None else _new_sheet(sheet)  # checked before trials are created
    if rest.pop("pending"):
        trials = [trial for trial in study.pending if worker in (None, trial.worker)]
    else:
        trials = study.ask(n, worker=worker, **rest)
    heading, rows = _with_features(study, trials)
    blank = [*heading, "value", "state", "study"]
    lines = [[*row, None, None, study.study_name] for row in rows]
    if place is not None:
        try:
            _write(place, blank, lines)
        except OSError as problem:
            own = f" --worker {shlex.quote(worker)}" if worker else ""
            problem.add_note(
                f"trials {shown(in_ranges(trial.id for trial in trials))} were handed out: get "
                f"them again with `mislid study ask {shlex.quote(study.study_name)} --pending{own} "
                "--csv FILE`"
            )
            raise
    if form == "csv":
        print_rows(form, blank, lines)
    else:
        most = _COLUMNS if form == "table" else None
        cells = [
            [*row[:most], trial.worker, None if trial.expires is None else moment(trial.expires)]
            for trial, row in zip(trials, rows, strict=True)
        ]
        print_rows(form, [*heading[:most], "worker", "until"], cells, len(heading) + 2)
    if sheet is not None:
        click.echo(f"Trials in {sheet}: {len(trials)}.", err=True)
    is_used_up = study.status == "running" and study.budget_left == 0
    standing = "used up" if is_used_up else study.status
    if standing in _NOTES:
        click.echo(f"Note: {_NOTES[standing]}.", err=True)


def _with_features(study: Study, trials: Sequence[Trial]) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows: trial, arm and features."""
    shown = study.candidates.shown
    names = (f"feature {name}" if name in _TAKEN else name for name in shown)
    rows = []
    for trial in trials:
        features = [] if trial.features is None else trial.features[[*shown.values()]].tolist()
        rows.append([trial.id, trial.arm, *features])
    return ["trial", "arm", *names], rows


def _new_sheet(sheet: str) -> Path:
    """Check that a sheet can be written to a path."""
    from mislid.io import new_place, require_workbooks

    place = new_place(sheet, "--csv")
    if place.suffix.lower() == ".xlsx":
        require_workbooks(f"--csv {sheet}")
    if place.exists():
        raise ProblemError(f"--csv must name a new file; {sheet!r} is there already")
    return place


def _write(place: Path, heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from mislid.io import workbook_bytes, write_whole

    if place.suffix.lower() == ".xlsx":
        write_whole(place, workbook_bytes(heading, rows))
    else:
        write_whole(place, as_csv(heading, rows).encode())


@on_study(
    "tell",
    "mislid study tell potency 3 0.71",
    "mislid study tell potency 4 --fail",
    "mislid study tell potency --csv plate.csv",
    kind=Signed,
)
@click.argument("trial", required=False)
@click.argument("value", required=False, type=float)
@flag("--fail", "The trial gave nothing.")
@option("--csv", FILE, "A sheet, filled in, .csv or .xlsx.", None, "sheet")
def tell_command(
    study: Study, trial: str | None, value: float | None, fail: bool, sheet: str | None, form: str
) -> None:
    """Report a value, a failed trial, or a filled-in sheet.

    A sheet may be partly filled in and reported again: known values change nothing. If a sheet has
    another value than before, the first one stays, and the exit status is 1. An invalid sheet is
    refused as a whole.
    """
    from mislid.study.state import COMPLETE, FAIL, StudyState

    is_one = trial is not None and (value is None) == fail
    is_none = trial is None and not fail
    if not (is_one if sheet is None else is_none):
        raise click.UsageError("give TRIAL and VALUE, TRIAL and --fail, or --csv FILE")
    state = StudyState()
    for event in study.events():
        state.apply(event)
    if sheet is not None:
        told, empty = _read_filled(sheet, study, state)
    else:
        told, empty = {trial_number(trial or ""): (0, value)}, []
    outcomes: dict[str, list[int]] = {"told": [], "failed": [], "unchanged": [], "conflict": []}
    conflicts = []
    for number, (line, found) in told.items():
        given = (FAIL if found is None else COMPLETE, found)
        before = (state.trial(number).state, state.trial(number).value)
        outcome = "unchanged" if before == given else "failed" if found is None else "told"
        try:
            study.tell(number, found, given[0])
        except ConflictingTellError as problem:
            outcome = "conflict"
            conflicts.append(f"line {line}: {problem}" if line else str(problem))
        outcomes[outcome].append(number)
    outcomes["empty"] = empty
    lines = {
        outcome: f"{len(trials)}  (trials {shown(in_ranges(trials))})"
        for outcome, trials in outcomes.items()
        if trials
    }
    print_change(form, study, outcomes, lines)
    if conflicts:
        raise MislidError(f"conflicts: {'; '.join(conflicts)}")


def _read_filled(
    path: str, study: Study, state: StudyState
) -> tuple[dict[int, tuple[int, float | None]], list[int]]:
    """Trials in a sheet: lines and values (None for failed trials), and those without a value."""
    from mislid.io import read_sheet

    table = read_sheet(path, "trial")
    table.column("trial")
    told, empty = dict[int, tuple[int, float | None]](), list[int]()
    for (line, cells), value in zip(table.rows, table.decimals("value"), strict=True):
        row = dict(zip(table.headings, cells, strict=False))
        try:
            number, found, failed = _read_line(row, value, study, state)
            if found is None and not failed:
                empty.append(number)
                continue
            first, before = told.setdefault(number, (line, found))
            if before != found:
                raise ProblemError(f"trial {number} is told something else in line {first}")
        except ProblemError as problem:
            raise FileFormatError(f"nothing was told: {path!r}, line {line}: {problem}") from None
    return told, [number for number in empty if number not in told]


def _read_line(
    row: Mapping[str, str], value: float | str | None, study: Study, state: StudyState
) -> tuple[int, float | None, bool]:
    """The trial of a line, its value, and whether it failed; checks all three."""
    from mislid.study.measurements import refuse_excluded

    name, arm, outcome = (row.get(heading, "") for heading in ("study", "arm", "state"))
    if name not in ("", study.study_name.strip()):
        raise ProblemError(f"it is of study {name!r}, not {study.study_name!r}")
    number = trial_number(row["trial"])
    label = str(study.register.labels[state.trial(number).arm])
    if arm not in ("", label.strip()):
        raise ProblemError(f"trial {number} is of arm {label!r}; got {arm!r}")
    if outcome.casefold() not in ("", "complete", "ok", "fail", "failed"):
        raise ProblemError(f"state must be empty, complete or fail; got {outcome!r}")
    failed = outcome.casefold().startswith("fail")
    if isinstance(value, str):
        raise ProblemError(value)
    if value is not None:
        refuse_excluded([value], study.settings)
        if failed:
            raise ProblemError(f"a trial that failed has no value; got {value!r}")
    return number, value, failed


@on_study(
    "import",
    "mislid study import potency lims.csv --arm-column compound --value-column ic50",
    "mislid study import potency plate-7.csv --key 'plate 7'",
)
@file_argument
@option("--arm-column", str, "Column of the candidates.", "arm")
@option("--value-column", str, "Column of the measurements.", "value")
@option("--key", str, "A name under which the import counts once; by default the same rows do.")
def import_command(
    study: Study, file: str, arm_column: str, value_column: str, key: str | None, form: str
) -> None:
    """Add measurements that were not asked for.

    FILE, .csv or .xlsx, has the columns arm and value. An invalid file is refused as a whole.
    """
    from mislid.io import read_sheet

    table = read_sheet(file, "measurement")
    labels = map(study.candidates.called, table.texts(arm_column))
    pairs = list(zip(labels, table.numbers(value_column).tolist(), strict=True))
    before = study.samples
    digest = hashlib.sha256(repr(pairs).encode()).hexdigest()
    try:
        study.add_observations(pairs, key=key or f"import of {digest}")
    except ProblemError as problem:
        problem.add_note(f"observation 0 is in line {table.line(0)} of {file!r}")
        raise
    imported = study.samples - before
    again = "" if imported else ": known already; another --key counts them again"
    print_change(form, study, {"imported": imported}, {"imported": f"{imported}{again}"})


row_option = option("--row", click.IntRange(0), "Instead of a trial: a row that `export` shows.")


@on_study(
    "correct",
    "mislid study correct potency 3 0.91 --reason 'decimal point forgotten'",
    "mislid study correct potency --row 17 0.44",
    kind=Signed,
)
@click.argument("words", nargs=-1, metavar="[TRIAL] VALUE")
@row_option
@reason_option
def correct_command(
    study: Study, words: tuple[str, ...], row: int | None, form: str, **reason: Any
) -> None:
    """Replace the value of a trial.

    The log keeps both. A decision that no longer holds is withdrawn, and decided again from the
    corrected data. Correct what is wrong, not what is unwelcome: that would undo the guarantee.
    """
    if len(words) != (1 if row is not None else 2):
        raise click.UsageError("give TRIAL and VALUE, or --row ROW and VALUE")
    value = click.FLOAT(words[-1])
    trial = None if row is not None else trial_number(words[0])
    record_change(form, study, lambda: study.correct(trial, value, row=row, **reason))


@on_study("void", "mislid study void potency 3 --reason 'plate dropped'")
@click.argument("trial", required=False)
@row_option
@reason_option
def void_command(
    study: Study, trial: str | None, row: int | None, form: str, **reason: Any
) -> None:
    """Discard a measurement; `correct` restores it.

    The log keeps it. A decision that no longer holds is withdrawn.
    """
    if (trial is None) == (row is None):
        raise click.UsageError("give TRIAL, or --row ROW")
    number = None if trial is None else trial_number(trial)
    record_change(form, study, lambda: study.void(number, row=row, **reason))
