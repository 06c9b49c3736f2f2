"""Options that commands share, each declared once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mislid.errors import MislidError, MissingPackageError

if TYPE_CHECKING:
    from mislid.model import Instance

F = TypeVar("F", bound=Callable[..., Any])


def setting(name: str, kind: Any, default: Any, text: str, **more: Any) -> Callable[[F], F]:
    """An option with a default, which its help shows."""
    return click.option(name, type=kind, default=default, show_default=True, help=text, **more)


def flag(option: str, text: str, *name: str) -> Callable[[F], F]:
    """An option without a value."""
    return click.option(option, *name, is_flag=True, help=text)


def file_option(
    option: str, text: str, metavar: str = "FILE", *name: str, **more: Any
) -> Callable[[F], F]:
    """An option that names a file."""
    return click.option(option, *name, metavar=metavar, type=click.Path(), help=text, **more)


def all_of(*options: Any) -> Callable[[F], F]:
    """Several options as one decorator; help lists them in this order."""

    def decorated(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def new_picture(picture: str, option: str) -> Path:
    """Check, before anything is computed, that a picture can be drawn and written."""
    from mislid.io import new_place

    place = new_place(picture, option, ".png", ".svg")
    if find_spec("matplotlib") is None:
        raise MissingPackageError(f"{option} needs matplotlib (pip install 'mislid[plots]')")
    return place


file_argument = click.argument("file", type=click.Path())
seed_option = setting("--seed", click.IntRange(0), 0, "Of all random numbers.")
quiet_option = flag("--quiet", "No progress bar, nothing but results and errors.")


def format_option(default: str = "table") -> Callable[[F], F]:
    """--format."""
    forms = click.Choice(["table", "json", "csv"])
    text = "How to print the result."
    return click.option(
        "--format", "form", type=forms, default=default, show_default=True, help=text
    )


def m_option(*, required: bool = True) -> Callable[[F], F]:
    """--m."""
    text = "How many of the best to find."
    return click.option("--m", type=click.IntRange(1), required=required, help=text)


def question_options(*, changes: bool = False) -> Callable[[F], F]:
    """--m, --misspecification, --delta and --tolerance; none is required for `changes`."""
    delta, tolerance = (None, None) if changes else (0.05, 0.0)
    return all_of(
        m_option(required=not changes),
        click.option(
            "--misspecification",
            type=click.FloatRange(0),
            help="Largest deviation of the means from linearity in the features, inf for no "
            f"structure{'' if changes else '; by default what the file declares'}.",
        ),
        setting("--delta", click.FloatRange(0, 0.5, min_open=True), delta, "Error rate."),
        setting(
            "--tolerance",
            click.FloatRange(0),
            tolerance,
            "How much worse than the m-th best one of the answer may be.",
        ),
    )


def rule_options(*more: str) -> Callable[[F], F]:
    """--algorithm and --stopping; `more` rules to stop by."""
    from mislid.algorithms import algorithm_names
    from mislid.stopping.rules import STOPPING_RULES

    names = algorithm_names()
    unproven = [name for name, rule in STOPPING_RULES.items() if not rule.guaranteed]
    return all_of(
        setting(
            "--algorithm",
            click.Choice(names),
            "mislid",
            f"What chooses: {', '.join(names)}; oracle needs means that are known.",
            metavar="NAME",
        ),
        setting(
            "--stopping",
            click.Choice([*STOPPING_RULES, *more]),
            "guaranteed",
            f"When to stop; {' and '.join([*unproven, *more])} come with no proof.",
        ),
    )


data_option = click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="The data directory; by default what MISLID_DATA names, else a cache directory.",
)


def output_folder_option(text: str, **more: Any) -> Callable[[F], F]:
    """--output, a directory."""
    kind = click.Path(file_okay=False)
    return click.option("--output", metavar="DIR", type=kind, help=text, **more)


instance_options = all_of(
    file_argument,
    question_options(),
    click.option(
        "--noise",
        type=click.FloatRange(0, min_open=True),
        help="Standard deviation of rewards, for all arms; by default the file's own, or 1.",
    ),
    format_option(),
)
worker_options = all_of(
    seed_option,
    setting("--jobs", click.IntRange(1), 1, "Number of processes."),
    click.option("--dask", metavar="ADDRESS", help="Use the cluster of this Dask scheduler."),
)


def noise_of(text: str | None) -> Any:
    """The value of `noise=` in an option: a number, LOW:HIGH, or a word.

    >>> noise_of("0.2"), noise_of("0:1"), noise_of("unknown")
    (0.2, (0.0, 1.0), 'unknown')
    """
    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        return (float(low), float(high)) if colon else float(text)
    except ValueError:
        return text


def examples(*calls: str) -> str:
    """The end of a help text: one call per line."""
    return "\b\nExamples:\n" + "\n".join(f"  {call}" for call in calls)


def load(file: str, misspecification: float | None, noise: float | None) -> Instance:
    """Read an instance."""
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
    if address is None:
        return nullcontext()
    if jobs > 1:
        raise click.UsageError(f"only one of --jobs and --dask may be given; got --jobs {jobs}")
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError("--dask needs dask (pip install 'mislid[dask]')") from None
    try:
        return Client(address, timeout=5)
    except (OSError, ValueError) as problem:
        reason = str(problem).partition("\n")[0]
        raise MislidError(f"no Dask scheduler answers at {address!r}: {reason}") from None


def progress_bar(quiet: bool, **options: Any) -> Any:
    """A tqdm bar on stderr, where it is wanted and tqdm is there; None otherwise."""
    if quiet or find_spec("tqdm") is None:
        return None
    from tqdm import tqdm

    return tqdm(dynamic_ncols=True, **options)
