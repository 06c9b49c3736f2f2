"""`mislid study correct`, `void`, `redeclare` and `accept`: what changes a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import printed
from mislid.cli.study._opening import as_trial, as_value, open_study, study_command
from mislid.cli.study._words import after, after_words, print_facts

if TYPE_CHECKING:
    from collections.abc import Callable

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
@printed()
def correct_command(
    name: str,
    words: tuple[str, ...],
    storage: str | None,
    row: int | None,
    reason: str | None,
    form: str,
) -> None:
    """Put VALUE in the place of what TRIAL of study NAME was told.

    The log keeps both. A decision that no longer holds is withdrawn, and made anew from the mended
    data. Correct what is wrong, not what is unwelcome: that would undo the guarantee.
    """
    if len(words) != (1 if row is not None else 2):
        raise click.UsageError("give TRIAL and VALUE, or --row ROW and VALUE")
    value = as_value(words[-1])
    trial = None if row is not None else as_trial(words[0])
    print_change(
        form, name, storage, lambda study: study.correct(trial, value, row=row, reason=reason)
    )


@study_command(
    "void",
    "mislid study void potency 3 --reason 'plate dropped'",
    "mislid study void potency --row 17",
)
@click.argument("trial", required=False)
@row_option
@reason_option
@printed()
def void_command(
    name: str,
    trial: str | None,
    storage: str | None,
    row: int | None,
    reason: str | None,
    form: str,
) -> None:
    """Let the measurement of TRIAL of study NAME count no more; `correct` brings it back.

    The log keeps it. A decision that no longer holds is withdrawn.
    """
    if (trial is None) == (row is None):
        raise click.UsageError("give TRIAL, or --row ROW")
    which = None if trial is None else as_trial(trial)
    print_change(form, name, storage, lambda study: study.void(which, row=row, reason=reason))


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
@printed()
def redeclare_command(
    name: str,
    storage: str | None,
    misspecification: float | None,
    noise: float | None,
    reason: str | None,
    form: str,
) -> None:
    """Go on with study NAME under another misspecification, or another noise.

    No measurement is lost: the decision is made anew from all of them.
    """
    if misspecification is None and noise is None:
        raise click.UsageError("give --misspecification, --noise, or both")
    print_change(
        form,
        name,
        storage,
        lambda study: study.redeclare(
            misspecification=misspecification, noise=noise, reason=reason
        ),
    )


@study_command(
    "accept",
    "mislid study sensitivity potency",
    "mislid study accept potency --misspecification 0.3",
)
@click.option(
    "--misspecification",
    type=click.FloatRange(0),
    help="Up to which the answer is wanted; by default as far as it is proved.",
)
@reason_option
@printed()
def accept_command(
    name: str, storage: str | None, misspecification: float | None, reason: str | None, form: str
) -> None:
    """Take the present answer of study NAME, proved for every misspecification up to some value.

    What `mislid study sensitivity` says holds for all misspecifications at once, so one may look
    first, as often as one likes.
    """
    print_change(form, name, storage, lambda study: study.accept(misspecification, reason=reason))


def print_change(form: str, name: str, storage: str | None, mend: Callable[[Study], Any]) -> None:
    """Do it, and say what the study has come to."""
    with open_study(name, storage) as study:
        events = len(study.events())
        mend(study)
        added = study.events()[events:]
        withdrawn = study.overview().withdrawn
        new = [one for one in withdrawn if added and one.sequence >= added[0].sequence]
        facts = {"changed": bool(added), "withdrawn": bool(new), **after(study)}
        lines = [("changed", "yes" if added else "no: it was so before"), *after_words(study)]
        if new:
            again = "made anew" if study.status == "decided" else "there is none now"
            lines.append(("decision", f"withdrawn, and {again}"))
        print_facts(form, facts, lines)
