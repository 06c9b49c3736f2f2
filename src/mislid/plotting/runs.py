"""Pictures of identifications: single runs, and boxes of many (the paper's Figure 1)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mislid._formatting import the_best
from mislid._validation import Vector, as_top_m, as_weights
from mislid.errors import ProblemError
from mislid.model import Instance
from mislid.plotting import theme
from mislid.plotting.theme import BEST, CONTRAST, GREY, INK, LINES, REST
from mislid.simulation.identify import Identification
from mislid.simulation.replicate import Row, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More dots than these would make a drawing in vectors too large.
MANY = 50
# A linear axis hides what is more than this many times smaller than the largest.
SPREAD = 30.0
# Letters of a name in one line, and half the height of a box.
LONGEST, BOX = 32, 0.26


def plot_counts(axes: Axes, instance: Instance, m: int, counts: npt.ArrayLike) -> None:
    """Bars of the measurements of every arm, the arm with the largest mean first.

    Parameters
    ----------
    axes
        Where to draw.
    instance
        The arms.
    m
        The number of arms in the answer; these are darker.
    counts
        Measurements of every arm (K,).

    Raises
    ------
    ProblemError
        If `m` or `counts` do not fit the instance.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mislid import Instance, Model
    >>> axes = Figure().subplots()
    >>> instance = Instance(Model([[1.0], [2.0]], misspecification=0.1), [1.0, 2.0])
    >>> plot_counts(axes, instance, 1, [10, 30])
    >>> [float(bar.get_height()) for bar in axes.patches]
    [30.0, 10.0]
    """
    m = as_top_m(m, instance.K)
    taken = as_weights(counts, instance.K, "counts")
    order = np.argsort(-instance.means, kind="stable")
    place = np.arange(order.size)
    axes.bar(place[:m], taken[order[:m]], color=BEST, label=the_best(m))
    axes.bar(place[m:], taken[order[m:]], color=REST, label="the others")
    even = taken.sum() / order.size
    axes.axhline(even, color=GREY, lw=0.9, ls="--", label=f"even share: {even:,.0f}")
    labels = [str(instance.label(int(arm))) for arm in order]
    axes.set_xticks(place.tolist(), labels)
    if max(map(len, labels)) > 2:
        for label in axes.get_xticklabels():
            label.set(rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlabel("arm, largest mean first")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("measurements")
    axes.legend()


def plot_proved(axes: Axes, runs: Mapping[str, Identification]) -> None:
    """How many comparisons of the answer with the other arms were proved, along runs.

    A comparison of an arm of the answer with another arm is proved when its evidence reaches the
    threshold. A run stops when all m (K - m) are.

    Parameters
    ----------
    axes
        Where to draw.
    runs
        Runs of one question by name; the first is drawn boldest. A run whose stopping rule settles
        no single pairs is a cross at its last measurement.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mislid import Instance, Model, identify
    >>> instance = Instance(Model([[1.0], [2.0]], misspecification=0.1), [1.0, 2.0])
    >>> found = identify(instance, 1)
    >>> axes = Figure().subplots()
    >>> plot_proved(axes, {"mislid": found})
    >>> int(axes.lines[1].get_xdata()[-1]) == found.samples
    True
    """
    question = next(iter(runs.values())).question
    pairs = question.m * (question.K - question.m)
    axes.axhline(pairs, color=GREY, lw=0.9, ls="--")
    for at, (name, found) in enumerate(runs.items()):
        end, times = found.samples, sorted(found.settled.values())
        label = f"{name}: {end:,}"
        if not times:
            axes.plot([end], [0.0], "X", color=CONTRAST, ms=8, clip_on=False, label=label)
            continue
        colour = LINES[at % len(LINES)]
        label += "" if found.status == "stopped" else ", not proved"
        proved = [0, *range(1, len(times) + 1), len(times)]
        (line,) = axes.plot([0, *times, end], proved, color=colour, label=label)
        line.set(drawstyle="steps-post", lw=2.4 if at == 0 else 1.6, zorder=3 if at == 0 else 2)
        axes.plot([end], [len(times)], "o", color=colour, ms=8, zorder=4)
    axes.set_xlim(0.0, 1.05 * max(found.samples for found in runs.values()))
    axes.set_ylim(0.0, 1.08 * pairs)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("measurements")
    axes.set_ylabel("comparisons proved")
    axes.text(0.0, pairs, f" all {pairs}: the answer is proved", va="bottom", color=GREY)
    axes.legend(loc="lower right", title="measurements until it stops")


def plot_runs(axes: Axes, groups: Mapping[str, Sequence[Row]], delta: float) -> None:
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

    Raises
    ------
    ProblemError
        If there is no group or one without runs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> runs = [Row(run, 100 + run, True, "stopped", 0.1) for run in range(5)]
    >>> axes = Figure().subplots()
    >>> plot_runs(axes, {"mislid": runs}, delta=0.05)
    >>> axes.child_axes[0].get_yticklabels()[0].get_text()
    '5 runs, mean 102, 0.0% wrong'
    """
    if not groups or not all(groups.values()):
        raise ProblemError("groups must hold at least one algorithm, and runs for each")
    samples = [np.array([row.samples for row in rows], dtype=float) for rows in groups.values()]
    errors = [summarise(rows).error_rate for rows in groups.values()]
    colours = [CONTRAST if error > delta else BEST for error in errors]
    for at, (values, colour) in enumerate(zip(samples, colours, strict=True)):
        _draw_box(axes, at, values, colour)
    _scale(axes, np.concatenate(samples))
    right = axes.secondary_yaxis("right")
    words = [
        f"{values.size:,} runs, mean {values.mean():,.0f}, {error:.1%} wrong"
        for values, error in zip(samples, errors, strict=True)
    ]
    right.set_yticks(range(len(groups)), words)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    axes.set_yticks(range(len(groups)), [fill(str(name), LONGEST) for name in groups])
    for label, colour in zip(axes.get_yticklabels(), colours, strict=True):
        label.set_color(colour if colour == CONTRAST else INK)
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_xlabel("samples until stopping")
    note = f"red: wrong more often than {delta:.3g}"
    axes.set_title(note, fontsize=9, fontweight="normal", loc="left")
    axes.grid(axis="x", color=REST, alpha=0.25, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def height_of(groups: int) -> float:
    """Inches that this many groups need."""
    return 1.0 + 0.42 * groups


def save_runs(
    path: str | os.PathLike[str], groups: Mapping[str, Sequence[Row]], delta: float
) -> None:
    """`plot_runs` as a .png or .svg file, whole or not at all.

    Parameters
    ----------
    path
        The file.
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
    with theme.drawing():
        figure = theme.new_figure(height_of(len(groups)))
        plot_runs(figure.subplots(), groups, delta)
    theme.save(figure, path)


def _scale(axes: Axes, samples: Vector) -> None:
    """A linear axis from 0, or a logarithmic one where samples are far apart."""
    from matplotlib.ticker import LogLocator, NullFormatter

    spread = samples.max() / max(samples.min(), 1.0)
    if spread > SPREAD:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if spread < 1e3 else (1.0,)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0.0)
    axes.xaxis.set_major_formatter("{x:,.7g}")


def _draw_box(axes: Axes, at: int, values: Vector, colour: str) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    upwards = np.random.default_rng(at).uniform(-0.3, 0.3, values.size)
    size = 14 if values.size <= 200 else 5
    dots = axes.scatter(values, at + upwards, s=size, color=REST, alpha=0.5, lw=0, zorder=1)
    dots.set_rasterized(values.size > MANY)
    least, low, middle, high, most = np.percentile(values, (5, 25, 50, 75, 95))
    box = Rectangle((low, at - BOX), high - low, 2 * BOX, linewidth=1.4, zorder=2)
    box.set(facecolor=to_rgba(colour, 0.18), edgecolor=colour)
    axes.add_patch(box)
    axes.hlines([at, at], [least, high], [low, most], color=colour, lw=1.1, zorder=2)
    axes.vlines([least, most], at - BOX / 2, at + BOX / 2, color=colour, lw=1.1, zorder=2)
    axes.vlines([middle], at - BOX, at + BOX, color=colour, lw=1.4, zorder=2)
    axes.plot([values.mean()], [at], "D", ms=6, mfc=theme.PAPER, mec=colour, mew=1.6, zorder=4)
