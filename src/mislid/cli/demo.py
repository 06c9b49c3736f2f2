"""`mislid demo`: a first look."""

import click

from mislid.cli._common import one_sentence_errors


@click.command("demo")
@click.option("--picture", type=click.Path(dir_okay=False), help="Where to save the picture.")
@one_sentence_errors
def command(picture: str | None) -> int:
    """Do the main job on an embedded instance and save a picture; needs no data."""
    from mislid.demo import main

    return main([picture] if picture else [])
