"""Samples of many runs, one box per algorithm (the content of the paper's Figure 1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from mislid._validation import Vector
from mislid.errors import ProblemError
from mislid.plotting import theme
from mislid.simulation.replicate import Row
from mislid.simulation.summary import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More dots than these would make a drawing in vectors unwieldy.
MANY = 50
# Letters of a name in one line, half the height of a box, and where the columns of text end, in
# points right of the axes.
LONGEST, BOX = 32, 0.26
COLUMNS = (30, 90, 132)


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
        Where there is no group, or one without runs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> runs = [Row(run, 100 + run, True, "stopped", 0.1) for run in range(5)]
    >>> axes = Figure().subplots()
    >>> plot_runs(axes, {"mislid": runs}, delta=0.05)
    >>> [text.get_text() for text in axes.texts][3:]
    ['5', '102', '0.0%']
    """
    if not groups or not all(groups.values()):
        raise ProblemError("groups must hold at least one algorithm, each with finished runs")
    samples = [np.array([row.samples for row in rows], dtype=float) for rows in groups.values()]
    errors = [summarise(rows).error_rate for rows in groups.values()]
    colours = [theme.CONTRAST if error > delta else theme.BEST for error in errors]
    for at, (name, values, colour) in enumerate(zip(groups, samples, colours, strict=True)):
        _draw_dots(axes, at, values)
        _draw_box(axes, at, values, colour, empty=name in dashed)
    theme.scale(axes, "x", np.concatenate(samples).tolist(), room=None)
    _write_columns(axes, samples, errors)
    axes.set_yticks(range(len(groups)), [fill(name, LONGEST) for name in groups])
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


def save_runs(path: Path, groups: Mapping[str, Sequence[Row]], delta: float) -> None:
    """`plot_runs` as a .png or .svg file, whole or not at all.

    Parameters
    ----------
    path
        Where it goes.
    groups, delta
        As in `plot_runs`.
    """
    with theme.drawing():
        figure = theme.new_figure(height_of(len(groups)))
        plot_runs(figure.subplots(), groups, delta)
    theme.save(figure, path)


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
