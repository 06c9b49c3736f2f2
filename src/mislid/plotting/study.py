"""The picture of a study's candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mislid.forecast.overview import Overview
from mislid.plotting import theme
from mislid.plotting.theme import BEST, GREY, INK, PAPER, REST, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Candidates that are drawn; a report has all of them in a table.
MOST = 40


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
    """The share of the measurements of each candidate."""
    places, even = np.arange(rows.size), 1.0 / overview.K
    shares = overview.counts / max(overview.samples, 1)
    colours = [BEST if arm in overview.leaders else REST for arm in rows]
    axes.barh(places, shares[rows], height=0.62, color=colours, zorder=2)
    axes.axvline(even, color=GREY, lw=0.9, ls="--", label="even", zorder=3)
    axes.set_xlim(0.0, 1.06 * max(even, *shares))
    axes.xaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.3g}%")
    axes.set_xlabel("share of the measurements")
