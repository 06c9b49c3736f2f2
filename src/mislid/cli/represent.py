"""`mislid represent`: from observations to an instance, with the price of every choice."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import (
    file_argument,
    file_option,
    flag,
    format_option,
    m_option,
    new_picture,
    progress_bar,
    quiet_option,
    seed_option,
    setting,
)
from mislid.cli.output import as_csv, as_json, as_table, number
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.paper.representation import Choice, Representation

_HEADING = (
    "kept first", "d", "error", "least", "condition", "initial", "whitened", "time", "least",
)  # fmt: skip
_LEGEND = """\
error: largest absolute error of the network's own linear model; least: of the best one
initial: pulls before the first decision in the paper's analysis, and after whitening
time: characteristic time in a tube as wide as error, and as least"""


def _sizes(_: Any, __: Any, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of sizes such as 256,256") from None


def _cell(_: Any, __: Any, text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    column, equals, value = text.partition("=")
    if not (column and equals):
        raise click.BadParameter(f"{text!r} is not of the form COLUMN=VALUE")
    return column, value


@click.command("represent")
@file_argument
@click.option("--target", required=True, metavar="COLUMN", help="Column of the rewards.")
@m_option()
@click.option("--name", metavar="COLUMN", help="Column of the candidates' names; by default name.")
@click.option(
    "--group",
    "groups",
    metavar="COLUMN",
    multiple=True,
    help="A column that is no feature, such as patients or dates; may be repeated.",
)
@click.option(
    "--where",
    metavar="COLUMN=VALUE",
    callback=_cell,
    help="Only such lines make candidates; the network learns from all.",
)
@click.option(
    "--d", type=click.IntRange(1), help="Number of features to keep; by default all, without loss."
)
@click.option(
    "--within",
    type=click.FloatRange(0),
    help="In place of --d: as few features as keep the misspecification at most so large.",
)
@setting(
    "--order",
    click.Choice(["variance", "prediction"]),
    "variance",
    "Which directions are kept: the largest spread, or the predictions first.",
)
@flag("--whiten", "Scale features to the same spread: no loss.")
@setting("--noise", click.FloatRange(0, min_open=True), 1.0, "Standard deviation of rewards.")
@setting(
    "--hidden",
    str,
    "256,256",
    "Units of the network's layers before the last.",
    callback=_sizes,
    metavar="SIZES",
)
@setting("--width", click.IntRange(1), 8, "Units of the last layer.")
@setting(
    "--test-size",
    click.FloatRange(0, 1, min_open=True, max_open=True),
    0.2,
    "Share of the lines that the network is tested on.",
)
@setting(
    "--split",
    click.Choice(["rows", "candidates"]),
    "rows",
    "What is drawn for the test: single lines, or all lines of a candidate.",
)
@setting(
    "--epochs",
    click.IntRange(1),
    200,
    "Most passes over the lines; fewer where the loss no longer falls.",
)
@seed_option
@click.option(
    "--output", metavar="FILE.npz", help="Where the instance goes; by default FILE.npz, here."
)
@file_option("--picture", "Where to save a picture of the choices.", "FILE.png|svg")
@format_option()
@quiet_option
def command(
    file: str,
    target: str,
    m: int,
    d: int | None,
    within: float | None,
    order: Any,
    whiten: bool,
    noise: float,
    output: str | None,
    picture: str | None,
    form: str,
    quiet: bool,
    **rest: Any,
) -> None:
    """Learn a linear representation of the candidates in FILE.csv, print what each number of
    features costs, and save an instance for `mislid run`.

    FILE.csv has a heading and one line per observation: numbers, and the reward in the column of
    --target. Lines with the same name are one candidate, whose mean reward is their average.
    """
    from mislid._validation import as_top_m
    from mislid.io import new_place
    from mislid.paper.representation import learn, read_observations

    place = new_place(output or f"{Path(file).stem}.npz", "--output", ".npz", ".csv")
    columns = {name: rest.pop(name) for name in ("name", "groups", "where")}
    seen = read_observations(file, target=target, **columns)
    as_top_m(m, len(seen.means))
    _check_sizes(d, within, rest)
    shown = None if picture is None else new_picture(picture, "--picture")
    with _training(file, rest["epochs"], quiet) as progress:
        learned = learn(
            seen.X,
            seen.y,
            candidates=seen.candidates,
            means=seen.means,
            names=seen.names,
            progress=progress,
            **rest,
        )
    kept = learned.reduce(d, within=within, order=order, whiten=whiten)
    kept.to_instance(noise=noise).save(place)
    if not quiet:
        click.echo(f"Weighing {2 * learned.rank} choices ...", err=True)
    choices = learned.trade_off(m, noise=noise)
    if shown is not None:
        from mislid.plotting import draw_trade_off, save

        save(draw_trade_off(choices), shown)
    facts: dict[str, Any] = {
        "observations": len(seen.y),
        "columns": len(seen.columns),
        "candidates": learned.K,
        "epochs": learned.epochs,
        "r2_train": learned.r2_train,
        "r2_test": learned.r2_test,
        "test_lines": len(learned.tested),
        "rank": learned.rank,
        "m": choices.m,
        "choices": [asdict(choice) for choice in choices.choices],
        "unstructured_time": choices.unstructured,
        "saved": {"d": kept.d, "misspecification": kept.misspecification},
    }
    if form == "json":
        click.echo(as_json(facts))
    elif form == "csv":
        rows = facts["choices"]
        click.echo(as_csv(list(rows[0]), [list(row.values()) for row in rows]))
    else:
        table = as_table([_HEADING, *map(_cells, choices.choices)], texts=1)
        click.echo(f"{as_table(_head(facts))}\n\n{table}\n\n{_LEGEND}")
    click.echo(f"\nSaved. Next:\n{_next(place, m, kept)}", err=True)


def _head(facts: dict[str, Any]) -> list[tuple[str, str]]:
    tested = f"{facts['r2_train']:.3f}, {facts['r2_test']:.3f} ({facts['test_lines']:,} lines)"
    saved = facts["saved"]
    return [
        ("observations, columns", f"{facts['observations']:,}, {facts['columns']}"),
        ("candidates, rank", f"{facts['candidates']}, {facts['rank']}"),
        ("epochs", str(facts["epochs"])),
        ("R^2 in training, in test", tested),
        ("time without features", number(facts["unstructured_time"])),
        ("saved", f"d = {saved['d']}, misspecification {number(saved['misspecification'])}"),
    ]


def _cells(choice: Choice) -> tuple[str, ...]:
    numbers = (
        choice.misspecification,
        choice.least_misspecification,
        choice.condition,
        choice.pulls,
        choice.white_pulls,
        choice.time,
        choice.least_time,
    )
    return choice.order, str(choice.d), *map(number, numbers)


def _next(place: Path, m: int, kept: Representation) -> str:
    """Commands that take the instance."""
    file, name = shlex.quote(str(place)), shlex.quote(place.stem)
    simulate = f"  mislid run {file} --m {m}"
    is_csv = place.suffix.lower() == ".csv"
    if is_csv and kept.names is None:
        return simulate  # a study needs names of candidates in its first column
    columns = " --ignore mean --noise noise" if is_csv else ""
    storage = shlex.quote(f"{place.stem}.db")
    # The misspecification is that of the features as they were learned.
    return (
        f"{simulate}\nor, to measure for real:\n  mislid study create {name} --storage {storage} "
        f"--candidates {file} --m {m}{columns} --no-intercept"
    )


def _check_sizes(d: int | None, within: float | None, recipe: dict[str, Any]) -> None:
    """Refuse before the training what can be refused then."""
    if d is not None and within is not None:
        raise ProblemError(f"d or within must be given, not both; got {d} and {within:g}")
    most = recipe["width"] + 1
    if d is not None and d > most:
        raise ProblemError(f"d must be at most {most} with width={recipe['width']}; got {d}")


@contextmanager
def _training(file: str, epochs: int, quiet: bool) -> Iterator[Any]:
    """A progress bar; errors name the file."""
    bar = progress_bar(quiet, total=epochs, unit="epoch")

    def show(epoch: int, _: int, loss: float) -> None:
        if bar is not None:
            bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
            bar.update(epoch - bar.n)

    try:
        yield show
    except ProblemError as problem:
        problem.add_note(f"X and y are the features and rewards of {file!r}")
        raise
    finally:
        if bar is not None:
            bar.close()
