"""`mislid study upgrade`: bring a storage of an older release up to date."""

from __future__ import annotations

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.study._opening import (
    as_address,
    one_sentence_about,
    refuse_missing,
    storage_option,
)
from mislid.cli.study._words import one, shown


@click.command(
    "upgrade",
    epilog=examples(
        "mislid study upgrade --storage lab.db",
        "mislid study upgrade --storage lab.db --backup before.db",
    ),
)
@storage_option
@click.option("--backup", metavar="FILE", type=click.Path(), help="Where the backup goes.")
@format_option
@one_sentence_errors
def command(storage: str | None, backup: str | None, form: str) -> None:
    """Bring the tables of a storage up to date with this release; a backup is made first. One that
    is up to date is left alone.
    """
    place = as_address(storage)
    refuse_missing(place)
    from mislid.study import upgrade_storage

    with one_sentence_about(place):
        report = upgrade_storage(place, backup=backup).to_dict()
    table = [
        ("storage", str(report["storage"])),
        ("schema", f"{report['before']}, now {report['after']}"),
        ("backup", shown(report["backup"])),
    ]
    if not report["changed"]:
        table[1:] = [("schema", f"{report['after']}, up to date")]
    click.echo(one(form, report, table))
