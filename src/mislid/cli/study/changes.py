"""`mislid study correct`, `void`, `redeclare`, `accept`, `add` and `retire`: changes of a study."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import flag
from mislid.cli.output import did_you_mean, print_facts
from mislid.cli.study._opening import after, after_words, as_trial, as_value, study_command
from mislid.cli.study.create import read_candidates, table_options

if TYPE_CHECKING:
    from mislid.study import Study

row_option = click.option(
    "--row",
    type=click.IntRange(0),
    help="Instead of a trial: the row of a measurement that was imported, as `export` shows it.",
)
reason_option = click.option("--reason", help="Why, for the log and the certificate.")


@study_command(
    "correct",
    "mislid study correct potency 3 0.91 --reason 'decimal point forgotten'",
    "mislid study correct potency --row 17 0.44",
    signed=True,
)
@click.argument("words", nargs=-1, metavar="[TRIAL] VALUE")
@row_option
@reason_option
def correct_command(
    study: Study, words: tuple[str, ...], row: int | None, reason: str | None, form: str
) -> None:
    """Replace the value of TRIAL of study NAME by VALUE.

    The log keeps both. A decision that no longer holds is withdrawn, and decided again from the
    corrected data. Correct what is wrong, not what is unwelcome: that would undo the guarantee.
    """
    if len(words) != (1 if row is not None else 2):
        raise click.UsageError("give TRIAL and VALUE, or --row ROW and VALUE")
    value = as_value(words[-1])
    trial = None if row is not None else as_trial(words[0])
    _change(form, study, lambda: study.correct(trial, value, row=row, reason=reason))


@study_command(
    "void",
    "mislid study void potency 3 --reason 'plate dropped'",
    "mislid study void potency --row 17",
)
@click.argument("trial", required=False)
@row_option
@reason_option
def void_command(
    study: Study, trial: str | None, row: int | None, reason: str | None, form: str
) -> None:
    """Discard the measurement of TRIAL of study NAME; `correct` brings it back.

    The log keeps it. A decision that no longer holds is withdrawn.
    """
    if (trial is None) == (row is None):
        raise click.UsageError("give TRIAL, or --row ROW")
    which = None if trial is None else as_trial(trial)
    _change(form, study, lambda: study.void(which, row=row, reason=reason))


@study_command(
    "redeclare",
    "mislid study redeclare potency --misspecification 0.8",
    "mislid study redeclare potency --noise 0.5 --reason 'replicates of plate 2'",
)
@click.option(
    "--misspecification", type=click.FloatRange(0), help="Largest deviation from linearity."
)
@click.option("--noise", type=float, help="Standard deviation of a measurement.")
@reason_option
def redeclare_command(
    study: Study,
    misspecification: float | None,
    noise: float | None,
    reason: str | None,
    form: str,
) -> None:
    """Continue study NAME under another misspecification, or another noise.

    No measurement is lost: the decision is made again from all of them.
    """
    if misspecification is None and noise is None:
        raise click.UsageError("give --misspecification, --noise, or both")
    given: Any = {"misspecification": misspecification, "noise": noise, "reason": reason}
    _change(form, study, lambda: study.redeclare(**given))


@study_command(
    "accept",
    "mislid study what-if potency",
    "mislid study accept potency --misspecification 0.3",
)
@click.option(
    "--misspecification",
    type=click.FloatRange(0),
    help="Up to which the answer is wanted; by default as far as it is proved.",
)
@reason_option
def accept_command(
    study: Study, misspecification: float | None, reason: str | None, form: str
) -> None:
    """Take the present answer of study NAME, proved for every misspecification up to some value.

    What `mislid study what-if` says of misspecifications holds for all of them at once, so one may
    look first, as often as one likes.
    """
    _change(form, study, lambda: study.accept(misspecification, reason=reason))


@study_command("add", "mislid study add potency --candidates plate2.csv --reason 'second delivery'")
@table_options
@reason_option
def add_command(study: Study, reason: str | None, form: str, **table: Any) -> None:
    """Ask about the candidates in FILE as well, which has the same columns as for `create`.

    No measurement is lost. A decision is withdrawn until the new candidates are compared.
    """
    given = read_candidates(**table).arguments()
    _change(form, study, lambda: study.add_candidates(**given, reason=reason))


@study_command(
    "retire",
    "mislid study retire potency cmpd-7 --reason 'used up'",
    "mislid study retire potency cmpd-7 --leave --reason 'no longer sold'",
)
@click.argument("candidate")
@flag("--leave", "It leaves the question; by default it stays in the comparison with what it has.")
@reason_option
def retire_command(
    study: Study, candidate: str, leave: bool, reason: str | None, form: str
) -> None:
    """Measure CANDIDATE of study NAME no more."""
    label = study.candidates.called(candidate)
    if label not in study.candidates.positions and (
        hint := did_you_mean(candidate, study.candidates.labels)
    ):
        raise click.UsageError(f"the study has no candidate {candidate!r}{hint}")
    _change(form, study, lambda: study.retire(label, leave=leave, reason=reason))


def _change(form: str, study: Study, change: Callable[[], Any]) -> None:
    """Change the study, and print how it stands."""
    events = len(study.events())
    change()
    added = study.events()[events:]
    withdrawn = study.overview().withdrawn
    new = [one for one in withdrawn if added and one.sequence >= added[0].sequence]
    facts = {"changed": bool(added), "withdrawn": bool(new), **after(study)}
    lines = [("changed", "yes" if added else "no: it was so before"), *after_words(study)]
    if new:
        again = "made anew" if study.status == "decided" else "there is none now"
        lines.append(("decision", f"withdrawn, and {again}"))
    print_facts(form, facts, lines)
