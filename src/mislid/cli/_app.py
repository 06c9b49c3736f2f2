"""The commands, each loaded when it is called, so that `mislid --help` is instant."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from mislid import __version__

_COMMANDS = {
    "run": "Identify the m best arms of an instance, many times.",
    "bound": "Samples that any method needs, and the allocation that attains it.",
    "reproduce": "The paper's experiments, beside the published numbers.",
    "data": "Fetch the paper's data, and say where they are.",
    "represent": "Learn a linear representation of raw data and save it as an instance.",
    "demo": "The main job on an embedded instance, with a picture.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"mislid.cli.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(
                f"command must be one of {', '.join(_COMMANDS)}; got {args[0]!r}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="mislid")
def app(**_: Any) -> None:
    """Which m of K candidates are best, from few noisy measurements, when a linear model of them
    is useful but wrong by a bounded amount.
    """
