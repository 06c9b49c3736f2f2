"""What commands share: options, the instance, warnings and errors of one sentence."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mislid.errors import Interrupted, MislidError
from mislid.rules.stopping import STOPPING_RULES

if TYPE_CHECKING:
    from mislid.model import Instance

F = TypeVar("F", bound=Callable[..., Any])

UNPROVEN = [name for name, rule in STOPPING_RULES.items() if not rule.guaranteed]


def examples(*calls: str) -> str:
    """The end of a help text: calls, each in a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {call}" for call in calls)


def format_option(default: str = "table") -> Callable[[F], F]:
    """--format."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv"]),
        default=default,
        show_default=True,
        help="How to print the result.",
    )


def m_option(*, required: bool = True) -> Callable[[F], F]:
    """--m."""
    return click.option(
        "--m", type=click.IntRange(1), required=required, help="How many of the best to find."
    )


def question_options(*, changes: bool = False) -> Callable[[F], F]:
    """--m, --misspecification, --delta and --tolerance.

    Where they are `changes` of a question, what is left out stays as it is.
    """

    def default(value: float) -> dict[str, Any]:
        return {} if changes else {"default": value, "show_default": True}

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
        click.option(
            "--delta",
            type=click.FloatRange(0, 0.5, min_open=True),
            help="Error rate.",
            **default(0.05),
        ),
        click.option(
            "--tolerance",
            type=click.FloatRange(0),
            help="How much better than one of the answer another may be.",
            **default(0.0),
        ),
    )


def rule_options(command: F) -> F:
    """--algorithm and --stopping."""
    return _with(
        command,
        click.option(
            "--algorithm",
            default="mislid",
            show_default=True,
            help="What chooses: mislid, mislid-paper, mislid-authors, mislid-authors-tricks, "
            "mislid-authors-greedy, lingape, lingifa, lucb, lucb-authors, lingame, uniform or, "
            "where the means are known, oracle.",
        ),
        click.option(
            "--stopping",
            type=click.Choice(list(STOPPING_RULES)),
            default="guaranteed",
            show_default=True,
            help=f"When to stop; {' and '.join(UNPROVEN)} come with no guarantee.",
        ),
    )


seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all random numbers."
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


def quiet_option(help: str = "No progress bar.") -> Callable[[F], F]:  # noqa: A002
    """--quiet."""
    return click.option("--quiet", is_flag=True, help=help)


def instance_options(command: F) -> F:
    """FILE, --m, --misspecification, --delta, --tolerance, --noise and --format."""
    return _with(
        command,
        click.argument("file", type=click.Path()),
        question_options(),
        click.option(
            "--noise",
            type=click.FloatRange(0, min_open=True),
            help="Standard deviation of rewards, for all arms; by default the file's own, or 1.",
        ),
        format_option(),
    )


def worker_options(command: F) -> F:
    """--seed, --jobs and --dask: the random numbers of many runs, and who does them."""
    return _with(
        command,
        seed_option,
        click.option(
            "--jobs",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="Number of processes.",
        ),
        click.option(
            "--dask", metavar="ADDRESS", help="Do the runs on the cluster of this scheduler."
        ),
    )


def _with(command: F, *options: Callable[[F], F]) -> F:
    """The command with options, listed in this order by its help."""
    for option in reversed(options):
        command = option(command)
    return command


def load(file: str, misspecification: float | None, noise: float | None) -> Instance:
    """Read the instance, with warnings as one line on stderr."""
    from mislid.model import load_instance

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        instance = load_instance(file, misspecification, noise=noise)
    for warning in caught:
        click.echo(f"Warning: {warning.message}.", err=True)
    return instance


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

    return guarded  # type: ignore[return-value]  # it takes and gives what `function` does


def sentence(problem: Exception) -> str:
    """The message, with where it happened."""
    notes = " ".join(getattr(problem, "__notes__", []))
    return f"{problem} ({notes})." if notes else f"{problem}."
