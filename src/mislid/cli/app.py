"""The groups `mislid` and `mislid study`, which load a command when it is called, and errors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from mislid import __version__
from mislid._formatting import without_password
from mislid.cli.options import examples
from mislid.errors import Interrupted, MislidError


class LazyGroup(click.Group):
    """A group of commands in several modules.

    `places` has the module and the summary of each command; `what-if` is `what_if_command` there.
    """

    def __init__(
        self, *arguments: Any, places: Mapping[str, tuple[str, str]], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.places = places

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command; refuses a misspelt one with those that are close."""
        if args[0] not in self.places:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.places, ctx=ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in their order."""
        return list(self.places)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Load a command."""
        if name not in self.places:
            return None
        module = import_module(f"mislid.cli.{self.places[name][0]}")
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.places.items()])


@click.group(
    cls=LazyGroup,
    places={
        "run": ("run", "Identify the m best arms of an instance, many times."),
        "bound": ("run", "Samples that any method needs, and the optimal allocation."),
        "study": ("app", "Real measurements: what to measure next, when to stop, the answer."),
        "serve": ("answers", "Show studies in a browser, and to programs over HTTP."),
        "reproduce": ("paper", "Run the paper's experiments beside the published numbers."),
        "data": ("paper", "Download the paper's data."),
        "demo": ("paper", "Identify the best of an embedded instance, with a picture."),
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="mislid")
def app(**_: Any) -> None:
    """Find which m of K candidates are best, from few noisy measurements, when a linear model of
    them is useful but wrong by a bounded amount.
    """


@click.group(
    "study",
    cls=LazyGroup,
    places={
        "create": ("question", "Begin a study of the candidates in a file."),
        "ask": ("trials", "What to measure next, also as a sheet for the lab."),
        "tell": ("trials", "Report results, one at a time or by a filled-in sheet."),
        "import": ("trials", "Add measurements that were not asked for."),
        "correct": ("trials", "Replace a wrong value."),
        "void": ("trials", "Discard a measurement."),
        "redeclare": ("question", "Declare another misspecification or noise; keep data."),
        "add": ("question", "Add candidates; keep data."),
        "retire": ("question", "Measure a candidate no more, or exclude it."),
        "status": ("answers", "Progress, the pair that limits it, and the forecast."),
        "result": ("answers", "The answer and its evidence; with --now the best so far."),
        "estimates": ("answers", "The mean of each candidate, with an interval."),
        "what-if": ("answers", "Other misspecifications, error rates or tolerances."),
        "verify": ("answers", "Check a certificate, without the study."),
        "export": ("answers", "Measurements, events, certificate or an HTML report."),
        "check": ("answers", "Check the seals and events of the log."),
        "list": ("answers", "The studies in a storage."),
        "delete": ("question", "Delete a study, for good."),
    },
    epilog=examples(
        "export MISLID_STORAGE=lab.db",
        "mislid study create potency --candidates compounds.csv --m 3 --noise 0.2",
        "mislid study ask potency -n 8 --worker lab-1 --csv plate.csv",
        "mislid study tell potency --csv plate.csv",
        "mislid study status potency",
        "mislid study result potency",
    ),
)
def study_command() -> None:
    """Measure for real: what to measure next, when to stop, and the answer.

    A study lives in a storage, named by --storage or MISLID_STORAGE: a file such as lab.db, or
    postgresql://user@host/database. Any number of people and programs may work on it.
    """


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; warnings and errors are one sentence each on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: click.echo(f"Warning: {message}.", err=True)
        try:
            status = app.main(arguments, prog_name="mislid", standalone_mode=False)
            return status if isinstance(status, int) else 0
        except click.ClickException as problem:
            problem.show()
            return problem.exit_code
        except click.Abort as ended:
            cause = ended.__cause__
            interrupted = isinstance(cause, Interrupted)
            click.echo(f"Error: {cause}." if interrupted else "Aborted.", err=True)
            return 1
        except Exception as problem:
            message = _explain(problem)
            if message is None:
                raise
            click.echo(f"Error: {message}", err=True)
            return 1


def _explain(problem: Exception) -> str | None:
    """One sentence about an expected exception; None for a bug in this package."""
    if isinstance(problem, MislidError | OSError):
        return sentence(problem)
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this: ask about fewer candidates or less data."
    if isinstance(problem, ModuleNotFoundError) and problem.name:
        return f"this needs {problem.name} (pip install 'mislid[all]')."
    packages = {kind.__module__.partition(".")[0] for kind in type(problem).__mro__}
    if packages & {"sqlalchemy", "sqlite3", "psycopg"}:
        said = without_password(str(problem).partition("\n")[0])
        return f"the storage does not work: {said}; check it, or restore a copy."
    from mislid.engine.view import BLAME

    if any(note.startswith(BLAME) for note in getattr(problem, "__notes__", ())):
        return f"{type(problem).__name__}: {sentence(problem)}"
    return None


def sentence(problem: Exception) -> str:
    """The message of an exception, with its notes."""
    notes = " ".join(getattr(problem, "__notes__", []))
    text = f"{problem} ({notes})" if notes else str(problem)
    return text if text.endswith("?") else f"{text}."
