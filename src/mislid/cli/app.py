"""The commands, each loaded when it is called, so that `--help` is instant."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from mislid import __version__

_COMMANDS = {
    "run": "Identify the m best arms of an instance, many times.",
    "bound": "Samples that any method needs, and the allocation that attains it.",
    "study": "Measure for real: what to measure next, when to stop, and the answer.",
    "serve": "Studies in a browser, live, and for programs of any language.",
    "reproduce": "The paper's experiments, beside the published numbers.",
    "data": "Fetch the paper's data, and say where they are.",
    "represent": "Learn a linear representation of raw data and save it as an instance.",
    "demo": "The main job on an embedded instance, with a picture.",
}


class LazyGroup(click.Group):
    """Commands by name, with what they do; module `home.name` has each as `command`.

    Where a module has several commands, `modules` names it for each of them: there `what-if` is
    `what_if_command`.
    """

    def __init__(
        self,
        *arguments: Any,
        home: str,
        summaries: Mapping[str, str],
        modules: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.home, self.summaries, self.modules = home, summaries, modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in their order."""
        return list(self.summaries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Load a command."""
        if name not in self.summaries:
            return None
        attribute = f"{name.replace('-', '_')}_command" if name in self.modules else "command"
        module = import_module(f"{self.home}.{self.modules.get(name, name)}")
        command: click.Command = getattr(module, attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was called."""
        if args[0] not in self.summaries and not args[0].startswith("-"):
            raise click.UsageError(
                f"command must be one of {', '.join(self.summaries)}; got {args[0]!r}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))


@click.group(
    cls=LazyGroup,
    home="mislid.cli",
    summaries=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="mislid")
def app(**_: Any) -> None:
    """Which m of K candidates are best, from few noisy measurements, when a linear model of them
    is useful but wrong by a bounded amount.
    """
