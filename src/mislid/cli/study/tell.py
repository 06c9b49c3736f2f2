"""`mislid study tell` and `import`: what trials gave, and measurements of any origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mislid._words import in_ranges
from mislid.cli.options import file_argument, flag, printed
from mislid.cli.output import as_json, as_table
from mislid.cli.study._opening import as_trial, as_value, open_study, sheet_option, study_command
from mislid.cli.study._words import (
    after,
    after_words,
    counted,
    listed,
    print_facts,
    rows_text,
)
from mislid.errors import ConflictingTellError, MislidError, ProblemError

if TYPE_CHECKING:
    from mislid.cli.study._sheets import Filled
    from mislid.study import Study
    from mislid.study.state import StudyState

TOLD, FAILED, UNCHANGED, CONFLICT, EMPTY = "told", "failed", "unchanged", "conflict", "empty"
_COLUMNS = ("trial", "arm", "value", "outcome")


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
@sheet_option("A sheet, filled in, .csv or .xlsx.")
@printed()
def tell_command(
    name: str,
    trial: str | None,
    value: str | None,
    storage: str | None,
    fail: bool,
    sheet: str | None,
    form: str,
) -> None:
    """Tell study NAME what a trial gave, that it failed, or what a sheet says.

    A sheet may be filled in in part, and told again: what is known already changes nothing, and
    where it says something else the first value stays, which is an error (exit status 1). A sheet
    with anything wrong in it is refused before any of it is told.
    """
    from mislid.cli.study._sheets import Filled, Told, read_filled

    number, told_value = _one_trial(trial, value, fail, sheet)
    with open_study(name, storage) as study:
        state = _state(study)
        if sheet is None:
            state.trial(number)
            filled = Filled([Told(0, number, told_value)], [])
        else:
            filled = read_filled(sheet, name, state)
        outcomes, conflicts = _tell(study, state, filled)
        click.echo(_printed(form, study, outcomes))
    if conflicts:
        raise MislidError(f"conflicts: {'; '.join(conflicts)}")


def _one_trial(
    trial: str | None, value: str | None, fail: bool, sheet: str | None
) -> tuple[int, float | None]:
    """The trial and value of a call without a sheet; refuses calls that make no sense."""
    if sheet is not None:
        if trial is not None or fail:
            raise click.UsageError("--csv goes without TRIAL, VALUE and --fail")
        return -1, None
    if trial is None or (value is None) != fail:
        raise click.UsageError("give TRIAL and VALUE, TRIAL and --fail, or --csv FILE")
    return as_trial(trial), None if value is None else as_value(value)


def _state(study: Study) -> StudyState:
    from mislid.study.state import StudyState

    state = StudyState()
    for event in study.events():
        state.apply(event)
    return state


def _tell(
    study: Study, state: StudyState, filled: Filled
) -> tuple[list[dict[str, Any]], list[str]]:
    """Tell all; gives what came of every line, and the contradictions."""
    outcomes, conflicts = [], []
    for line, number, value in filled.told:
        known = "fail" if value is None else "complete"
        outcome = FAILED if value is None else TOLD
        try:
            if state.news(number, known, value):
                study.tell(number, value, known)
            else:
                outcome = UNCHANGED
        except ConflictingTellError as problem:
            outcome = CONFLICT
            conflicts.append(f"line {line}: {problem}" if line else str(problem))
        outcomes.append(_outcome(state, number, value, outcome))
    outcomes += [_outcome(state, number, None, EMPTY) for number in filled.empty]
    return outcomes, conflicts


def _outcome(state: StudyState, number: int, value: float | None, outcome: str) -> dict[str, Any]:
    label = state.census.register.labels[state.trial(number).arm]
    return {"trial": number, "arm": label, "value": value, "outcome": outcome}


def _printed(form: str, study: Study, outcomes: list[dict[str, Any]]) -> str:
    if form == "csv":
        return rows_text(form, outcomes, _COLUMNS)
    counts = {
        outcome: [row["trial"] for row in outcomes if row["outcome"] == outcome]
        for outcome in (TOLD, FAILED, UNCHANGED, CONFLICT, EMPTY)
    }
    if form == "json":
        return as_json({**counts, **after(study)})
    lines = [
        (outcome, f"{len(trials)}  (trials {listed(in_ranges(trials))})")
        for outcome, trials in counts.items()
        if trials
    ]
    return as_table([*lines, *after_words(study)])


@study_command(
    "import",
    "mislid study import potency history.csv",
    "mislid study import potency lims.csv --arm-column compound --value-column ic50",
    "mislid study import potency plate-7.csv --key 'plate 7'",
)
@file_argument
@click.option("--arm-column", metavar="COLUMN", default="arm", show_default=True)
@click.option("--value-column", metavar="COLUMN", default="value", show_default=True)
@flag("--again", "Count rows that were imported before once more.")
@click.option(
    "--key",
    metavar="TEXT",
    help="A name of this import, such as 'plate 7': repeated with it, the same rows count once.",
)
@printed()
def import_command(
    name: str,
    file: str,
    storage: str | None,
    arm_column: str,
    value_column: str,
    again: bool,
    key: str | None,
    form: str,
) -> None:
    """Take in measurements that study NAME did not ask for, from the columns arm and value of
    FILE, .csv or .xlsx: all of them, or none if anything is wrong.
    """
    with open_study(name, storage) as study:
        pairs = _pairs(study, file, arm_column, value_column)
        if not again and key is None:
            _refuse_known(study, file, pairs)
        before = len(study.observation_rows())
        study.add_observations(pairs, key=key)
        imported = len(study.observation_rows()) - before
        known = "" if imported else "  (they were, with this key)"
        facts = {"imported": imported, **after(study)}
        print_facts(form, facts, [("imported", f"{imported}{known}"), *after_words(study)])


def _pairs(study: Study, file: str, arm: str, value: str) -> list[tuple[Any, float]]:
    from mislid.cli.study._sheets import Wrong, outside, refuse_unknown_columns
    from mislid.io import read_sheet

    table = read_sheet(file, "measurement")
    refuse_unknown_columns(table, [("--arm-column", arm), ("--value-column", value)])
    labels = {str(label).strip(): label for label in study.candidates.labels}
    labels |= {str(label): label for label in study.candidates.labels}
    settings = study.settings
    pairs, wrong = [], Wrong(file, "imported")
    column = table.headings.index(arm)
    for (line, cells), number in zip(table.rows, table.decimals(value), strict=True):
        label = cells[column]
        if label not in labels:
            wrong.add(line, f"{label!r} is none of the candidates")
        elif number is None or isinstance(number, str):
            wrong.add(line, number or "a value is missing")
        elif complaint := outside(number, settings):
            wrong.add(line, complaint)
        else:
            pairs.append((labels[label], number))
    wrong.refuse()
    return pairs


def _refuse_known(study: Study, file: str, pairs: list[tuple[Any, float]]) -> None:
    from mislid.study.facts import Observed

    positions = study.register.positions
    rows = Observed(
        tuple(positions[label] for label, _ in pairs), tuple(value for _, value in pairs)
    )
    for event in study.events():
        if event.fact == rows:
            raise ProblemError(
                f"the {counted(len(pairs), 'row')} of {file!r} were imported before, as event "
                f"{event.sequence}: --again counts them once more"
            )
