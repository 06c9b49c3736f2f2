"""Groups whose commands are loaded when they are called, so that `--help` is instant."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


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
