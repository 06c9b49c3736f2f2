"""`mislid study ask`, `tell`, `import`, `correct` and `void`: measurements, and sheets of them."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import in_ranges, moment
from mislid.cli.options import FILE, WHOLE, file_argument, flag, option
from mislid.cli.output import as_csv, counted, listed, print_rows
from mislid.cli.study import (
    on_study,
    print_change,
    reason_option,
    record_change,
    refuse_unknown_column,
    trial_number,
)
from mislid.errors import ConflictingTellError, FileFormatError, MislidError, ProblemError

if TYPE_CHECKING:
    from mislid.study import Study, Trial
    from mislid.study.state import StudyState

# Features that a table shows.
_FEATURES = 6
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_OWN = ("trial", "arm", "value", "state", "study", "worker", "until")
TOLD, FAILED, UNCHANGED, CONFLICT = "told", "failed", "unchanged", "conflict"
_NOTES = {
    "decided": "the study has decided; more is not needed",
    "contradicted": "the data contradict what was declared, and nothing is proven; `mislid study "
    "status` says what to do",
}


def _seconds(_: Any, __: Any, text: str | None) -> float | None:
    """Seconds, or a number with a unit."""
    if text is None:
        return None
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
@option("--worker", str, "Who asks; asking again gives its open trials back.")
@option(
    "--lease",
    str,
    "When others may be asked again, such as 3600, 30m, 1h or 2d; by default never.",
    callback=_seconds,
)
@option("--max-candidates", WHOLE, "Different candidates in the batch.")
@option("--max-per-candidate", WHOLE, "Trials of one candidate in the batch.")
@option("--replicates", WHOLE, "Trials of each chosen candidate; -n counts trials.", 1)
@option("--csv", FILE, "Write a sheet to fill in, .csv or .xlsx.", None, "sheet")
@flag("--pending", "Hand out nothing new: all open trials, or those of --worker.")
def ask_command(
    study: Study,
    n: int,
    worker: str | None,
    sheet: str | None,
    pending: bool,
    form: str,
    **rest: Any,
) -> None:
    """Print what to measure next in study NAME, and write it to a sheet for the lab.

    A batch is spread over candidates. The sheet has a line per trial: write what was measured in
    its column `value`, or `fail` in its column `state`, and give it to `mislid study tell`.
    """
    place = None if sheet is None else _new_sheet(sheet)  # before trials are handed out
    if pending:
        trials = [trial for trial in study.pending if worker in (None, trial.worker)]
    else:
        trials = study.ask(n, worker=worker, **rest)
    if place is not None:
        _write(place, study, trials, worker)
    if form == "csv":
        print_rows(form, *_sheet(study, trials))
    else:
        heading, rows = _features(study, trials, _FEATURES if form == "table" else None)
        for trial, row in zip(trials, rows, strict=True):
            row += [trial.worker, None if trial.expires is None else moment(trial.expires)]
        print_rows(form, [*heading, "worker", "until"], rows, len(heading) + 2)
    if sheet is not None:
        click.echo(f"{counted(len(trials), 'trial')} in {sheet}.", err=True)
    used_up = "the budget is used up; `mislid study result --now` says what to report"
    note = _NOTES.get(study.status, used_up if study.budget_left == 0 else None)
    if note is not None:
        click.echo(f"Note: {note}.", err=True)


def _features(
    study: Study, trials: Sequence[Trial], most: int | None = None
) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows of trials: trial, arm and at most so many features."""
    shown = dict([*study.candidates.shown.items()][:most])
    names = (f"feature {name}" if name in _OWN else name for name in shown)
    rows = []
    for trial in trials:
        features = [] if trial.features is None else trial.features[[*shown.values()]].tolist()
        rows.append([trial.id, trial.arm, *features])
    return ["trial", "arm", *names], rows


def _sheet(study: Study, trials: Sequence[Trial]) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows of a sheet: features of trials, and columns to be filled in."""
    heading, rows = _features(study, trials)
    more = [None, None, study.study_name]
    return [*heading, "value", "state", "study"], [[*row, *more] for row in rows]


def _new_sheet(sheet: str) -> Path:
    """The place of a sheet, where one can be written."""
    from mislid.io import new_place, require_workbooks

    place = new_place(sheet, "--csv")
    if place.suffix.lower() == ".xlsx":
        require_workbooks(f"--csv {sheet}")
    if place.exists():
        raise ProblemError(f"--csv must name a new file; {sheet!r} is there already")
    return place


def _write(place: Path, study: Study, trials: list[Trial], worker: str | None) -> None:
    from mislid.io import workbook_bytes, write_whole

    heading, rows = _sheet(study, trials)
    try:
        is_workbook = place.suffix.lower() == ".xlsx"
        text = "" if is_workbook else f"{as_csv(heading, rows)}\n"
        write_whole(place, workbook_bytes(heading, rows) if is_workbook else text.encode())
    except OSError as problem:
        handed = ", ".join(f"{trial.id} ({trial.arm})" for trial in trials)
        again = f" --worker {shlex.quote(worker)}" if worker else ""
        raise MislidError(
            f"the sheet {str(place)!r} could not be written ({problem.strerror}), but these "
            f"trials were handed out: {handed}; get them again with `mislid study ask "
            f"{shlex.quote(study.study_name)} --pending{again} --csv FILE`"
        ) from None


@on_study(
    "tell",
    "mislid study tell potency 3 0.71",
    "mislid study tell potency 4 --fail",
    "mislid study tell potency --csv plate.csv",
    signed=True,
)
@click.argument("trial", required=False)
@click.argument("value", required=False, type=float)
@flag("--fail", "The trial gave nothing.")
@option("--csv", FILE, "A sheet, filled in, .csv or .xlsx.", None, "sheet")
def tell_command(
    study: Study, trial: str | None, value: float | None, fail: bool, sheet: str | None, form: str
) -> None:
    """Tell study NAME what a trial gave, that it failed, or what a sheet says.

    A sheet may be filled in in part, and told again: known values change nothing. Where a sheet has
    another value than before, the first one stays, which is an error (exit status 1). A sheet with
    anything wrong in it is refused before any of it is told.
    """
    from mislid.study.state import StudyState

    if sheet is not None and (trial is not None or fail):
        raise click.UsageError("--csv goes without TRIAL, VALUE and --fail")
    if sheet is None and (trial is None or (value is None) != fail):
        raise click.UsageError("give TRIAL and VALUE, TRIAL and --fail, or --csv FILE")
    state = StudyState()
    for event in study.events():
        state.apply(event)
    if sheet is not None:
        told, empty = _read_filled(sheet, study, state)
    else:
        told, empty = {trial_number(trial or ""): (0, value)}, list[int]()
    outcomes: dict[str, list[int]] = {TOLD: [], FAILED: [], UNCHANGED: [], CONFLICT: []}
    conflicts = []
    for number, (line, found) in told.items():
        outcome, conflict = _tell(study, state, number, found)
        outcomes[outcome].append(number)
        if conflict:
            conflicts.append(f"line {line}: {conflict}" if line else conflict)
    outcomes["empty"] = empty
    lines = [
        (outcome, f"{len(trials)}  (trials {listed(in_ranges(trials))})")
        for outcome, trials in outcomes.items()
        if trials
    ]
    print_change(form, study, outcomes, lines)
    if conflicts:
        raise MislidError(f"conflicts: {'; '.join(conflicts)}")


def _tell(study: Study, state: StudyState, number: int, value: float | None) -> tuple[str, str]:
    """Tell what a trial gave, None if it failed: the outcome, and what the value contradicts."""
    kind = "fail" if value is None else "complete"
    before = state.trial(number)
    try:
        study.tell(number, value, kind)
    except ConflictingTellError as problem:
        return CONFLICT, str(problem)
    if (before.state, before.value) == (kind, value):
        return UNCHANGED, ""
    return FAILED if value is None else TOLD, ""


def _read_filled(
    path: str, study: Study, state: StudyState
) -> tuple[dict[int, tuple[int, float | None]], list[int]]:
    """Lines and values of trials in a sheet, None where one failed, and trials with empty lines."""
    from mislid.io import read_sheet

    table = read_sheet(path, "trial")
    refuse_unknown_column(table, "the trials' column", "trial")
    refuse_unknown_column(table, "the values' column", "value")
    told, empty = dict[int, tuple[int, float | None]](), list[int]()
    places = {name: table.headings.index(name) for name in _OWN if table.has(name)}
    for (line, cells), value in zip(table.rows, table.decimals("value"), strict=True):
        row = {name: cells[place] for name, place in places.items()}
        try:
            number = _trial_of(row, study, state)
            failed = _has_failed(row, value, study)
            if value is None and not failed:
                empty.append(number)
                continue
            found = None if failed else float(value or 0.0)
            first, before = told.setdefault(number, (line, found))
            if before != found:
                raise ProblemError(f"trial {number} is told something else in line {first}")
        except ProblemError as problem:
            raise FileFormatError(f"nothing was told: {path!r}, line {line}: {problem}") from None
    return told, [number for number in empty if number not in told]


def _trial_of(row: Mapping[str, str], study: Study, state: StudyState) -> int:
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


def _has_failed(row: Mapping[str, str], value: float | str | None, study: Study) -> bool:
    """Whether a line says that the trial failed; refuses values that cannot be."""
    from mislid.study.measurements import refuse_excluded

    outcome = row.get("state", "").casefold()
    if outcome not in ("", "complete", "ok", "fail", "failed"):
        raise ProblemError(f"state must be empty, complete or fail; got {outcome!r}")
    if isinstance(value, str):
        raise ProblemError(value)
    if value is not None:
        refuse_excluded([value], study.settings)
        if outcome.startswith("fail"):
            raise ProblemError(f"a trial that failed has no value; got {value!r}")
    return outcome.startswith("fail")


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
    """Add measurements that study NAME did not ask for, from the columns arm and value of FILE,
    .csv or .xlsx: all of them, or none if anything is wrong.
    """
    from mislid.io import read_sheet

    table = read_sheet(file, "measurement")
    refuse_unknown_column(table, "--arm-column", arm_column)
    refuse_unknown_column(table, "--value-column", value_column)
    labels = map(study.candidates.called, table.texts(arm_column))
    pairs = list(zip(labels, table.numbers(value_column).tolist(), strict=True))
    before = len(study.observation_rows())
    digest = hashlib.sha256(repr(pairs).encode()).hexdigest()
    try:
        study.add_observations(pairs, key=key or f"import of {digest}")
    except ProblemError as problem:
        problem.add_note(f"observation 0 is in line {table.line(0)} of {file!r}")
        raise
    imported = len(study.observation_rows()) - before
    again = "" if imported else "  (they were imported before; another --key counts them again)"
    print_change(form, study, {"imported": imported}, [("imported", f"{imported}{again}")])


row_option = option(
    "--row",
    click.IntRange(0),
    "Instead of a trial: the row of a measurement that was imported, as `export` shows it.",
)


@on_study(
    "correct",
    "mislid study correct potency 3 0.91 --reason 'decimal point forgotten'",
    "mislid study correct potency --row 17 0.44",
    signed=True,
)
@click.argument("words", nargs=-1, metavar="[TRIAL] VALUE")
@row_option
@reason_option
def correct_command(
    study: Study, words: tuple[str, ...], row: int | None, form: str, **reason: Any
) -> None:
    """Replace the value of TRIAL of study NAME by VALUE.

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
    """Discard the measurement of TRIAL of study NAME; `correct` brings it back.

    The log keeps it. A decision that no longer holds is withdrawn.
    """
    if (trial is None) == (row is None):
        raise click.UsageError("give TRIAL, or --row ROW")
    number = None if trial is None else trial_number(trial)
    record_change(form, study, lambda: study.void(number, row=row, **reason))
