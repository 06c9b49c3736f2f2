"""`mislid study tell`: what trials gave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.output import as_json, as_table
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._words import is_proven, listed, many, status_words
from mislid.errors import ConflictingTellError, MislidError

if TYPE_CHECKING:
    from mislid.cli.study._sheet import Filled
    from mislid.study import Study
    from mislid.study.state import StudyState

TOLD, FAILED, UNCHANGED, CONFLICT, EMPTY = "told", "failed", "unchanged", "conflict", "empty"
_COLUMNS = ("trial", "arm", "value", "outcome")


# A negative value is no option.
@click.command(
    "tell",
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "mislid study tell potency 3 0.71",
        "mislid study tell potency 4 --fail",
        "mislid study tell potency --csv plate.csv",
    ),
)
@name_argument
@click.argument("trial", required=False)
@click.argument("value", required=False)
@storage_option
@click.option("--fail", is_flag=True, help="The trial gave nothing.")
@click.option("--csv", "sheet", metavar="FILE", type=click.Path(), help="A sheet, filled in.")
@format_option
@one_sentence_errors
def command(
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
    from mislid.cli.study._sheet import Filled, Told, read_filled

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
    for word in (trial, value):
        if word is not None and word.startswith("--"):
            raise click.UsageError(f"No such option: {word}")
    if sheet is not None:
        if trial is not None or fail:
            raise click.UsageError("--csv goes without TRIAL, VALUE and --fail")
        return -1, None
    if trial is None or (value is None) != fail:
        raise click.UsageError("give TRIAL and VALUE, TRIAL and --fail, or --csv FILE")
    if not (trial.isascii() and trial.isdigit()):
        raise click.UsageError(f"TRIAL must be the number of one that was asked; got {trial!r}")
    if value is None:
        return int(trial), None
    from mislid.files import decimal

    number = decimal(value.strip())
    if isinstance(number, str):
        raise click.UsageError(f"VALUE: {number}")
    return int(trial), number


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
    label = state.candidates.labels[state.trial(number).arm]
    return {"trial": number, "arm": label, "value": value, "outcome": outcome}


def _printed(form: str, study: Study, outcomes: list[dict[str, Any]]) -> str:
    if form == "csv":
        return many(form, outcomes, _COLUMNS)
    counts = {
        outcome: [row["trial"] for row in outcomes if row["outcome"] == outcome]
        for outcome in (TOLD, FAILED, UNCHANGED, CONFLICT, EMPTY)
    }
    if form == "json":
        after = {
            "status": study.status,
            "samples": study.samples,
            "proven": is_proven(study.settings.stopping),
        }
        return as_json({**counts, **after})
    lines = [
        (outcome, f"{len(trials)}  (trials {_ranges(trials)})")
        for outcome, trials in counts.items()
        if trials
    ]
    lines.append(("measurements", str(study.samples)))
    lines.append(("status", status_words(study)))
    return as_table(lines)


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers, with those in a row put together.

    >>> _ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return listed([f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs])
