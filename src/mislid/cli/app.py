"""The command `mislid`: groups of commands that load when called, and all errors as sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from mislid import __version__
from mislid._formatting import without_password
from mislid.cli.output import did_you_mean
from mislid.errors import Interrupted, MislidError

_COMMANDS = {
    "run": "Identify the m best arms of an instance, many times.",
    "bound": "Samples that any method needs, and the allocation that attains it.",
    "study": "Measure for real: what to measure next, when to stop, and the answer.",
    "serve": "Studies in a browser, live, and for programs of any language.",
    "reproduce": "The paper's experiments, beside the published numbers.",
    "data": "Fetch the paper's data, and show where they are.",
    "represent": "Learn a linear representation of raw data and save it as an instance.",
    "demo": "The main job on an embedded instance, with a picture.",
}


class LazyGroup(click.Group):
    """Commands with summaries; each is `command` in a module of its name.

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
                f"command must be one of {', '.join(self.summaries)}; got {args[0]!r}"
                f"{did_you_mean(args[0], self.summaries)}",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))


class _App(LazyGroup):
    """The outermost group, which turns exceptions into sentences with exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader has closed; the interpreter must not complain of it either at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 1
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Interrupted as interruption:
            raise click.ClickException(f"{interruption}.") from None
        except Exception as problem:
            said = _explained(problem)
            if said is None:
                raise
            raise click.ClickException(said) from None


def _explained(problem: Exception) -> str | None:
    """One sentence about an expected exception; None for a bug of ours."""
    if isinstance(problem, MislidError | OSError):
        return sentence(problem)
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this: ask about fewer candidates or less data."
    packages = {kind.__module__.partition(".")[0] for kind in type(problem).__mro__}
    if not packages.isdisjoint({"sqlalchemy", "sqlite3", "psycopg"}):
        said = without_password(str(problem).partition("\n")[0])
        return f"the storage does not work as it should: {said}; check it, or restore a copy."
    from mislid.engine.view import BLAME

    if any(note.startswith(BLAME) for note in getattr(problem, "__notes__", ())):
        return f"{type(problem).__name__}: {sentence(problem)}"
    return None


def sentence(problem: Exception) -> str:
    """The message, with its notes."""
    notes = " ".join(getattr(problem, "__notes__", []))
    text = f"{problem} ({notes})" if notes else str(problem)
    return text if text.endswith("?") else f"{text}."


@click.group(
    cls=_App,
    home="mislid.cli",
    summaries=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="mislid")
def app(**_: Any) -> None:
    """Which m of K candidates are best, from few noisy measurements, when a linear model of them
    is useful but wrong by a bounded amount.
    """
