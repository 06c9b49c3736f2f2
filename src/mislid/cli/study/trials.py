"""`mislid study ask`, `tell` and `import`: trials, and what they gave."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import in_ranges, moment
from mislid.cli.options import file_argument, file_option, flag, setting
from mislid.cli.output import (
    as_csv,
    as_json,
    as_table,
    counted,
    listed,
    print_facts,
    rows_text,
)
from mislid.cli.study._opening import after, after_words, as_trial, as_value, study_command
from mislid.errors import ConflictingTellError, MislidError, ProblemError

if TYPE_CHECKING:
    from mislid.cli.study._sheets import Told
    from mislid.study import Study, Trial
    from mislid.study.state import StudyState

# Features that a table shows.
_FEATURES = 6
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST = 100 * 365.25 * 86400  # seconds
_NOTES = {
    "decided": "the study has decided; more is not needed",
    "contradicted": "the data contradict what was declared, and nothing is proven; `mislid study "
    "status` says what to do",
}
_USED_UP = "the budget is used up; `mislid study result --now` says what to report"
TOLD, FAILED, UNCHANGED, CONFLICT, EMPTY = "told", "failed", "unchanged", "conflict", "empty"


def _seconds(_: Any, __: Any, text: str | None) -> float | None:
    """Seconds, or a number with a unit."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smhd]?)", text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0.0 < seconds <= _LONGEST:
        raise click.BadParameter(
            f"{text!r} is no time such as 90, 30m, 1h or 2d, of at most 100 years"
        )
    return seconds


class _Size(click.IntRange):
    """A number of trials, or `phase`."""

    name = "number or phase"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number, or the word."""
        return value if value == "phase" else super().convert(value, param, ctx)


@study_command(
    "ask",
    "mislid study ask potency",
    "mislid study ask potency -n 8 --worker lab-1 --lease 2d --csv plate.csv",
    "mislid study ask potency -n 24 --max-candidates 6 --replicates 2 --csv plate.csv",
    "mislid study ask potency --pending --worker lab-1 --csv again.csv",
)
@setting("-n", _Size(1), 1, "Number of trials, or `phase` for all that the rule has planned.")
@click.option("--worker", metavar="NAME", help="Who asks; asking again gives its open trials back.")
@click.option(
    "--lease",
    metavar="TIME",
    callback=_seconds,
    help="When others may be asked again, such as 3600, 30m, 1h or 2d; by default never.",
)
@click.option("--max-candidates", type=click.IntRange(1), help="Different candidates in the batch.")
@click.option(
    "--max-per-candidate", type=click.IntRange(1), help="Trials of one candidate in the batch."
)
@setting(
    "--replicates",
    click.IntRange(1),
    1,
    "Trials of each chosen candidate in the batch; -n counts trials.",
)
@file_option("--csv", "Write a sheet to fill in, .csv or .xlsx.", "FILE", "--sheet", "sheet")
@flag("--force", "Overwrite the sheet.")
@flag("--pending", "Hand out nothing new: all open trials, or those of --worker.")
def ask_command(
    study: Study,
    n: Any,
    worker: str | None,
    sheet: str | None,
    force: bool,
    pending: bool,
    form: str,
    max_candidates: int | None,
    max_per_candidate: int | None,
    **rest: Any,
) -> None:
    """Print what to measure next in study NAME, and write it to a sheet for the lab.

    A batch is spread over candidates. The sheet has a line per trial: write what was measured in
    its column `value`, or `fail` in its column `state`, and give it to `mislid study tell`.
    """
    if worker == "":
        raise click.UsageError("--worker must be a name; got ''")
    place = None if sheet is None else _new_sheet(sheet, force)
    if pending:
        trials = [trial for trial in study.pending if worker is None or trial.worker == worker]
    else:
        rest |= {"max_candidates": max_candidates, "max_per_candidate": max_per_candidate}
        trials = study.ask(n, worker=worker, **rest)
    if place is not None:
        _write(place, study, trials, worker)
    click.echo(_trials_text(form, study, trials))
    if sheet is not None:
        click.echo(f"{counted(len(trials), 'trial')} in {sheet}.", err=True)
    note = _NOTES.get(study.status, _USED_UP if study.budget_left == 0 else None)
    if note is not None:
        click.echo(f"Note: {note}.", err=True)


def _new_sheet(sheet: str, force: bool) -> Path:
    """The sheet's place, checked before trials are handed out."""
    from mislid.cli.study._sheets import is_workbook
    from mislid.io import new_place, require_workbooks

    place = new_place(sheet, "--csv")
    if is_workbook(place):
        require_workbooks(f"--csv {sheet}")
    if place.exists() and not force:
        raise ProblemError(
            f"--csv must name a new file; {sheet!r} is there already: give another name, or "
            "--force to overwrite it"
        )
    return place


def _write(place: Path, study: Study, trials: list[Trial], worker: str | None) -> None:
    from mislid.cli.study._sheets import as_file, sheet_of
    from mislid.io import write_whole

    try:
        write_whole(place, as_file(place, *sheet_of(study, trials)))
    except OSError as problem:
        handed = ", ".join(f"{trial.id} ({trial.arm})" for trial in trials)
        again = f" --worker {shlex.quote(worker)}" if worker else ""
        raise MislidError(
            f"the sheet {str(place)!r} could not be written ({problem.strerror}), but these "
            f"trials were handed out: {handed}; get them again with `mislid study ask "
            f"{shlex.quote(study.study_name)} --pending{again} --csv FILE`"
        ) from None


def _trials_text(form: str, study: Study, trials: list[Trial]) -> str:
    from mislid.cli.study._sheets import sheet_of, shown_features

    if form == "csv":
        return as_csv(*sheet_of(study, trials))
    rows = [
        {
            "trial": trial.id,
            "arm": trial.arm,
            "features": None if trial.features is None else shown_features(study, trial),
            "worker": trial.worker,
            "expires": None if trial.expires is None else moment(trial.expires),
        }
        for trial in trials
    ]
    if form == "json":
        return as_json(rows)
    names = list(study.candidates.shown)
    more = ["..."] if len(names) > _FEATURES else []
    lines: list[list[Any]] = [["trial", "arm", *names[:_FEATURES], *more, "worker", "until"]]
    for trial, row in zip(trials, rows, strict=True):
        features = [f"{entry:g}" for entry in shown_features(study, trial).values()]
        cells = [*features[:_FEATURES], *more, row["worker"], row["expires"]]
        lines.append([trial.id, trial.arm, *cells])
    return as_table(lines, texts=len(lines[0]))


@study_command(
    "tell",
    "mislid study tell potency 3 0.71",
    "mislid study tell potency 4 --fail",
    "mislid study tell potency --csv plate.csv",
    signed=True,
)
@click.argument("trial", required=False)
@click.argument("value", required=False)
@flag("--fail", "The trial gave nothing.")
@file_option("--csv", "A sheet, filled in, .csv or .xlsx.", "FILE", "--sheet", "sheet")
def tell_command(
    study: Study, trial: str | None, value: str | None, fail: bool, sheet: str | None, form: str
) -> None:
    """Tell study NAME what a trial gave, that it failed, or what a sheet says.

    A sheet may be filled in in part, and told again: what is known already changes nothing, and
    where it says something else the first value stays, which is an error (exit status 1). A sheet
    with anything wrong in it is refused before any of it is told.
    """
    from mislid.cli.study._sheets import Told, read_filled
    from mislid.study.state import StudyState

    if sheet is not None and (trial is not None or fail):
        raise click.UsageError("--csv goes without TRIAL, VALUE and --fail")
    if sheet is None and (trial is None or (value is None) != fail):
        raise click.UsageError("give TRIAL and VALUE, TRIAL and --fail, or --csv FILE")
    state = StudyState()
    for event in study.events():
        state.apply(event)
    told, empty = list[Told](), list[int]()
    if sheet is not None:
        told, empty = read_filled(sheet, study, state)
    elif trial is not None:
        told = [Told(0, as_trial(trial), None if value is None else as_value(value))]
        state.trial(told[0].trial)
    rows, conflicts = _tell(study, state, told)
    rows += [_outcome(study, state, number, None, EMPTY) for number in empty]
    _print_told(form, study, rows)
    if conflicts:
        raise MislidError(f"conflicts: {'; '.join(conflicts)}")


def _tell(
    study: Study, state: StudyState, told: list[Told]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Tell all lines; gives the outcome of each, and the contradictions."""
    rows, conflicts = [], []
    for line, number, value in told:
        known = "fail" if value is None else "complete"
        outcome = FAILED if value is None else TOLD
        record = state.trial(number)
        try:
            study.tell(number, value, known)
            if (record.state, record.value) == (known, value):
                outcome = UNCHANGED
        except ConflictingTellError as problem:
            outcome = CONFLICT
            conflicts.append(f"line {line}: {problem}" if line else str(problem))
        rows.append(_outcome(study, state, number, value, outcome))
    return rows, conflicts


def _outcome(
    study: Study, state: StudyState, number: int, value: float | None, outcome: str
) -> dict[str, Any]:
    label = study.register.labels[state.trial(number).arm]
    return {"trial": number, "arm": label, "value": value, "outcome": outcome}


def _print_told(form: str, study: Study, rows: list[dict[str, Any]]) -> None:
    if form == "csv":
        click.echo(rows_text(form, rows, ("trial", "arm", "value", "outcome")))
        return
    outcomes = (TOLD, FAILED, UNCHANGED, CONFLICT, EMPTY)
    counts = {one: [row["trial"] for row in rows if row["outcome"] == one] for one in outcomes}
    lines = [
        (outcome, f"{len(trials)}  (trials {listed(in_ranges(trials))})")
        for outcome, trials in counts.items()
        if trials
    ]
    print_facts(form, {**counts, **after(study)}, [*lines, *after_words(study)])


@study_command(
    "import",
    "mislid study import potency history.csv",
    "mislid study import potency lims.csv --arm-column compound --value-column ic50",
    "mislid study import potency plate-7.csv --key 'plate 7'",
)
@file_argument
@setting("--arm-column", str, "arm", "Column of the candidates.", metavar="COLUMN")
@setting("--value-column", str, "value", "Column of the measurements.", metavar="COLUMN")
@flag("--again", "Count rows that were imported before once more.")
@click.option(
    "--key",
    metavar="TEXT",
    help="A name of this import, such as 'plate 7': repeated with it, the same rows count once.",
)
def import_command(
    study: Study,
    file: str,
    arm_column: str,
    value_column: str,
    again: bool,
    key: str | None,
    form: str,
) -> None:
    """Take in measurements that study NAME did not ask for, from the columns arm and value of
    FILE, .csv or .xlsx: all of them, or none if anything is wrong.
    """
    from mislid.cli.study._sheets import read_pairs

    pairs = read_pairs(file, study, arm_column, value_column)
    if not again and key is None:
        _refuse_known(study, file, pairs)
    before = len(study.observation_rows())
    study.add_observations(pairs, key=key)
    imported = len(study.observation_rows()) - before
    known = "" if imported else "  (they were, with this key)"
    facts = {"imported": imported, **after(study)}
    print_facts(form, facts, [("imported", f"{imported}{known}"), *after_words(study)])


def _refuse_known(study: Study, file: str, pairs: list[tuple[Any, float]]) -> None:
    from mislid.study.events import Observed

    positions = study.register.positions
    arms = tuple(positions[label] for label, _ in pairs)
    rows = Observed(arms, tuple(value for _, value in pairs))
    for event in study.events():
        if event.fact == rows:
            raise ProblemError(
                f"the {counted(len(pairs), 'row')} of {file!r} were imported before, as event "
                f"{event.sequence}: --again counts them once more"
            )
