"""`mislid study list`, `copy`, `delete` and `check`: look after a storage."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mislid._words import moment, without_password
from mislid.cli.options import examples, flag, printed
from mislid.cli.study._opening import (
    as_address,
    open_storage,
    storage_option,
    study_command,
)
from mislid.cli.study._words import NO_PROOF, counted, print_facts, rows_text
from mislid.errors import MislidError

if TYPE_CHECKING:
    from mislid.study import StudySummary

# Exit status where a log does not hold.
BROKEN = 1
_COLUMNS = (
    "study",
    "status",
    "candidates",
    "m",
    "measurements",
    "pending",
    "stopping",
    "guarantee",
    "created",
    "updated",
)


@click.command(
    "list",
    epilog=examples(
        "mislid study list --storage lab.db",
        "mislid study list --storage postgresql://lab@server/studies --format json",
    ),
)
@storage_option
@printed()
def list_command(storage: str | None, form: str) -> None:
    """Print a line about every study in the storage."""
    with open_storage(storage) as place:
        from mislid.study import list_studies

        rows = [
            {
                "study": line.name,
                "status": line.status,
                "candidates": line.candidates,
                "m": line.m,
                "measurements": line.observations,
                "pending": line.pending,
                "stopping": line.stopping,
                "guarantee": "proven" if _is_proven(line) else NO_PROOF,
                "created": moment(line.created),
                "updated": moment(line.updated),
            }
            for line in list_studies(storage=place)
        ]
    if not rows:
        click.echo("There are no studies yet.", err=True)
    click.echo(rows_text(form, rows, _COLUMNS, texts=2))


def _is_proven(line: StudySummary) -> bool:
    from mislid.forecast.overview import is_proven

    return line.status != "contradicted" and is_proven(line.stopping)


@study_command(
    "copy",
    "mislid study copy potency --to backup.db",
    "mislid study copy potency --as rehearsal",
)
@click.option("--to", "target", metavar="ADDRESS", help="Storage; by default the same.")
@click.option("--as", "new_name", metavar="NAME", help="Its new name; by default the same.")
@printed()
def copy_command(
    name: str, storage: str | None, target: str | None, new_name: str | None, form: str
) -> None:
    """Copy study NAME with its whole log, to another storage, under another name, or both. The two
    go on apart.
    """
    if target is None and new_name is None:
        raise click.UsageError("give --to, --as or both")
    copied = new_name or name
    with open_storage(storage) as source:
        from mislid.study import copy_study

        source.find(name)  # before a file is made
        with open_storage(target or storage, new=True) as place:
            copy_study(
                from_study_name=name, from_storage=source, to_storage=place, to_study_name=copied
            )
    facts = {"study": copied, "storage": without_password(as_address(target or storage))}
    print_facts(form, facts, list(facts.items()))


@study_command(
    "delete",
    "mislid study delete rehearsal",
    "mislid study delete rehearsal --yes",
)
@flag("--yes", "Do not ask.")
@printed()
def delete_command(name: str, storage: str | None, yes: bool, form: str) -> None:
    """Delete study NAME and its log, for good. On a terminal you are asked first; elsewhere it
    takes --yes.
    """
    with open_storage(storage) as place:
        from mislid.study import delete_study

        size = len(place.read(place.find(name)))
        if not yes:
            _confirm(name, size)
        delete_study(study_name=name, storage=place)
    facts = {"deleted": name, "events": size}
    print_facts(form, facts, [("deleted", f"{name}, {counted(size, 'event')}")])


def _confirm(name: str, size: int) -> None:
    if not sys.stdin.isatty():
        raise MislidError(f"study {name!r} was not deleted: --yes says that you mean it")
    question = f"Delete study {name!r} and its {counted(size, 'event')}, for good?"
    if not click.confirm(question, err=True):
        raise MislidError(f"study {name!r} was not deleted")


@study_command("check", "mislid study check potency", "mislid study check potency --head 3f1c...")
@click.option("--head", metavar="SEAL", help="One that was written down: the log must have it.")
@printed()
def check_command(name: str, storage: str | None, head: str | None, form: str) -> int:
    """Check every seal and every event in the log of study NAME, and derive its decision anew from
    the measurements. Exit status 1, and what is wrong, if anything does not hold.
    """
    with open_storage(storage) as place:
        from mislid.study import check_study

        found = check_study(study_name=name, storage=place, head=head)
    table = [
        ("study", found.study),
        ("events", str(found.events)),
        ("measurements", str(found.samples)),
        ("decision", found.decision),
        ("head", found.head),
        ("log", "holds" if found.ok else "DOES NOT HOLD"),
        *(("problem", words) for words in found.problems),
    ]
    print_facts(form, found.to_dict(), table)
    return 0 if found.ok else BROKEN
