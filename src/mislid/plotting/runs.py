"""Samples of many runs, one box per algorithm (the content of the paper's Figure 1)."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid._formatting import shown
from mislid._validation import Vector, as_number
from mislid.errors import ProblemError
from mislid.plotting import theme
from mislid.simulation.replicate import Row, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More dots than these would make a drawing in vectors unwieldy.
MANY = 50
# Letters of a name in one line, half the height of a box, and where the columns of text end, in
# points right of the axes.
LONGEST, BOX = 32, 0.26
COLUMNS = (30, 90, 132)
_RULE = "groups must hold at least one algorithm, each with runs as replicate_rows gives them"


def plot_runs(
    axes: Axes,
    groups: Mapping[str, Sequence[Row]],
    delta: float,
    *,
    dashed: Collection[str] = (),
) -> None:
    """Boxes of the samples that runs took, one line per algorithm, with every run as a grey dot.

    Boxes hold the middle half, whiskers the 5th to the 95th percentile, a diamond the mean. Number
    of runs, mean and error rate stand to the right; where the rate exceeds delta, name and box are
    red.

    Parameters
    ----------
    axes
        Where to draw.
    groups
        Finished runs by the name of their algorithm; the first is at the top.
    delta
        The error rate that was asked for.
    dashed
        Names of groups with empty dashed boxes, such as runs of others.

    Raises
    ------
    ProblemError
        Where there is no group or one without runs, where `delta` is not between 0 and 1, where
        `dashed` is no list of names, or where `axes` are not one axes of matplotlib.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> runs = [Row(run, 100 + run, True, "stopped", 0.1) for run in range(5)]
    >>> axes = Figure().subplots()
    >>> plot_runs(axes, {"mislid": runs}, delta=0.05)
    >>> [text.get_text() for text in axes.texts][3:]
    ['5', '102', '0.0%']
    """
    theme.refuse_other_axes(axes)
    theme.refuse_other_lists(groups, Row, _RULE)
    delta = as_number(delta, "delta", low=0, high=1, low_open=True, high_open=True)
    _refuse_no_names(dashed)
    samples = [np.array([row.samples for row in rows], dtype=float) for rows in groups.values()]
    errors = [summarise(rows).error_rate for rows in groups.values()]
    colours = [theme.CONTRAST if error > delta else theme.BEST for error in errors]
    for at, (name, values, colour) in enumerate(zip(groups, samples, colours, strict=True)):
        _draw_dots(axes, at, values)
        _draw_box(axes, at, values, colour, empty=name in dashed)
    theme.scale(axes, "x", np.concatenate(samples).tolist(), room=None)
    _write_columns(axes, samples, errors)
    axes.set_yticks(range(len(groups)), [fill(str(name), LONGEST) for name in groups])
    for label, colour in zip(axes.get_yticklabels(), colours, strict=True):
        label.set_color(colour if colour == theme.CONTRAST else theme.INK)
    # The first group is at the top, below the columns' headings.
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_xlabel("samples until stopping")
    note = f"red: wrong more often than {delta:.3g}"
    axes.set_title(note, fontsize=9, fontweight="normal", loc="left")
    axes.grid(axis="x", color=theme.REST, alpha=0.25, lw=0.6)
    axes.set_axisbelow(True)
    theme.tidy(axes)


def height_of(groups: int) -> float:
    """Inches that so many groups need."""
    return 1.0 + 0.42 * groups


def save_runs(
    path: str | os.PathLike[str], groups: Mapping[str, Sequence[Row]], delta: float
) -> None:
    """`plot_runs` as a .png or .svg file, whole or not at all.

    Parameters
    ----------
    path
        Where it goes.
    groups, delta
        As in `plot_runs`.

    Raises
    ------
    FileFormatError, ProblemError, MissingPackageError
        As in `plot_runs` and `save`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mislid import Instance, Model
    >>> from mislid.simulation.replicate import replicate_rows
    >>> instance = Instance(Model([[1.0], [2.0]], misspecification=0.1), [1.0, 2.0])
    >>> names = ("mislid", "uniform")
    >>> runs = {name: replicate_rows(instance, 1, runs=5, algorithm=name) for name in names}
    >>> with TemporaryDirectory() as folder:
    ...     save_runs(f"{folder}/runs.svg", runs, delta=0.05)
    ...     text = Path(folder, "runs.svg").read_text()
    >>> "samples until stopping" in text and "uniform" in text
    True
    """
    theme.refuse_other_lists(groups, Row, _RULE)
    with theme.drawing():
        figure = theme.new_figure(height_of(len(groups)))
        plot_runs(figure.subplots(), groups, delta)
    theme.save(figure, path)


def _refuse_no_names(dashed: Any) -> None:
    if isinstance(dashed, str) or not isinstance(dashed, Collection):
        raise ProblemError(f"dashed must be a list of names; got {shown(dashed)}")


def _draw_dots(axes: Axes, at: int, values: Vector) -> None:
    """Dots above each other where many are alike, the same in every picture."""
    upwards = np.random.default_rng(at).uniform(-0.3, 0.3, values.size)
    size = 14 if values.size <= 200 else 5
    dots = axes.scatter(values, at + upwards, s=size, color=theme.REST, alpha=0.5, lw=0, zorder=1)
    dots.set_rasterized(values.size > MANY)


def _draw_box(axes: Axes, at: int, values: Vector, colour: str, *, empty: bool) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    least, low, middle, high, most = np.percentile(values, (5, 25, 50, 75, 95))
    box = Rectangle(
        (low, at - BOX),
        high - low,
        2 * BOX,
        facecolor=to_rgba(colour, 0.0 if empty else 0.18),
        edgecolor=colour,
        linewidth=1.4,
        linestyle="--" if empty else "-",
        zorder=2,
    )
    axes.add_patch(box)
    axes.hlines([at, at], [least, high], [low, most], color=colour, lw=1.1, zorder=2)
    axes.vlines([least, most], at - BOX / 2, at + BOX / 2, color=colour, lw=1.1, zorder=2)
    axes.vlines([middle], at - BOX, at + BOX, color=colour, lw=1.4, zorder=2)
    axes.plot([values.mean()], [at], "D", ms=6, mfc=theme.PAPER, mec=colour, mew=1.6, zorder=4)


def _write_columns(axes: Axes, samples: list[Vector], errors: list[float]) -> None:
    """Runs, mean and error rate of every group, right of the axes."""
    rows = [("runs", "mean", "wrong")] + [
        (f"{values.size:,}", f"{values.mean():,.0f}", f"{error:.1%}")
        for values, error in zip(samples, errors, strict=True)
    ]
    for line, cells in enumerate(rows, start=-1):
        for place, text in zip(COLUMNS, cells, strict=True):
            axes.annotate(
                text,
                (1.0, line + (0.25 if line < 0 else 0.0)),
                (place, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8.5,
                color=theme.INK if line >= 0 else theme.GREY,
                annotation_clip=False,
            )
