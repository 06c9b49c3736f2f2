"""`mislid data`: fetch the paper's data, and show where they are."""

from __future__ import annotations

import click

from mislid.cli.options import data_option, quiet_option

NAMES = ("instances", "lastfm", "epilepsy")


@click.group("data")
def command() -> None:
    """Fetch the paper's data (instances, lastfm, epilepsy), and show where they are."""


@command.command("fetch")
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, type=click.Choice([*NAMES, "all"])
)
@data_option
@quiet_option
def fetch_command(names: tuple[str, ...], data: str | None, quiet: bool) -> None:
    """Download and check the files of NAME (instances, lastfm, epilepsy or all), and
    print where they are. Files that are there and right stay as they are.
    """
    from mislid.paper.datasets import CATALOGUE, fetch

    for name in NAMES if "all" in names else dict.fromkeys(names):
        places, found = fetch(name, data, progress=not quiet), CATALOGUE[name]
        if not quiet:
            rights = f"  licence: {found.licence}\n  please cite: {found.citation}"
            click.echo(f"{name}: {found.contents}\n{rights}", err=True)
        click.echo("\n".join(map(str, places)))


@command.command("list")
@data_option
def list_command(data: str | None) -> None:
    """Print what there is, and which of it the data directory has."""
    from mislid.cli.output import as_table
    from mislid.paper.datasets import CATALOGUE, data_directory

    folder = data_directory(data)
    rows = [
        (name, "here" if found.is_complete(folder) else "missing", found.contents)
        for name, found in CATALOGUE.items()
    ]
    click.echo(as_table(rows, texts=3))


@command.command("path")
@click.argument("name", required=False, type=click.Choice(NAMES))
@data_option
def path_command(name: str | None, data: str | None) -> None:
    """Print the data directory, or the files of NAME; these must be there."""
    from mislid.paper.datasets import CATALOGUE, data_directory, locate

    if name is None:
        click.echo(data_directory(data))
        return
    for file in CATALOGUE[name].files:
        click.echo(locate(file.path, data))
