"""How near every pair is to being told apart, from the first estimate on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mislid._validation import Vector
from mislid.plotting_study.contents import Contents
from mislid.plotting_study.evidence import Evidence, History
from mislid.plotting_study.theme import (
    BEST,
    GREY,
    INK,
    OPTIMAL,
    drawing,
    new_figure,
    shorten,
)
from mislid.plotting_study.words import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The least distance between two labels and the most that is shown, as shares of the threshold.
_APART, _HIGHEST = 0.062, 2.5
_LONGEST = 16


def draw_evidence(contents: Contents) -> Figure | None:
    """Evidence of every pair as a share of what is needed; of the limiting one in numbers, too."""
    history = contents.history
    if history is None:
        return None
    with drawing():
        figure = new_figure(5.9)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1.0])
        plot_pairs(above, history, contents.facts.labels)
        plot_limiting(below, history)
        for axes in (above, below):
            _mark_decision(axes, contents)
        _name_decision(above, contents)
        below.set_xlim(0.0, history.closest.times[-1])
        below.set_xlabel("measurements")
        below.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        return figure


def plot_pairs(axes: Axes, history: History, labels: list[str]) -> None:
    """A line for every pair: bold for the one that limits the study, thin for those far from it.

    The closest ones are named at their ends.
    """
    from matplotlib.collections import LineCollection

    closest, others = history.closest, history.others
    top = _top(closest)
    lines = [
        np.column_stack([others.times, np.minimum(shares, 4.0 * top)]) for shares in others.shares.T
    ]
    faint = float(np.clip(12.0 / max(len(lines), 1), 0.1, 0.3))
    axes.add_collection(LineCollection(lines, colors=GREY, linewidths=0.6, alpha=faint, zorder=1))
    for p, shares in reversed(list(enumerate(closest.shares.T))):
        first = p == 0
        axes.plot(
            closest.times,
            np.minimum(shares, 4.0 * top),
            color=BEST if first else GREY,
            lw=2.4 if first else 1.0,
            alpha=1.0 if first else 0.75,
            marker="o" if closest.times.size == 1 else None,
            ms=4.0,
            zorder=4 if first else 2,
        )
    axes.axhline(1.0, color=OPTIMAL, lw=1.1, ls="--", zorder=3)
    axes.set_ylim(0.0, top)
    _name_pairs(axes, closest, labels, top)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.0f}%")
    axes.set_title("evidence of every pair, as a share of what is needed")


def _top(closest: Evidence) -> float:
    """The highest share in the picture: the threshold, and the closest pairs if they fit."""
    now = closest.shares[-1][np.isfinite(closest.shares[-1])]
    if not now.size:
        return 1.2
    return max(1.2, 1.2 * float(now.min()), min(_HIGHEST, 1.05 * float(now.max())))


def _name_pairs(axes: Axes, closest: Evidence, labels: list[str], top: float) -> None:
    """Names beside the lines' ends, moved apart where these are too close."""
    now = closest.shares[-1]
    known = np.flatnonzero(~np.isnan(now))
    ends = np.minimum(now[known], top)
    heights = apart(ends, _APART * top, 0.0, top)
    sideways = axes.get_yaxis_transform()
    for p, end, height in zip(known.tolist(), ends, heights, strict=True):
        challenger, incumbent = (shorten(labels[arm], _LONGEST) for arm in closest.pairs[p])
        first = p == 0
        axes.plot([1.0, 1.02], [end, height], transform=sideways, color=GREY, lw=0.5, clip_on=False)
        axes.text(
            1.025,
            height,
            f"{incumbent} before {challenger}: {percent(now[p])}",
            transform=sideways,
            va="center",
            fontsize=8.0,
            color=BEST if first else INK,
            fontweight="bold" if first else "normal",
        )


def apart(wanted: Vector, distance: float, low: float, high: float) -> Vector:
    """Heights (n,) near those wanted that are at least so far apart, within limits if they fit.

    >>> apart(np.array([0.5, 0.5, 0.0]), 0.2, 0.0, 1.0).round(3).tolist()
    [0.5, 0.7, 0.0]
    """
    order = np.argsort(wanted, kind="stable")
    steps = distance * np.arange(wanted.size)
    # What is left over the steps only has to rise.
    rising = np.maximum.accumulate(np.maximum(wanted[order], low) - steps)
    rising = np.minimum(rising, high - distance * (wanted.size - 1))
    heights = np.empty(wanted.size)
    heights[order] = rising + steps
    return heights


def plot_limiting(axes: Axes, history: History) -> None:
    """Evidence and threshold of the limiting pair."""
    proof, statistics, thresholds = history.closest.of_pair(0)
    times = history.closest.times
    mark = "o" if times.size == 1 else None
    axes.plot(times, statistics, color=BEST, lw=2.0, marker=mark, ms=4.0)
    axes.plot(times, thresholds, color=OPTIMAL, lw=1.1, ls="--", marker=mark, ms=4.0)
    shown = np.concatenate([statistics, thresholds])
    shown = shown[np.isfinite(shown)]
    top = 1.15 * float(shown.max(initial=1e-9))
    axes.set_ylim(0.0, top)
    ends = np.array([statistics[-1], thresholds[-1]])
    heights = apart(np.clip(np.nan_to_num(ends), 0.0, top), 0.2 * top, 0.0, top)
    for end, height, name, colour in zip(
        ends, heights, ("evidence", "threshold"), (BEST, OPTIMAL), strict=True
    ):
        axes.text(
            1.025,
            height,
            f"{name} {number(end)}",
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=8.0,
            color=colour,
        )
    axes.set_title(f"the limiting pair, {proof}")


def _mark_decision(axes: Axes, contents: Contents) -> None:
    decision = contents.facts.decision
    if decision is not None:
        axes.axvline(decision.samples, color=INK, lw=0.8, ls=":", zorder=3)


def _name_decision(axes: Axes, contents: Contents) -> None:
    decision = contents.facts.decision
    if decision is not None:
        axes.annotate(
            f"decided after {decision.samples:,} ",
            (decision.samples, 0.0),
            xytext=(-3, 5),
            textcoords="offset points",
            ha="right",
            fontsize=8.0,
        )
