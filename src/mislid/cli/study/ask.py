"""`mislid study ask`: what to measure next."""

from __future__ import annotations

import re
import shlex
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from mislid._words import moment
from mislid.cli.options import flag, printed, setting
from mislid.cli.output import aligned, as_csv, as_json
from mislid.cli.study._opening import open_study, sheet_option, study_command
from mislid.cli.study._words import counted, shown
from mislid.errors import MislidError, ProblemError

if TYPE_CHECKING:
    from mislid.io import Draft
    from mislid.study import Study, Trial

# Features that a table shows.
_FEATURES = 6
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _seconds(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Seconds, or a number with a unit."""
    if text is None:
        return None
    from mislid.study.batches import LONGEST_LEASE

    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smhd]?)", text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0.0 < seconds <= LONGEST_LEASE:
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


# What to know of a study that has no need of trials, or cannot use them as it is.
_NOTES = {
    "decided": "the study has decided; more is not needed",
    "contradicted": "the data contradict what was declared, and nothing is proven; `mislid study "
    "status` says what to do",
}
_USED_UP = "the budget is used up; `mislid study now` says what to report"


@study_command(
    "ask",
    "mislid study ask potency",
    "mislid study ask potency -n 8 --worker lab-1 --lease 2d --csv plate.csv",
    "mislid study ask potency -n 24 --at-most 6 --replicates 2 --csv plate.csv",
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
@click.option("--at-most", type=click.IntRange(1), help="Different candidates in the batch.")
@click.option("--same-arm", type=click.IntRange(1), help="Trials of one candidate in the batch.")
@setting(
    "--replicates",
    click.IntRange(1),
    1,
    "Trials of each chosen candidate in the batch; -n counts trials.",
)
@sheet_option("Write a sheet to fill in, .csv or .xlsx.")
@flag("--force", "Overwrite the sheet.")
@flag("--pending", "Hand out nothing new: all open trials, or those of --worker.")
@printed()
def command(
    name: str,
    storage: str | None,
    n: Any,
    worker: str | None,
    lease: float | None,
    at_most: int | None,
    same_arm: int | None,
    replicates: int,
    sheet: str | None,
    force: bool,
    pending: bool,
    form: str,
) -> None:
    """Print what to measure next in study NAME, and write it to a sheet for the lab.

    A batch is spread over candidates. The sheet has a line per trial: write what was measured in
    its column `value`, or `fail` in its column `state`, and give it to `mislid study tell`.
    """
    if worker == "":
        raise click.UsageError("--worker must be a name; got ''")
    with open_study(name, storage) as study, _draft(sheet, force) as draft:
        if pending:
            trials = [trial for trial in study.pending if worker is None or trial.worker == worker]
        else:
            limits: Any = {"at_most": at_most, "same_arm": same_arm, "replicates": replicates}
            trials = study.ask(n, worker=worker, lease=lease, **limits)
        if draft is not None:
            _write(draft, study, trials, worker, force)
        click.echo(_printed(form, study, trials))
        if sheet is not None:
            click.echo(f"{counted(len(trials), 'trial')} in {sheet}.", err=True)
        used_up = _USED_UP if study.budget_left == 0 else None
        note = _NOTES.get(study.status, used_up)
        if note is not None:
            click.echo(f"Note: {note}.", err=True)


def _draft(sheet: str | None, force: bool) -> Any:
    """A file that will be the sheet, where that is possible; found out before anybody asks."""
    if sheet is None:
        return nullcontext()
    from mislid.cli.study._sheets import is_workbook
    from mislid.io import Draft, new_place, require_workbooks

    place = new_place(sheet, "--csv")
    if is_workbook(place):
        require_workbooks(f"--csv {sheet}")
    if place.exists() and not force:
        raise ProblemError(
            f"--csv must name a new file; {sheet!r} is there already: give another name, or "
            "--force to overwrite it"
        )
    try:
        return Draft(place)
    except OSError as problem:
        raise ProblemError(
            f"--csv must name a file that can be written; got {sheet!r} ({problem.strerror})"
        ) from None


def _write(
    draft: Draft, study: Study, trials: list[Trial], worker: str | None, force: bool
) -> None:
    from mislid.cli.study._sheets import as_file, sheet_of

    try:
        draft.publish(as_file(draft.place, *sheet_of(study, trials)), replace=force)
    except OSError as problem:
        handed = ", ".join(f"{trial.id} ({trial.arm})" for trial in trials)
        again = f" --worker {shlex.quote(worker)}" if worker else ""
        raise MislidError(
            f"the sheet {str(draft.place)!r} could not be written ({problem.strerror}), but these "
            f"trials were handed out: {handed}; get them again with `mislid study ask "
            f"{shlex.quote(study.study_name)} --pending{again} --csv FILE`"
        ) from None


def _printed(form: str, study: Study, trials: list[Trial]) -> str:
    from mislid.cli.study._sheets import sheet_of, shown_features

    if form == "csv":
        return as_csv(*sheet_of(study, trials))
    if form == "json":
        return as_json([_facts(trial, shown_features(study, trial)) for trial in trials])
    names = list(study.candidates.shown)
    more = ["..."] if len(names) > _FEATURES else []
    heading = ("trial", "arm", *names[:_FEATURES], *more, "worker", "until")
    rows = [
        (
            str(trial.id),
            str(trial.arm),
            *(f"{entry:g}" for entry in [*shown_features(study, trial).values()][:_FEATURES]),
            *more,
            shown(trial.worker),
            "-" if trial.expires is None else moment(trial.expires),
        )
        for trial in trials
    ]
    return aligned([heading, *rows], len(heading))


def _facts(trial: Trial, features: dict[str, float]) -> dict[str, Any]:
    return {
        "trial": trial.id,
        "arm": trial.arm,
        "features": None if trial.features is None else features,
        "worker": trial.worker,
        "expires": None if trial.expires is None else moment(trial.expires),
    }
