"""Which storage, which study: options, and how they are opened; arguments that commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mislid._words import without_password
from mislid.cli.options import F, examples, warnings_as_lines
from mislid.errors import MislidError, ProblemError, StorageError

if TYPE_CHECKING:
    from mislid.study import Study
    from mislid.study.storage import Storage

STORAGE = "MISLID_STORAGE"

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
        """Refuse two dashes that begin no option, and are no option's value."""
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
            if option in known:
                if known[option] and not equals:
                    next(words, None)
            elif option.startswith("--"):
                near = get_close_matches(option, known)
                raise click.NoSuchOption(option, possibilities=near, ctx=ctx)
        return super().parse_args(ctx, args)


def study_command(name: str, *calls: str, signed: bool = False) -> Callable[[F], click.Command]:
    """A command about study NAME in --storage, with examples; `signed` as above."""
    kind = Signed if signed else click.Command

    def made(function: F) -> click.Command:
        named = click.argument("name")(storage_option(function))
        return click.command(name, kind, epilog=examples(*calls))(named)

    return made


def as_trial(text: str) -> int:
    """The argument TRIAL."""
    from mislid.cli.study._sheets import trial_number

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


def sheet_option(text: str) -> Callable[[F], F]:
    """--csv, or --sheet."""
    kind = click.Path()
    return click.option("--csv", "--sheet", "sheet", metavar="FILE", type=kind, help=text)


@contextmanager
def open_storage(address: str | None, *, new: bool = False) -> Iterator[Storage]:
    """The storage at this address, closed at the end; only where `new`, a file may be made."""
    from mislid.study.storage import as_storage

    place = as_address(address)
    if not new:
        refuse_missing(place)
    with one_sentence_about(place):
        storage = as_storage(place)
    try:
        yield storage
    finally:
        storage.close()


@contextmanager
def one_sentence_about(place: str | Path) -> Iterator[None]:
    """Drivers have their own ways to refuse an address."""
    try:
        yield
    except (MislidError, OSError):
        raise
    except Exception as problem:  # noqa: BLE001 - whatever it is, the address is to blame
        said = without_password(str(problem).partition("\n")[0])
        raise StorageError(
            f"storage {without_password(place)!r} cannot be opened: check the address ({said})"
        ) from None


@contextmanager
def open_study(name: str, address: str | None) -> Iterator[Study]:
    """The study of this name."""
    with open_storage(address) as storage, warnings_as_lines():
        from mislid.study import load_study

        yield load_study(study_name=name, storage=storage)


def as_address(address: str | None) -> str | Path:
    """An address, or a path to a file; a wrong call without either."""
    if not address:
        raise click.UsageError(
            f"a storage is needed: give --storage, or set {STORAGE}, such as lab.db or "
            "postgresql://user@host/database"
        )
    return address if "://" in address else Path(address)


def refuse_missing(place: str | Path) -> None:
    """A mistyped name must not make a new file."""
    file = place if isinstance(place, Path) else _file(place)
    if file is not None and not file.exists():
        raise ProblemError(
            f"storage must be there; got {without_password(place)!r}, no such file: check the "
            "name, or make it with `mislid study create`"
        )


def _file(address: str) -> Path | None:
    """The file of an SQLite address, where that is plain to see.

    >>> _file("sqlite:////data/lab.db").as_posix(), _file("postgresql://host/lab")
    ('/data/lab.db', None)
    """
    name = address.removeprefix("sqlite:///").partition("?")[0]
    plain = address.startswith("sqlite:///") and name and not name.startswith((":", "file:"))
    return Path(name) if plain else None
