"""`mislid study`: the group, and what its commands share: storages, studies and changes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import did_you_mean, shown, without_password
from mislid.cli.app import LazyGroup
from mislid.cli.options import all_of, examples, format_option, option
from mislid.cli.output import print_facts
from mislid.errors import (
    FileFormatError,
    MislidError,
    ProblemError,
    StorageError,
    UnknownStudyError,
)

if TYPE_CHECKING:
    from mislid.io import Sheet
    from mislid.study import Study
    from mislid.study.storage import Storage

STORAGE = "MISLID_STORAGE"
NO_PROOF = "no proof"


@click.group(
    "study",
    cls=LazyGroup,
    places={
        "create": ("question", "Begin a study of the candidates in a file."),
        "ask": ("trials", "What to measure next, also as a sheet for the lab."),
        "tell": ("trials", "Report results, one at a time or by a filled-in sheet."),
        "import": ("trials", "Add measurements that were not asked for."),
        "correct": ("trials", "Replace a wrong value."),
        "void": ("trials", "Discard a measurement."),
        "redeclare": ("question", "Declare another misspecification or noise; keep data."),
        "accept": ("question", "Take the present answer, proved up to some misspecification."),
        "add": ("question", "Add candidates; keep data."),
        "retire": ("question", "Measure a candidate no more, or exclude it."),
        "status": ("answers", "Progress, the pair that limits it, and the forecast."),
        "result": ("answers", "The answer and its evidence; with --now the best so far."),
        "estimates": ("answers", "The mean of each candidate, with an interval."),
        "what-if": ("answers", "Other misspecifications, error rates or tolerances."),
        "verify": ("manage", "Check a certificate, without the study."),
        "export": ("manage", "Measurements, events, certificate or an HTML report."),
        "check": ("manage", "Check the seals and events of the log."),
        "list": ("manage", "The studies in a storage."),
        "delete": ("manage", "Delete a study, for good."),
    },
    epilog=examples(
        "export MISLID_STORAGE=lab.db",
        "mislid study create potency --candidates compounds.csv --m 3 --noise 0.2",
        "mislid study ask potency -n 8 --worker lab-1 --csv plate.csv",
        "mislid study tell potency --csv plate.csv",
        "mislid study status potency",
        "mislid study result potency",
    ),
)
def study_command() -> None:
    """Measure for real: what to measure next, when to stop, and the answer.

    A study lives in a storage, named by --storage or MISLID_STORAGE: a file such as lab.db, or
    postgresql://user@host/database. Any number of people and programs may work on it.
    """


storage_option = option(
    "--storage",
    str,
    "Where the study is: a file such as lab.db, or postgresql://user@host/database; by default "
    f"what {STORAGE} names.",
    envvar=STORAGE,
)
reason_option = option("--reason", str, "Why, for the log and the certificate.")


class Signed(click.Command):
    """A command whose arguments may be negative numbers, which click takes for options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a space in front of negative numbers."""
        signed = [f" {word}" if re.match(r"-\.?[0-9]", word) else word for word in args]
        return super().parse_args(ctx, signed)


def on_study(
    name: str, *calls: str, signed: bool = False, form: str = "table"
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command about study NAME, which gets it open, with --storage, --format and examples."""

    def made(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def opened(name: str, storage: str | None, **options: Any) -> Any:
            with open_study(name, storage) as study:
                return function(study, **options)

        kind = Signed if signed else click.Command
        named = all_of(click.argument("name"), storage_option)(format_option(form)(opened))
        return click.command(name, kind, epilog=examples(*calls))(named)

    return made


def trial_number(text: str) -> int:
    """The number of a trial, in an argument or a cell."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ProblemError(f"trial must be the number of one that was asked; got {shown(text, 40)}")
    return int(text)


def refuse_unknown_column(table: Sheet, option: str, heading: str) -> None:
    """Refuse a column, named by an option, that a file does not have."""
    if not table.has(heading):
        raise FileFormatError(
            f"{option} must be a column of {table.path!r}, one of "
            f"{', '.join(map(repr, table.headings))}; got {heading!r}"
            f"{did_you_mean(heading, table.headings)}"
        )


@contextmanager
def open_storage(address: str | None, *, new: bool = False) -> Iterator[Storage]:
    """The storage at this address, closed at the end; a file is made only where `new`."""
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
    with open_storage(address) as storage:
        from mislid.study import load_study

        try:
            study = load_study(study_name=name, storage=storage)
        except UnknownStudyError as problem:
            raise UnknownStudyError(f"{problem}{did_you_mean(name, storage.names())}") from None
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
    """Refuse the address of a file that is not there: a mistyped name must not make a new one."""
    name = str(place).removeprefix("sqlite:///").partition("?")[0]
    if "://" not in name and not Path(name).exists():
        raise ProblemError(
            f"storage must be there; got {without_password(place)!r}, no such file: check the "
            "name, or make it with `mislid study create`"
        )


def is_proven(status: str, stopping: str) -> bool:
    """Whether the answer of a study is, or will be, proven."""
    from mislid.stopping.rules import stopping_rule_called

    return status != "contradicted" and stopping_rule_called(stopping).guaranteed


def print_change(form: str, study: Study, facts: dict[str, Any], lines: Any) -> None:
    """Print a change of a study, and how the study stands."""
    samples, status = study.samples, study.status
    proven = is_proven(status, study.settings.stopping)
    unproven = "" if proven or status == "running" else f", {NO_PROOF}"
    facts = {**facts, "samples": samples, "status": status, "proven": proven}
    lines = [*lines, ("measurements", samples), ("status", f"{status}{unproven}")]
    print_facts(form, facts, lines)


def record_change(form: str, study: Study, change: Callable[[], Any]) -> None:
    """Change a study, and print whether that changed anything and how it stands."""
    events = len(study.events())
    change()
    withdrawn = any(one.sequence > events for one in study.overview().withdrawn)
    facts = {"changed": len(study.events()) > events, "withdrawn": withdrawn}
    lines = [("changed", "yes" if facts["changed"] else "no: it was so before")]
    if withdrawn:
        again = "made again" if study.status == "decided" else "there is none now"
        lines.append(("decision", f"withdrawn, and {again}"))
    print_change(form, study, facts, lines)
