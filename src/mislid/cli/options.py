"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

FILE, FOLDER = click.Path(), click.Path(file_okay=False)
POSITIVE, WHOLE = click.FloatRange(0, min_open=True), click.IntRange(1)


def option(
    name: str, kind: Any, text: str, default: Any = None, *names: str, **more: Any
) -> Callable[[F], F]:
    """An option with a value; help shows the default."""
    given = {"type": kind, "default": default, "show_default": True, "help": text, **more}
    return click.option(name, *names, **given)


def flag(name: str, text: str) -> Callable[[F], F]:
    """An option without a value."""
    return click.option(name, is_flag=True, help=text)


def all_of(*options: Any) -> Callable[[F], F]:
    """Several options as one decorator; help lists them in this order."""

    def decorated(command: F) -> F:
        for one in reversed(options):
            command = one(command)
        return command

    return decorated


def examples(*calls: str) -> str:
    """The end of a help text: one call per line."""
    return "\b\nExamples:\n" + "\n".join(f"  {call}" for call in calls)


def as_noise(text: str) -> Any:
    """The value of `noise=` in an option: a number, LOW:HIGH, or a word.

    >>> as_noise("0.2"), as_noise("0:1"), as_noise("unknown")
    (0.2, (0.0, 1.0), 'unknown')
    """
    low, colon, high = text.partition(":")
    try:
        return (float(low), float(high)) if colon else float(text)
    except ValueError:
        return text


file_argument = click.argument("file", type=FILE)
seed_option = option("--seed", click.IntRange(0), "Seed of all random numbers.", 0)
jobs_option = option("--jobs", WHOLE, "Number of processes.", 1)
quiet_option = flag("--quiet", "Print nothing but results and errors.")
data_option = option(
    "--data", FOLDER, "Data directory; by default what MISLID_DATA names, else a cache directory."
)


def format_option(default: str = "table") -> Callable[[F], F]:
    """--format."""
    forms = click.Choice(["table", "json", "csv"])
    return option("--format", forms, "How to print the result.", default, "form")


def question_options(*, changes: bool = False) -> Callable[[F], F]:
    """--m, --misspecification, --delta and --tolerance; none has a default for `changes`."""
    more = "" if changes else "; by default what the file declares"
    deviation = f"Largest deviation of the means from linearity, inf for no structure{more}."
    worst = "How much worse than the m-th best one of the answer may be."
    delta = click.FloatRange(0, 0.5, min_open=True)
    return all_of(
        option("--m", WHOLE, "How many of the best to find.", required=not changes),
        option("--misspecification", click.FloatRange(0), deviation),
        option("--delta", delta, "Error rate.", None if changes else 0.05),
        option("--tolerance", click.FloatRange(0), worst, None if changes else 0.0),
    )


def rule_options(*more: str) -> Callable[[F], F]:
    """--algorithm and --stopping; `more` names further stopping rules."""
    from mislid.algorithms import algorithm_names
    from mislid.stopping.rules import STOPPING_RULES

    names, rules = algorithm_names(), click.Choice([*STOPPING_RULES, *more])
    unproven = [name for name, rule in STOPPING_RULES.items() if not rule.guaranteed]
    sampling = f"Sampling rule: {', '.join(names)}; oracle needs known means."
    stopping = f"Stopping rule; {' and '.join([*unproven, *more])} come without proof."
    return all_of(
        option("--algorithm", click.Choice(names), sampling, "mislid", metavar="NAME"),
        option("--stopping", rules, stopping, "guaranteed"),
    )
