"""Storages and studies that commands open, and arguments that they share."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import shown as quoted
from mislid._formatting import without_password
from mislid.cli.options import all_of, examples, format_option, warnings_as_lines
from mislid.cli.output import did_you_mean
from mislid.errors import MislidError, ProblemError, StorageError, UnknownStudyError

if TYPE_CHECKING:
    from mislid.study import Study
    from mislid.study.storage import Storage

STORAGE = "MISLID_STORAGE"
NO_PROOF = "no proof"
# Exit statuses of `status` and `result`.
UNDECIDED, CONTRADICTED = 3, 4

storage_option = click.option(
    "--storage",
    metavar="ADDRESS",
    envvar=STORAGE,
    help="Where the study is: a file such as lab.db, or postgresql://user@host/database; "
    f"by default what {STORAGE} names.",
)


class Signed(click.Command):
    """A command whose arguments may be negative numbers, which click takes for options."""

    ignore_unknown_options = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse two dashes that begin no option and are no option's value."""
        known = {
            option: isinstance(each, click.Option) and not each.is_flag
            for each in self.get_params(ctx)
            for option in (*each.opts, *each.secondary_opts)
        }
        words = iter(args)
        for word in words:
            option, equals, _ = word.partition("=")
            if word == "--":
                break
            if known.get(option) and not equals:
                next(words, None)
            elif option.startswith("--") and option not in known:
                raise click.NoSuchOption(option, possibilities=list(known), ctx=ctx)
        return super().parse_args(ctx, args)


def study_command(
    name: str, *calls: str, signed: bool = False, form: str = "table"
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command about study NAME, which it is given open, with --storage, --format and examples.

    Where it is `signed`, arguments may be negative numbers.
    """

    def made(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def opened(name: str, storage: str | None, **options: Any) -> Any:
            with open_study(name, storage) as study:
                return function(study, **options)

        kind = Signed if signed else click.Command
        named = all_of(click.argument("name"), storage_option)(format_option(form)(opened))
        return click.command(name, kind, epilog=examples(*calls))(named)

    return made


def trial_number(cell: str) -> int:
    """The number of a trial, in an argument or a cell."""
    if not re.fullmatch(r"[0-9]{1,18}", cell):
        raise ProblemError(
            f"trial must be the number of one that was asked; got {quoted(cell, 40)}"
        )
    return int(cell)


def as_trial(text: str) -> int:
    """The argument TRIAL."""
    try:
        return trial_number(text)
    except ProblemError as problem:
        raise click.UsageError(str(problem)) from None


def as_value(text: str) -> float:
    """The argument VALUE."""
    from mislid.io import decimal

    value = decimal(text.strip())
    if isinstance(value, str):
        raise click.UsageError(f"VALUE: {value}")
    return value


@contextmanager
def open_storage(address: str | None, *, new: bool = False) -> Iterator[Storage]:
    """The storage at this address, closed at the end; only where `new`, a file may be made."""
    from mislid.study.storage import as_storage

    place = as_address(address)
    if not new:
        _check_exists(place)
    try:
        storage = as_storage(place)
    except (MislidError, OSError):
        raise
    except Exception as problem:  # noqa: BLE001 - of drivers, which have their own classes
        said = without_password(str(problem).partition("\n")[0])
        raise StorageError(
            f"storage {without_password(place)!r} cannot be opened: check the address ({said})"
        ) from None
    try:
        yield storage
    finally:
        storage.close()


@contextmanager
def open_study(name: str, address: str | None) -> Iterator[Study]:
    """The study of this name."""
    with open_storage(address) as storage, warnings_as_lines():
        from mislid.study import list_studies, load_study

        try:
            study = load_study(study_name=name, storage=storage)
        except UnknownStudyError as problem:
            names = [line.name for line in list_studies(storage=storage)]
            raise UnknownStudyError(f"{problem}{did_you_mean(name, names)}") from None
        yield study


def as_address(address: str | None) -> str | Path:
    """An address, or a path to a file; a wrong call without either."""
    if not address:
        raise click.UsageError(
            f"a storage is needed: give --storage, or set {STORAGE}, such as lab.db or "
            "postgresql://user@host/database"
        )
    return address if "://" in address else Path(address)


def _check_exists(place: str | Path) -> None:
    """A mistyped name must not make a new file."""
    file = place if isinstance(place, Path) else _file(place)
    if file is not None and not file.exists():
        raise ProblemError(
            f"storage must be there; got {without_password(place)!r}, no such file: check the "
            "name, or make it with `mislid study create`"
        )


def _file(address: str) -> Path | None:
    """The file of an SQLite address, where it names one.

    >>> _file("sqlite:////data/lab.db").as_posix(), _file("postgresql://host/lab")
    ('/data/lab.db', None)
    """
    name = address.removeprefix("sqlite:///").partition("?")[0]
    plain = address.startswith("sqlite:///") and name and not name.startswith((":", "file:"))
    return Path(name) if plain else None


def after(study: Study) -> dict[str, Any]:
    """How a study stands after a change."""
    from mislid.stopping.rules import stopping_rule_called

    status = study.status
    proven = status != "contradicted" and stopping_rule_called(study.settings.stopping).guaranteed
    return {"samples": study.samples, "status": status, "proven": proven}


def after_words(study: Study) -> list[tuple[str, str]]:
    """The same as rows of a table."""
    facts = after(study)
    proven = facts["proven"] or facts["status"] == "running"
    status = facts["status"] if proven else f"{facts['status']}, {NO_PROOF}"
    return [("measurements", str(facts["samples"])), ("status", status)]


def outside(value: float, reward_range: tuple[float, float] | None) -> str | None:
    """What is wrong with a value outside the declared range."""
    low, high = reward_range or (-math.inf, math.inf)
    if low <= value <= high:
        return None
    return f"a value must be from {low:g} to {high:g}, as was declared; got {value!r}"
