"""Pictures of candidates, single runs, and many runs (the paper's Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mislid._formatting import the_best
from mislid._validation import Vector, as_top_m, as_weights
from mislid.errors import ProblemError
from mislid.forecast.overview import Overview
from mislid.model import Instance
from mislid.plotting import theme
from mislid.plotting.theme import BEST, CONTRAST, GREY, INK, LINES, PAPER, REST, RULE
from mislid.simulation.identify import Identification
from mislid.simulation.replicate import Row, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Most candidates in a picture; the table of a report has all.
MOST = 40
# Most dots per group in a vector drawing.
MANY = 50
# Largest ratio of values on a linear axis.
SPREAD = 30.0
# Characters of a name in one line, and half the height of a box.
LONGEST, BOX = 32, 0.26


def draw_candidates(overview: Overview) -> Figure:
    """Means with confidence intervals, and shares of the measurements, best first.

    Parameters
    ----------
    overview
        The overview from `Study.overview`.

    Returns
    -------
    matplotlib.figure.Figure
        A figure of the best 40 candidates.

    Raises
    ------
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
    >>> study.add_observations([("a", 0.2), ("b", 0.9)])
    >>> figure = draw_candidates(study.overview())
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['b', 'a']
    """
    rows = overview.order[:MOST]
    with theme.drawing():
        figure = theme.new_figure(0.235 * rows.size + 1.15)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.7, 1.0])
        _plot_means(left, overview, rows)
        _plot_shares(right, overview, rows)
        for axes in (left, right):
            axes.set_ylim(rows.size - 0.4, -0.6)
            axes.spines[["left"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
            axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderpad=0.0)
    return figure


def _plot_means(axes: Axes, overview: Overview, rows: NDArray[np.int64]) -> None:
    """Plot means, confidence intervals and the model's estimates, with the answer in colour.

    Intervals that are much wider than most are cut off.
    """
    places, inside = np.arange(rows.size), np.isin(rows, overview.leaders)
    axes.hlines(places, 0.0, 1.0, transform=axes.get_yaxis_transform(), color=RULE, lw=0.5)
    axes.plot([], [], "-o", color=GREY, lw=2.2, ms=6.5, label="mean and confidence interval")
    for chosen, colour in ((inside, BEST), (~inside, REST)):
        at, arms = places[chosen], rows[chosen]
        axes.hlines(at, *overview.intervals[arms].T, color=colour, lw=2.2, zorder=2)
        axes.plot(overview.means[arms], at, "o", color=colour, ms=6.5, zorder=3)
    if overview.engine.is_estimated:
        (marks,) = axes.plot(overview.estimates[rows], places, "D", label="estimate by the model")
        marks.set(ms=3.4, mfc=PAPER, mec=INK, mew=0.8, zorder=4)
    axes.set_yticks(places, [theme.shorten(overview.labels[arm]) for arm in rows])
    for text, one in zip(axes.get_yticklabels(), inside, strict=True):
        text.set(color=INK if one else GREY, fontweight="bold" if one else "normal")
    known = np.concatenate([overview.means, overview.estimates])
    known, widths = known[np.isfinite(known)], np.diff(overview.intervals)
    widths = widths[np.isfinite(widths)]
    if known.size:
        room = 0.55 * float(np.quantile(widths, 0.75)) if widths.size else 1.0
        axes.set_xlim(float(known.min()) - room, float(known.max()) + room)
    axes.set_xlabel("mean of the measurements")


def _plot_shares(axes: Axes, overview: Overview, rows: NDArray[np.int64]) -> None:
    """Plot the share of the measurements of each candidate."""
    places, even = np.arange(rows.size), 1.0 / overview.K
    shares = overview.counts / max(overview.samples, 1)
    colours = [BEST if arm in overview.leaders else REST for arm in rows]
    axes.barh(places, shares[rows], height=0.62, color=colours, zorder=2)
    axes.axvline(even, color=GREY, lw=0.9, ls="--", label="even", zorder=3)
    axes.set_xlim(0.0, 1.06 * max(even, *shares))
    axes.xaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.3g}%")
    axes.set_xlabel("share of the measurements")


def plot_counts(axes: Axes, instance: Instance, m: int, counts: ArrayLike) -> None:
    """Plot bars of the measurements of every arm, the arm with the largest mean first.

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
    """Plot the number of proved comparisons over the measurements of runs.

    A comparison of an arm of the answer with another arm is proved when its evidence reaches the
    threshold. A run stops when all m (K - m) comparisons are proved.

    Parameters
    ----------
    axes
        Where to draw.
    runs
        Runs of one question by name; the first has the boldest line. A run whose stopping rule
        settles no single pairs is a cross at its last measurement.

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
        label = f"{name}: {end:,}{', wrong answer' if found.correct is False else ''}"
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
    """Draw box plots of the samples of runs, one line per algorithm, with runs as grey dots.

    Boxes span the middle half, whiskers the 5th to the 95th percentile; a diamond marks the mean.
    Number of runs, mean and error rate are on the right. If the rate exceeds delta, name and box
    are red.

    Parameters
    ----------
    axes
        Where to draw.
    groups
        Finished runs by the name of their algorithm; the first is at the top.
    delta
        The declared error rate.

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
    """Height in inches of a plot of this many groups."""
    return 1.0 + 0.42 * groups


def _scale(axes: Axes, samples: Vector) -> None:
    """Set a linear axis from 0, or a logarithmic one if samples span a large ratio."""
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
    axes.plot([values.mean()], [at], "D", ms=6, mfc=PAPER, mec=colour, mew=1.6, zorder=4)
