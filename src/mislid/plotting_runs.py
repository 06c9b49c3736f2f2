"""Samples of many runs, one box per algorithm (after Figure 1 of the paper)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from mislid._validation import Vector
from mislid.errors import ProblemError
from mislid.simulation.replicate import Row
from mislid.simulation.summary import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FINE, OVER, DOT = "#2a7f9e", "#d1495b", "#9aa5b1"
# A linear axis hides boxes that are more than this many times smaller than the largest value.
SPREAD = 30.0
MANY = 50


def plot_runs(
    axes: Axes,
    groups: Mapping[str, Sequence[Row]],
    delta: float,
    *,
    dashed: Collection[str] = (),
) -> None:
    """Boxes of the samples that runs took, by algorithm, with every run as a grey dot.

    Boxes hold the middle half, whiskers the 5th to the 95th percentile, a diamond the mean, which
    is written beside it. Under each name stands the error rate; where it exceeds delta, name and
    box are red. Groups named in `dashed`, of others' runs for example, have empty dashed boxes.
    """
    if not groups or not all(groups.values()):
        raise ProblemError("groups must hold at least one algorithm, each with finished runs")
    samples = [np.array([row.samples for row in rows], dtype=float) for rows in groups.values()]
    errors = [summarise(rows).error_rate for rows in groups.values()]
    colours = [OVER if error > delta else FINE for error in errors]
    _draw_dots(axes, samples)
    _draw_boxes(axes, samples, colours, [name in dashed for name in groups])
    _draw_means(axes, samples, colours)
    labels = [
        f"{fill(name, 14)}\nwrong {error:.1%}" for name, error in zip(groups, errors, strict=True)
    ]
    axes.set_xticks(range(len(labels)), labels)
    for label, colour in zip(axes.get_xticklabels(), colours, strict=True):
        label.set_color(OVER if colour == OVER else "black")
    _scale(axes, np.concatenate(samples))
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylabel("samples until stopping")
    axes.set_title(f"{_count(samples)}; red: wrong more often than {delta:.3g}", fontsize=9)


def save_runs(path: Path, groups: Mapping[str, Sequence[Row]], delta: float) -> None:
    """`plot_runs` as a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.4 + 1.3 * len(groups), 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    plot_runs(axes, groups, delta)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def _draw_dots(axes: Axes, samples: list[Vector]) -> None:
    """Dots beside each other where many are alike, the same in every picture."""
    for at, values in enumerate(samples):
        sideways = np.random.default_rng(at).uniform(-0.28, 0.28, values.size)
        size = 14 if values.size <= 200 else 5
        dots = axes.scatter(at + sideways, values, s=size, color=DOT, alpha=0.5, lw=0, zorder=1)
        # Thousands of dots would make a drawing in vectors unwieldy.
        dots.set_rasterized(values.size > MANY)


def _draw_boxes(
    axes: Axes, samples: list[Vector], colours: list[str], dashed: Sequence[bool]
) -> None:
    drawn = axes.boxplot(
        samples,
        positions=range(len(samples)),
        widths=0.5,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        zorder=2,
    )
    for box, median, colour, empty in zip(
        drawn["boxes"], drawn["medians"], colours, dashed, strict=True
    ):
        box.set(facecolor=(*_rgb(colour), 0.0 if empty else 0.18), edgecolor=colour, linewidth=1.4)
        box.set_linestyle("--" if empty else "-")
        median.set(color=colour, linewidth=1.4)
    for name in ("whiskers", "caps"):
        for line, colour in zip(drawn[name], np.repeat(colours, 2), strict=True):
            line.set(color=colour, linewidth=1.1)


def _draw_means(axes: Axes, samples: list[Vector], colours: list[str]) -> None:
    for at, (values, colour) in enumerate(zip(samples, colours, strict=True)):
        mean = float(values.mean())
        axes.plot([at], [mean], "D", ms=6, mfc="white", mec=colour, mew=1.6, zorder=4)
        axes.annotate(
            f"{mean:,.0f}",
            (at + 0.29, mean),
            va="center",
            fontsize=8,
            color="black",
            zorder=5,
        )


def _scale(axes: Axes, values: Vector) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    positive = values[values > 0]
    if positive.size and positive.max() > SPREAD * positive.min():
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _count(samples: list[Vector]) -> str:
    counts = sorted({values.size for values in samples})
    if counts == [1]:
        return "1 run"
    return f"{counts[0]} runs" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} runs"


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return red, green, blue
