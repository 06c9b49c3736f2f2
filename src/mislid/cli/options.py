"""Command groups and shared options."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mislid import __version__
from mislid._formatting import did_you_mean, shown, without_password
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.study.storage import Storage

F = TypeVar("F", bound=Callable[..., Any])

FILE, FOLDER = click.Path(), click.Path(file_okay=False)
POSITIVE, WHOLE = click.FloatRange(0, min_open=True), click.IntRange(1)
STORAGE = "MISLID_STORAGE"


def option(
    name: str, kind: Any, text: str, default: Any = None, *names: str, **more: Any
) -> Callable[[F], F]:
    """An option with a value; its help shows the default."""
    given = {"type": kind, "default": default, "show_default": True, "help": text, **more}
    return click.option(name, *names, **given)


def flag(name: str, text: str) -> Callable[[F], F]:
    """An option without a value."""
    return click.option(name, is_flag=True, help=text)


def several(name: str, to: str, text: str) -> Callable[[F], F]:
    """An option that may be given several times."""
    return click.option(name, to, multiple=True, help=f"{text} May be repeated.")


def all_of(*options: Any) -> Callable[[F], F]:
    """One decorator for several options; help lists them in this order."""

    def decorated(command: F) -> F:
        for one in reversed(options):
            command = one(command)
        return command

    return decorated


def examples(*calls: str) -> str:
    """The end of a help text: one call per line."""
    return "\b\nExamples:\n" + "\n".join(f"  {call}" for call in calls)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="mislid")
def app(**_: Any) -> None:
    """Find which m of K candidates are best, from few noisy measurements.

    A linear model of the candidates may help, though it is wrong by a bounded amount.
    """


@app.group(
    "study",
    epilog=examples(
        "export MISLID_STORAGE=lab.db",
        "mislid study create potency --candidates compounds.csv --m 3 --noise 0.2",
        "mislid study ask potency -n 8 --worker lab-1 --csv plate.csv",
        "mislid study tell potency --csv plate.csv",
        "mislid study status potency",
        "mislid study result potency",
    ),
)
def study_group() -> None:
    """Run studies: real measurements until the best are known.

    A study lives in a storage, named by --storage or MISLID_STORAGE: a file such as lab.db, or
    postgresql://user@host/database. Any number of people and programs may work on it.
    """


class Names(click.ParamType[str]):
    """Names of rules, from a function that is called late, since it imports the rules."""

    name = "name"

    def __init__(self, known: Callable[[], Iterable[str]]) -> None:
        self.known = known

    def convert(self, value: str, param: click.Parameter | None, ctx: Any) -> str:
        """Refuse other names."""
        known = list(self.known())
        if value not in known:
            self.fail(f"{value!r} is not one of {', '.join(known)}{did_you_mean(value, known)}")
        return value


class RuleOption(click.Option):
    """An option whose help lists the names of rules."""

    type: Names

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Add the names of rules to the help of the option."""
        name, text = super().get_help_record(ctx) or ("", "")
        return name, f"{text} One of {', '.join(self.type.known())}."


def as_noise(text: str) -> Any:
    """The value of `noise=` from an option: a number, LOW:HIGH, or a word.

    >>> as_noise("0.2"), as_noise("0:1"), as_noise("unknown")
    (0.2, (0.0, 1.0), 'unknown')
    """
    low, colon, high = text.partition(":")
    try:
        return (float(low), float(high)) if colon else float(text)
    except ValueError:
        return text


def trial_number(text: str) -> int:
    """The number of a trial, from an argument or a cell."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ProblemError(f"trial must be the number of one that was asked; got {shown(text, 40)}")
    return int(text)


def _as_address(_: click.Context, __: click.Parameter, text: str | None) -> str | Path:
    """The address of a database, or the path to a file."""
    if not text:
        raise click.UsageError(
            f"a storage is needed: give --storage, or set {STORAGE}, such as lab.db or "
            "postgresql://user@host/database"
        )
    return text if "://" in text else Path(text)


file_argument = click.argument("file", type=FILE)
storage_argument = click.argument("storage", callback=_as_address)
storage_option = option(
    "--storage",
    str,
    f"lab.db or postgresql://user@host/database; by default what {STORAGE} names.",
    envvar=STORAGE,
    callback=_as_address,
)
reason_option = option("--reason", str, "Why, for the log and the certificate.")
seed_option = option("--seed", click.IntRange(0), "Seed of all random numbers.", 0)
runs_options = all_of(seed_option, option("--jobs", WHOLE, "Number of processes.", 1))
misspecification_option = option(
    "--misspecification",
    click.FloatRange(0),
    "Largest deviation of the means from linearity; inf for no structure.",
)


def format_option(default: str = "table") -> Callable[[F], F]:
    """The option --format."""
    forms = click.Choice(["table", "json", "csv"])
    return option("--format", forms, "How to print the result.", default, "form")


def question_options(*, changes: bool = False) -> Callable[[F], F]:
    """Options --m, --misspecification, --delta and --tolerance; `changes` removes defaults."""
    worst = "How much worse than the m-th best a candidate of the answer may be."
    delta = click.FloatRange(0, 0.5, min_open=True)
    return all_of(
        option("--m", WHOLE, "How many of the best to find.", required=not changes),
        misspecification_option,
        option("--delta", delta, "Error rate.", None if changes else 0.05),
        option("--tolerance", click.FloatRange(0), worst, None if changes else 0.0),
    )


def _algorithms() -> Iterable[str]:
    from mislid.algorithms import algorithm_names

    return algorithm_names()


def _stopping_rules() -> Iterable[str]:
    from mislid.stopping.rules import PUBLISHED_RULES, STOPPING_RULES

    return [*STOPPING_RULES, *PUBLISHED_RULES]


rule_options = all_of(
    option("--algorithm", Names(_algorithms), "Sampling rule.", "mislid", cls=RuleOption),
    option(
        "--stopping",
        Names(_stopping_rules),
        "Stopping rule; guaranteed and paper are proved. The glr rules are for `mislid run` alone.",
        "guaranteed",
        cls=RuleOption,
    ),
)


class Signed(click.Command):
    """A command whose arguments may be negative numbers, which click would read as options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a space in front of negative numbers."""
        signed = [f" {word}" if re.match(r"-\.?[0-9]", word) else word for word in args]
        return super().parse_args(ctx, signed)


def on_storage(
    name: str, *calls: str, kind: type[click.Command] = click.Command, form: str = "table"
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that receives an open storage, with --storage, --format and examples."""

    def made(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def opened(storage: str | Path, **options: Any) -> Any:
            with open_storage(storage) as place:
                return function(place, **options)

        given = all_of(storage_option, format_option(form))
        return study_group.command(name, cls=kind, epilog=examples(*calls))(given(opened))

    return made


def on_study(name: str, *calls: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that receives study NAME of a storage."""

    def made(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def opened(place: Storage, name: str, **options: Any) -> Any:
            from mislid.study import load_study

            return function(load_study(study_name=name, storage=place), **options)

        return on_storage(name, *calls, **more)(click.argument("name")(opened))

    return made


def open_storage(address: str | Path, *, new: bool = False) -> closing[Storage]:
    """The storage at this address, closed at the end; `new` allows a new file."""
    from mislid.study.storage import as_storage

    file = str(address).removeprefix("sqlite:///").partition("?")[0]
    if not new and "://" not in file and not Path(file).exists():
        raise ProblemError(
            f"storage must be there; got {without_password(str(address))!r}, no such file: check "
            "the name, or make it with `mislid study create`"
        )
    return closing(as_storage(address))
