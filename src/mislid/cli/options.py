"""What commands share: options, the instance, warnings and errors of one sentence."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mislid._words import without_password
from mislid.errors import Interrupted, MislidError, MissingPackageError
from mislid.stopping.rules import RETIRED, STOPPING_RULES, retirement

if TYPE_CHECKING:
    from mislid.model import Instance

F = TypeVar("F", bound=Callable[..., Any])


def setting(name: str, kind: Any, default: Any, text: str, **more: Any) -> Callable[[F], F]:
    """An option with a default, which its help shows after the text."""
    return click.option(name, type=kind, default=default, show_default=True, help=text, **more)


def flag(option: str, text: str, *name: str) -> Callable[[F], F]:
    """An option without a value."""
    return click.option(option, *name, is_flag=True, help=text)


def file_option(option: str, text: str, metavar: str = "FILE", *name: str) -> Callable[[F], F]:
    """An option that names a file."""
    return click.option(option, *name, metavar=metavar, type=click.Path(), help=text)


def new_picture(picture: str, option: str) -> Path:
    """Where a picture goes, if one can be drawn and written; found out before anything is done."""
    from mislid.io import new_place

    place = new_place(picture, option, ".png", ".svg")
    if find_spec("matplotlib") is None:
        raise MissingPackageError(f"{option} needs matplotlib (pip install 'mislid[plots]')")
    return place


file_argument = click.argument("file", type=click.Path())
seed_option = setting("--seed", click.IntRange(0), 0, "Of all random numbers.")


def format_option(default: str = "table") -> Callable[[F], F]:
    """--format."""
    forms = click.Choice(["table", "json", "csv"])
    text = "How to print the result."
    return click.option(
        "--format", "form", type=forms, default=default, show_default=True, help=text
    )


def printed(default: str = "table") -> Callable[[F], F]:
    """--format, and errors of one sentence."""
    return lambda command: format_option(default)(one_sentence_errors(command))


def m_option(*, required: bool = True) -> Callable[[F], F]:
    """--m."""
    text = "How many of the best to find."
    return click.option("--m", type=click.IntRange(1), required=required, help=text)


def question_options(*, changes: bool = False) -> Callable[[F], F]:
    """--m, --misspecification, --delta and --tolerance.

    Where they are `changes` of a question, what is left out stays as it is.
    """
    option = _change if changes else setting
    declared = "" if changes else "; by default what the file declares"
    return lambda command: _with(
        command,
        m_option(required=not changes),
        click.option(
            "--misspecification",
            type=click.FloatRange(0),
            help="Largest deviation of the means from linearity in the features, inf for no "
            f"structure{declared}.",
        ),
        option("--delta", click.FloatRange(0, 0.5, min_open=True), 0.05, "Error rate."),
        option(
            "--tolerance",
            click.FloatRange(0),
            0.0,
            "How much worse than the m-th best one of the answer may be.",
        ),
    )


def _change(name: str, kind: Any, _default: float, text: str) -> Callable[[F], F]:
    return click.option(name, type=kind, help=text)


class StoppingChoice(click.Choice):  # type: ignore[type-arg]  # generic from click 8.2 on
    """Names of stopping rules; of retired ones stderr says what has taken their place."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The rule that is meant."""
        if value in RETIRED:
            click.echo(f"Warning: {retirement(value)}.", err=True)
            value = "guaranteed"
        return super().convert(value, param, ctx)


def rule_options(*more: str) -> Callable[[F], F]:
    """--algorithm and --stopping, with all that have a name, and `more` rules to stop by."""
    return lambda command: _with_rules(command, more)


def _with_rules(command: F, more: tuple[str, ...]) -> F:
    from mislid.algorithms import algorithm_names

    names = algorithm_names()
    unproven = [name for name, rule in STOPPING_RULES.items() if not rule.guaranteed]
    unproven += more
    return _with(
        command,
        setting(
            "--algorithm",
            click.Choice(names),
            "mislid",
            f"What chooses: {', '.join(names)}; oracle needs means that are known.",
            metavar="NAME",
        ),
        setting(
            "--stopping",
            StoppingChoice([*STOPPING_RULES, *more]),
            "guaranteed",
            f"When to stop; {', '.join(unproven[:-1])} and {unproven[-1]} come with no proof.",
        ),
    )


def data_option(otherwise: str = "") -> Callable[[F], F]:
    """--data; `otherwise` says what happens without data."""
    return click.option(
        "--data",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="The data directory; by default what MISLID_DATA names, else a cache directory."
        + otherwise,
    )


def output_folder_option(text: str, **more: Any) -> Callable[[F], F]:
    """--output, a directory."""
    kind = click.Path(file_okay=False)
    return click.option("--output", metavar="DIR", type=kind, help=text, **more)


def quiet_option(text: str = "No progress bar.") -> Callable[[F], F]:
    """--quiet."""
    return flag("--quiet", text)


def instance_options(command: F) -> F:
    """FILE, --m, --misspecification, --delta, --tolerance, --noise and --format."""
    return _with(
        command,
        file_argument,
        question_options(),
        click.option(
            "--noise",
            type=click.FloatRange(0, min_open=True),
            help="Standard deviation of rewards, for all arms; by default the file's own, or 1.",
        ),
        format_option(),
    )


def _as_assumed(_: Any, __: Any, value: str | None) -> float | str | None:
    """A number, or the name of a noise model; `identify` looks at it."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return value


assume_noise_option = click.option(
    "--assume-noise",
    metavar="WHAT",
    callback=_as_assumed,
    help="What the rules are told of the noise: another standard deviation, or unknown (Gaussian), "
    "unknown-equal (Gaussian, the same for all arms), bounded (values from 0 to 1) or bernoulli "
    "(0 or 1); the latter two are drawn so.",
)


def worker_options(command: F) -> F:
    """--seed, --jobs and --dask: the random numbers of many runs, and who does them."""
    return _with(
        command,
        seed_option,
        setting("--jobs", click.IntRange(1), 1, "Number of processes."),
        click.option(
            "--dask", metavar="ADDRESS", help="Do the runs on the cluster of this scheduler."
        ),
    )


def examples(*calls: str) -> str:
    """The end of a help text: calls, each in a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {call}" for call in calls)


def _with(command: F, *options: Callable[[F], F]) -> F:
    """The command with options, listed in this order by its help."""
    for option in reversed(options):
        command = option(command)
    return command


def load(file: str, misspecification: float | None, noise: float | None) -> Instance:
    """Read the instance."""
    from mislid.model import load_instance

    with warnings_as_lines():
        return load_instance(file, misspecification, noise=noise)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print warnings as one line each on stderr, at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in caught:
                click.echo(f"Warning: {warning.message}.", err=True)


def cluster(address: str | None, jobs: int) -> Any:
    """A client of the cluster at an address; no client without one."""
    from contextlib import nullcontext

    if address is None:
        return nullcontext()
    if jobs > 1:
        raise click.UsageError(f"only one of --jobs and --dask may be given; got --jobs {jobs}")
    try:
        from distributed import Client
    except ImportError:
        raise MislidError("--dask needs dask (pip install 'mislid[dask]')") from None
    try:
        return Client(address, timeout=5)
    except (OSError, ValueError) as problem:
        reason = str(problem).partition("\n")[0]
        raise MislidError(f"no Dask scheduler answers at {address!r}: {reason}") from None


def one_sentence_errors(function: F) -> F:
    """What went wrong, without a traceback; the exit status is 1."""

    @functools.wraps(function)
    def guarded(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except BrokenPipeError:
            # The reader has had enough; the interpreter must not complain of it either at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 1
        except Interrupted as interruption:
            raise click.ClickException(f"{interruption}.") from None
        except (MislidError, OSError) as problem:
            raise click.ClickException(sentence(problem)) from None
        except MemoryError:
            raise click.ClickException(
                "there is not enough memory for this: ask about fewer candidates or less data."
            ) from None
        except Exception as problem:
            if _is_of_rule(problem):
                raise click.ClickException(
                    f"{type(problem).__name__}: {sentence(problem)}"
                ) from None
            if not _is_of_database(problem):
                raise
            said = without_password(str(problem).partition("\n")[0])
            raise click.ClickException(
                f"the storage does not work as it should: {said}; check it, or restore a copy."
            ) from None

    return guarded  # type: ignore[return-value]  # it takes and gives what `function` does


def _is_of_rule(problem: Exception) -> bool:
    """Whether a rule that somebody else wrote is what went wrong."""
    from mislid.engine.view import BLAME

    return any(note.startswith(BLAME) for note in getattr(problem, "__notes__", ()))


def _is_of_database(problem: Exception) -> bool:
    """Whether a database, its driver or what speaks to it complains."""
    packages = {kind.__module__.partition(".")[0] for kind in type(problem).__mro__}
    return not packages.isdisjoint({"sqlalchemy", "sqlite3", "psycopg"})


def sentence(problem: Exception) -> str:
    """The message, with where it happened."""
    notes = " ".join(getattr(problem, "__notes__", []))
    return f"{problem} ({notes})." if notes else f"{problem}."
