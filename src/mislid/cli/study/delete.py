"""`mislid study delete`: for good."""

from __future__ import annotations

import sys

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.study._opening import name_argument, open_storage, storage_option
from mislid.cli.study._words import counted, one
from mislid.errors import MislidError


@click.command(
    "delete",
    epilog=examples(
        "mislid study delete rehearsal",
        "mislid study delete rehearsal --yes",
    ),
)
@name_argument
@storage_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option
@one_sentence_errors
def command(name: str, storage: str | None, yes: bool, form: str) -> None:
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
    click.echo(one(form, facts, [("deleted", f"{name}, {counted(size, 'event')}")]))


def _confirm(name: str, size: int) -> None:
    if not sys.stdin.isatty():
        raise MislidError(f"study {name!r} was not deleted: --yes says that you mean it")
    question = f"Delete study {name!r} and its {counted(size, 'event')}, for good?"
    if not click.confirm(question, err=True):
        raise MislidError(f"study {name!r} was not deleted")
