"""Pictures of a study: its candidates, and the evidence of its pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mislid._formatting import percent
from mislid._validation import Vector
from mislid.forecast.evidence import History
from mislid.forecast.overview import Overview
from mislid.plotting import theme
from mislid.plotting.theme import BEST, CONTRAST, GREY, INK, PAPER, REST, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Candidates that are drawn; a report has all of them in a table.
MOST = 40
# The end of the axis and the least distance between two labels in a picture of evidence.
_HIGHEST, _APART = 1.1, 0.07
# Letters of a candidate in a pair.
_LONGEST = 16


def draw_candidates(overview: Overview) -> Figure:
    """Means with confidence intervals, and shares of the measurements, best first.

    Parameters
    ----------
    overview
        The study, as `Study.overview` gives it.

    Returns
    -------
    matplotlib.figure.Figure
        With the best 40 candidates.

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
    """Mean, confidence interval and the model's estimate; those of the answer are in colour.

    Intervals that are much wider than most leave the picture.
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
    """The share of the measurements of each candidate, and the optimal one."""
    places, even = np.arange(rows.size), 1.0 / overview.K
    shares = overview.counts / max(overview.samples, 1)
    colours = [BEST if arm in overview.leaders else REST for arm in rows]
    axes.barh(places, shares[rows], height=0.62, color=colours, zorder=2)
    optimal = overview.optimal
    if optimal is not None:
        (marks,) = axes.plot(optimal[rows], places, "d", label="optimal")
        marks.set(ms=5.5, mfc=PAPER, mec=CONTRAST, mew=1.3, zorder=4, clip_on=False)
    axes.axvline(even, color=GREY, lw=0.9, ls="--", label="even", zorder=3)
    largest = max(even, *shares, *(() if optimal is None else optimal))
    axes.set_xlim(0.0, 1.06 * largest)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.3g}%")
    axes.set_xlabel("share of the measurements")


def draw_evidence(overview: Overview) -> Figure | None:
    """Evidence of the hardest pairs over time, as a share of the amount that settles a pair.

    Parameters
    ----------
    overview
        As for `draw_candidates`.

    Returns
    -------
    matplotlib.figure.Figure or None
        None where `Overview.history` is None.

    Raises
    ------
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
    >>> study.add_observations([("a", 0.2), ("b", 0.9)])
    >>> (axes,) = draw_evidence(study.overview()).axes
    >>> axes.texts[0].get_text().partition(":")[0]
    'b before a'
    """
    history, decision = overview.history, overview.decision
    if history is None:
        return None
    with theme.drawing():
        figure = theme.new_figure(4.2)
        axes = figure.subplots()
        for p, shares in enumerate(history.shares.T):
            (line,) = axes.plot(history.times, shares, color=GREY, lw=1.0)
            line.set(marker="o" if history.times.size == 1 else "", ms=4.0, alpha=0.75)
            if p == 0:
                line.set(color=BEST, lw=2.4, zorder=4, alpha=1.0)
        axes.axhline(1.0, color=CONTRAST, lw=1.1, ls="--", zorder=3)
        _name_pairs(axes, overview, history)
        if decision is not None:
            axes.axvline(decision.samples, color=INK, lw=0.8, ls=":", zorder=3)
        axes.set(ylim=(0.0, _HIGHEST), xlim=(0.0, history.times[-1]), xlabel="measurements")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.0f}%")
        axes.set_title("evidence of the hardest pairs, as a share of what is needed")
        return figure


def _name_pairs(axes: Axes, overview: Overview, history: History) -> None:
    """Names beside the lines' ends, moved apart where these are too close."""
    ends, sideways = history.shares[-1], axes.get_yaxis_transform()
    heights = apart(ends, _APART, 0.0, _HIGHEST)
    for p, (end, height) in enumerate(zip(ends, heights, strict=True)):
        challenger, incumbent = (
            theme.shorten(overview.labels[arm], _LONGEST) for arm in history.pairs[p]
        )
        standing = percent(history.shares[-1, p])
        if history.settled[p] <= history.times[-1]:
            standing = f"settled at {history.settled[p]:,.0f}"
        words, first = f"{incumbent} before {challenger}: {standing}", p == 0
        axes.plot([1.0, 1.02], [end, height], transform=sideways, color=GREY, lw=0.5, clip_on=False)
        text = axes.text(1.025, height, words, transform=sideways, va="center", fontsize=8.0)
        text.set(color=BEST if first else INK, fontweight="bold" if first else "normal")


def apart(wanted: Vector, distance: float, low: float, high: float) -> Vector:
    """Heights (n,) near those wanted with at least this distance, within limits if they fit.

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
