"""Pictures of a study: its candidates, and how near every pair is to being told apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mislid._formatting import number, percent
from mislid._validation import Vector
from mislid.forecast.history import Arms, EvidenceOverTime, History
from mislid.forecast.overview import Overview
from mislid.plotting import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Rows that fit on a printed page, below the headline, and in all; more are left to a table.
ROWS, FIRST, MOST = 42, 22, 126
# Inches of a row, and of all that is not rows.
_ROW, _REST = 0.235, 1.15
# The least distance between two labels and the most that is shown, as shares of the threshold.
_APART, _HIGHEST = 0.062, 2.5
# Letters of a candidate in a pair.
_LONGEST = 16


def draw_candidates(overview: Overview) -> list[Figure]:
    """Means and shares of the candidates, best first.

    Parameters
    ----------
    overview
        The study, as `Study.overview` gives it.

    Returns
    -------
    list of matplotlib.figure.Figure
        As many as it takes, of at most 42 candidates each and 126 in all.

    Raises
    ------
    ProblemError
        Where it is no overview, such as a study.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
    >>> study.add_observations([("a", 0.2), ("b", 0.9)])
    >>> (figure,) = draw_candidates(study.overview())
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['b', 'a']
    """
    refuse_other_overviews(overview)
    drawn = overview.order[:MOST]
    pages = [drawn]
    if drawn.size > ROWS:
        rest = drawn[FIRST:]
        pages = [drawn[:FIRST], *np.array_split(rest, math.ceil(rest.size / ROWS))]
    with theme.drawing():
        return [_draw_rows(overview, rows) for rows in pages]


def refuse_other_overviews(overview: object) -> None:
    """Refuse what is not a study at one moment."""
    theme.refuse_others(overview, Overview, "overview", "Study.overview()")


def _draw_rows(overview: Overview, rows: Arms) -> Figure:
    figure = theme.new_figure(_ROW * rows.size + _REST)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.7, 1.0])
    _plot_means(left, overview, rows)
    _plot_shares(right, overview, rows)
    for axes in (left, right):
        theme.only_rows(axes, rows.size)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderpad=0.0, handletextpad=0.5
        )
    return figure


def _plot_means(axes: Axes, overview: Overview, rows: Arms) -> None:
    """Mean, confidence interval and the model's estimate of these candidates, in the user's sign.

    Those of the answer are in colour. Intervals that are much wider than most leave the picture.
    """
    places = np.arange(rows.size)
    inside = np.isin(rows, overview.leaders)
    axes.hlines(places, 0.0, 1.0, transform=axes.get_yaxis_transform(), color=theme.RULE, lw=0.5)
    (line,) = axes.plot([], [], "-o", color=theme.GREY, lw=2.2, ms=6.5)
    line.set_label("mean and confidence interval")
    for chosen, colour in ((inside, theme.BEST), (~inside, theme.REST)):
        at, arms = places[chosen], rows[chosen]
        axes.hlines(at, *overview.intervals[arms].T, color=colour, lw=2.2, zorder=2)
        axes.plot(overview.means[arms], at, "o", color=colour, ms=6.5, zorder=3)
    if overview.now is not None:
        (marks,) = axes.plot(overview.estimates[rows], places, "D")
        marks.set(
            ms=3.4, mfc=theme.PAPER, mec=theme.INK, mew=0.8, zorder=4, label="estimate by the model"
        )
    axes.set_yticks(places, [theme.shorten(overview.labels[arm]) for arm in rows])
    for text, one in zip(axes.get_yticklabels(), inside, strict=True):
        text.set(color=theme.INK if one else theme.GREY, fontweight="bold" if one else "normal")
    axes.set_xlim(*_limits(overview))
    axes.set_xlabel("mean of the measurements")


def _limits(overview: Overview) -> tuple[float, float]:
    """The same for all figures: all means, with the widths that most of the intervals have."""
    known = np.concatenate([overview.means[overview.counts > 0.0], overview.estimates])
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    widths = overview.half_widths[np.isfinite(overview.half_widths)]
    room = 1.1 * float(np.quantile(widths, 0.75)) if widths.size else 1.0
    return float(known.min()) - room, float(known.max()) + room


def _plot_shares(axes: Axes, overview: Overview, rows: Arms) -> None:
    """The share of the measurements that these candidates got, against the optimal one."""
    places, counts = np.arange(rows.size), overview.counts
    shares = counts / max(float(counts.sum()), 1.0)
    colours = [theme.BEST if arm in overview.leaders else theme.REST for arm in rows]
    axes.barh(places, shares[rows], height=0.62, color=colours, zorder=2)
    largest = float(shares.max(initial=0.0))
    if overview.optimal is not None:
        (marks,) = axes.plot(overview.optimal[rows], places, "d")
        marks.set(ms=5.5, mfc=theme.PAPER, mec=theme.CONTRAST, mew=1.3, zorder=4, clip_on=False)
        marks.set_label("optimal")
        largest = max(largest, float(overview.optimal.max()))
    even = 1.0 / overview.K
    axes.axvline(even, color=theme.GREY, lw=0.9, ls="--", label="even", zorder=3)
    axes.set_xlim(0.0, 1.06 * max(largest, even))
    axes.xaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.3g}%")
    axes.set_xlabel("share of the measurements")


def draw_evidence(overview: Overview) -> Figure | None:
    """Evidence of every pair as a share of what is needed; of the limiting one in numbers, too.

    Parameters
    ----------
    overview
        As for `draw_candidates`.

    Returns
    -------
    matplotlib.figure.Figure or None
        None before there is an estimate.

    Raises
    ------
    ProblemError, MissingPackageError
        As for `draw_candidates`.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
    >>> study.add_observations([("a", 0.2), ("b", 0.9)])
    >>> above, below = draw_evidence(study.overview()).axes
    >>> above.texts[0].get_text().partition(":")[0]
    'b before a'
    """
    refuse_other_overviews(overview)
    history = overview.history
    if history is None:
        return None
    with theme.drawing():
        figure = theme.new_figure(5.9)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1.0])
        _plot_pairs(above, history, overview.labels)
        _plot_limiting(below, history)
        if overview.decision is not None:
            _mark_decision(above, overview.decision.samples)
        below.set_xlim(0.0, history.closest.times[-1])
        below.set_xlabel("measurements")
        below.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        return figure


def _plot_pairs(axes: Axes, history: History, labels: list[str]) -> None:
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
    axes.add_collection(
        LineCollection(lines, colors=theme.GREY, linewidths=0.6, alpha=faint, zorder=1)
    )
    for p, shares in reversed(list(enumerate(closest.shares.T))):
        first = p == 0
        axes.plot(
            closest.times,
            np.minimum(shares, 4.0 * top),
            color=theme.BEST if first else theme.GREY,
            lw=2.4 if first else 1.0,
            alpha=1.0 if first else 0.75,
            marker="o" if closest.times.size == 1 else None,
            ms=4.0,
            zorder=4 if first else 2,
        )
    axes.axhline(1.0, color=theme.CONTRAST, lw=1.1, ls="--", zorder=3)
    axes.set_ylim(0.0, top)
    _name_pairs(axes, closest, labels, top)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.0f}%")
    axes.set_title("evidence of every pair, as a share of what is needed")


def _top(closest: EvidenceOverTime) -> float:
    """The highest share in the picture: the threshold, and the closest pairs if they fit."""
    now = closest.shares[-1][np.isfinite(closest.shares[-1])]
    if not now.size:
        return 1.2
    return max(1.2, 1.2 * float(now.min()), min(_HIGHEST, 1.05 * float(now.max())))


def _name_pairs(axes: Axes, closest: EvidenceOverTime, labels: list[str], top: float) -> None:
    """Names beside the lines' ends, moved apart where these are too close."""
    now = closest.shares[-1]
    known = np.flatnonzero(~np.isnan(now))
    ends = np.minimum(now[known], top)
    heights = apart(ends, _APART * top, 0.0, top)
    sideways = axes.get_yaxis_transform()
    for p, end, height in zip(known.tolist(), ends, heights, strict=True):
        challenger, incumbent = (theme.shorten(labels[arm], _LONGEST) for arm in closest.pairs[p])
        first = p == 0
        axes.plot(
            [1.0, 1.02], [end, height], transform=sideways, color=theme.GREY, lw=0.5, clip_on=False
        )
        axes.text(
            1.025,
            height,
            f"{incumbent} before {challenger}: {_standing(closest, p)}",
            transform=sideways,
            va="center",
            fontsize=8.0,
            color=theme.BEST if first else theme.INK,
            fontweight="bold" if first else "normal",
        )


def _standing(closest: EvidenceOverTime, p: int) -> str:
    """How far a pair has come: its share, or since when it is settled."""
    since = float(closest.since[p])
    if since <= closest.times[-1]:
        return f"settled at {since:,.0f}"
    return percent(closest.shares[-1, p])


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


def _plot_limiting(axes: Axes, history: History) -> None:
    """Evidence and threshold of the limiting pair."""
    proof, statistics, thresholds = history.closest.of_pair(0)
    times = history.closest.times
    mark = "o" if times.size == 1 else None
    axes.plot(times, statistics, color=theme.BEST, lw=2.0, marker=mark, ms=4.0)
    axes.plot(times, thresholds, color=theme.CONTRAST, lw=1.1, ls="--", marker=mark, ms=4.0)
    shown = np.concatenate([statistics, thresholds])
    shown = shown[np.isfinite(shown)]
    top = 1.15 * float(shown.max(initial=1e-9))
    axes.set_ylim(0.0, top)
    ends = np.array([statistics[-1], thresholds[-1]])
    heights = apart(np.clip(np.nan_to_num(ends), 0.0, top), 0.2 * top, 0.0, top)
    for end, height, name, colour in zip(
        ends, heights, ("evidence", "threshold"), (theme.BEST, theme.CONTRAST), strict=True
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


def _mark_decision(axes: Axes, samples: int) -> None:
    for part in axes.figure.axes:
        part.axvline(samples, color=theme.INK, lw=0.8, ls=":", zorder=3)
    axes.annotate(
        f"decided after {samples:,} ",
        (samples, 0.0),
        xytext=(-3, 5),
        textcoords="offset points",
        ha="right",
        fontsize=8.0,
    )
