"""`mislid data`: fetch the paper's data, and say where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mislid.cli.options import data_option, one_sentence_errors, quiet_option

if TYPE_CHECKING:
    from mislid.paper.datasets import Collection

NAMES = ("instances", "published", "lastfm", "epilepsy")


@click.group("data")
def command() -> None:
    """Fetch the paper's data (instances, published, lastfm, epilepsy), and say where they are."""


@command.command("fetch")
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, type=click.Choice([*NAMES, "all"])
)
@data_option()
@quiet_option("No progress bar, licence or citation.")
@one_sentence_errors
def fetch_command(names: tuple[str, ...], data: str | None, quiet: bool) -> None:
    """Download and check the files of NAME (instances, published, lastfm, epilepsy or all), and
    print where they are. Files that are there and right stay as they are.
    """
    from mislid.paper.datasets import CATALOGUE, fetch

    for name in NAMES if "all" in names else dict.fromkeys(names):
        places = fetch(name, data, progress=not quiet)
        if not quiet:
            click.echo(_rights(CATALOGUE[name]), err=True)
        for place in places:
            click.echo(place)


@command.command("list")
@data_option()
@one_sentence_errors
def list_command(data: str | None) -> None:
    """Print what there is, and which of it the data directory has."""
    from mislid.cli.output import as_table
    from mislid.paper.datasets import CATALOGUE, data_directory

    folder = data_directory(data)
    rows = [
        (name, f"{_state(collection.is_complete(folder))}  {collection.contents}")
        for name, collection in CATALOGUE.items()
    ]
    click.echo(as_table(rows))


@command.command("path")
@click.argument("name", required=False, type=click.Choice(NAMES))
@data_option()
@one_sentence_errors
def path_command(name: str | None, data: str | None) -> None:
    """Print the data directory, or the files of NAME; these must be there."""
    from mislid.paper.datasets import CATALOGUE, data_directory, locate

    if name is None:
        click.echo(data_directory(data))
        return
    places = [locate(file.path, data) for file in CATALOGUE[name].files]
    for place in places:
        click.echo(place)


def _state(complete: bool) -> str:
    return "here   " if complete else "missing"


def _rights(collection: Collection) -> str:
    return (
        f"{collection.name}: {collection.contents}\n"
        f"  licence: {collection.licence}\n"
        f"  please cite: {collection.citation}"
    )
