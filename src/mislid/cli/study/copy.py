"""`mislid study copy`: to another storage, or under another name."""

from __future__ import annotations

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.study._opening import (
    as_address,
    name_argument,
    open_storage,
    storage_option,
    without_password,
)
from mislid.cli.study._words import one


@click.command(
    "copy",
    epilog=examples(
        "mislid study copy potency --to backup.db",
        "mislid study copy potency --as rehearsal",
    ),
)
@name_argument
@storage_option
@click.option("--to", "target", metavar="ADDRESS", help="Storage; by default the same.")
@click.option("--as", "new_name", metavar="NAME", help="Its new name; by default the same.")
@format_option
@one_sentence_errors
def command(
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
    click.echo(one(form, facts, list(facts.items())))
