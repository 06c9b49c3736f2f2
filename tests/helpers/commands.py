"""All commands, by the words that call them."""

from collections.abc import Iterator

import click

from mislid.cli.app import app

Words = tuple[str, ...]


def every_command(
    command: click.Command = app, path: Words = ()
) -> Iterator[tuple[Words, click.Command]]:
    """The command, and where it is a group all that are in it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from every_command(found, (*path, name))
