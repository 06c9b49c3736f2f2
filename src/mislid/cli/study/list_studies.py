"""`mislid study list`: the studies in a storage."""

from __future__ import annotations

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.study._opening import open_storage, storage_option
from mislid.cli.study._words import NO_PROOF, is_proven, many, moment

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
@format_option
@one_sentence_errors
def command(storage: str | None, form: str) -> None:
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
                "guarantee": "proven" if is_proven(line.stopping) else NO_PROOF,
                "created": moment(line.created),
                "updated": moment(line.updated),
            }
            for line in list_studies(storage=place)
        ]
    if not rows:
        click.echo("There are no studies yet.", err=True)
    click.echo(many(form, rows, _COLUMNS, texts=2))
