"""`mislid study add` and `retire`: candidates that come and go."""

from __future__ import annotations

from typing import Any

import click

from mislid.cli.options import flag, printed
from mislid.cli.study._opening import study_command
from mislid.cli.study.create import (
    candidates_option,
    cost_option,
    ignore_option,
    label_option,
    read_candidates,
)
from mislid.cli.study.mend import print_change, reason_option

informed_option = click.option(
    "--informed/--uninformed",
    default=True,
    show_default=True,
    help="Whether the choice may have to do with values of this study; a part of the error rate "
    "pays for it then.",
)


@study_command(
    "add",
    "mislid study add potency --candidates plate2.csv --reason 'second delivery'",
    "mislid study add potency --candidates plate2.csv --uninformed",
)
@candidates_option("As for `create`, with the same columns.")
@label_option
@ignore_option
@click.option(
    "--noise",
    metavar="NUMBER|COLUMN",
    help="Standard deviation of a measurement, where each candidate has its own.",
)
@cost_option
@informed_option
@reason_option
@printed()
def add_command(
    name: str,
    storage: str | None,
    noise: str | None,
    informed: bool,
    reason: str | None,
    form: str,
    **table: Any,
) -> None:
    """Ask about the candidates in FILE as well.

    No measurement is lost. A decision is withdrawn, and made anew once the new candidates are
    compared.
    """
    given = read_candidates(noise=noise, **table)
    arms = given.candidates()
    print_change(
        form,
        name,
        storage,
        lambda study: study.add_candidates(
            arms["candidates"],
            names=arms.get("names"),
            columns=arms.get("columns"),
            noise=given.noise,
            cost=given.cost,
            informed=informed,
            reason=reason,
        ),
    )


@study_command(
    "retire",
    "mislid study retire potency cmpd-7 --reason 'used up'",
    "mislid study retire potency cmpd-7 --leave --uninformed --reason 'no longer sold'",
)
@click.argument("arm")
@flag("--leave", "It leaves the question; by default it stays in the comparison with what it has.")
@informed_option
@reason_option
@printed()
def retire_command(
    name: str,
    arm: str,
    storage: str | None,
    leave: bool,
    informed: bool,
    reason: str | None,
    form: str,
) -> None:
    """Measure the candidate ARM of study NAME no more."""
    print_change(
        form,
        name,
        storage,
        lambda study: study.retire(
            study.candidates.called(arm), leave=leave, informed=informed, reason=reason
        ),
    )
