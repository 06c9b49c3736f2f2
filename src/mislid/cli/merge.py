"""`mislid merge`: join the directories of shards."""

from __future__ import annotations

import click

from mislid.cli.options import examples, format_option, one_sentence_errors, output_folder_option
from mislid.cli.run import show


@click.command("merge", epilog=examples("mislid merge results/* --output merged"))
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@output_folder_option("Where to write settings.json, runs.csv and figure.png.", required=True)
@click.option("--partial", is_flag=True, help="Also when runs are missing.")
@format_option()
@one_sentence_errors
def command(folders: tuple[str, ...], output: str, partial: bool, form: str) -> None:
    """Join the directories that `mislid run --shard` filled, and print what `mislid run` without
    shards would have printed. Directories of different settings are refused, and runs that are
    missing. A later `mislid run` with the same settings goes on from OUTPUT.
    """
    from mislid.simulation.ledger import merge

    rows, settings = merge(folders, output, partial=partial)
    show(rows, settings, output, form)
