"""A row for every candidate: its mean with a confidence interval, and its share of the work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mislid._validation import Vector
from mislid.plotting_study.contents import Contents
from mislid.plotting_study.facts import Arms
from mislid.plotting_study.theme import (
    BEST,
    GREY,
    INK,
    OPTIMAL,
    PAPER,
    REST,
    RULE,
    drawing,
    new_figure,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Rows that fit on a printed page, below the headline, and in all; more are left to the table.
ROWS, FIRST, MOST = 42, 22, 126
_ROW, _REST = 0.235, 1.15


def draw_candidates(contents: Contents) -> list[Figure]:
    """Means and shares of the candidates, best first, in as many figures as it takes."""
    drawn = contents.order[:MOST]
    pages = [drawn]
    if drawn.size > ROWS:
        rest = drawn[FIRST:]
        pages = [drawn[:FIRST], *np.array_split(rest, math.ceil(rest.size / ROWS))]
    with drawing():
        return [_draw_rows(contents, rows) for rows in pages]


def _draw_rows(contents: Contents, rows: Arms) -> Figure:
    figure = new_figure(_ROW * rows.size + _REST)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.7, 1.0])
    plot_means(left, contents, rows)
    plot_shares(right, contents, rows)
    for axes in (left, right):
        axes.spines[["left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderpad=0.0, handletextpad=0.5
        )
    return figure


def plot_means(axes: Axes, contents: Contents, rows: Arms) -> None:
    """Mean, confidence interval and the model's estimate of these candidates, in the user's sign.

    Those of the answer are in colour. Intervals that are much wider than most leave the picture.
    """
    facts, places = contents.facts, np.arange(rows.size)
    inside = np.isin(rows, contents.answer)
    axes.hlines(places, 0.0, 1.0, transform=axes.get_yaxis_transform(), color=RULE, lw=0.5)
    (line,) = axes.plot([], [], "-o", color=GREY, lw=2.2, ms=6.5)
    line.set_label("mean and confidence interval")
    for chosen, colour in ((inside, BEST), (~inside, REST)):
        at, arms = places[chosen], rows[chosen]
        low, high = (facts.means[arms] + side * facts.half_widths[arms] for side in (-1.0, 1.0))
        axes.hlines(at, low, high, color=colour, lw=2.2, zorder=2)
        axes.plot(facts.means[arms], at, "o", color=colour, ms=6.5, zorder=3)
    if contents.now is not None:
        (marks,) = axes.plot(contents.estimates[rows], places, "D")
        marks.set(ms=3.4, mfc=PAPER, mec=INK, mew=0.8, zorder=4, label="estimate by the model")
    axes.set_yticks(places, [shorten(facts.labels[arm]) for arm in rows])
    for text, one in zip(axes.get_yticklabels(), inside, strict=True):
        text.set(color=INK if one else GREY, fontweight="bold" if one else "normal")
    axes.set_ylim(rows.size - 0.4, -0.6)
    axes.set_xlim(*_limits(contents))
    axes.set_xlabel("mean of the measurements")


def _limits(contents: Contents) -> tuple[float, float]:
    """The same for all figures: all means, with the widths that most of the intervals have."""
    facts = contents.facts
    known = np.concatenate([facts.means[facts.counts > 0.0], contents.estimates])
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    widths = facts.half_widths[np.isfinite(facts.half_widths)]
    room = 1.1 * float(np.quantile(widths, 0.75))
    return float(known.min()) - room, float(known.max()) + room


def plot_shares(axes: Axes, contents: Contents, rows: Arms) -> None:
    """The share of the measurements that these candidates got, against the optimal one."""
    facts, places = contents.facts, np.arange(rows.size)
    shares = _shares(contents)
    colours = [BEST if arm in contents.answer else REST for arm in rows]
    axes.barh(places, shares[rows], height=0.62, color=colours, zorder=2)
    largest = float(shares.max(initial=0.0))
    if contents.optimal is not None:
        (marks,) = axes.plot(contents.optimal[rows], places, "d")
        marks.set(ms=5.5, mfc=PAPER, mec=OPTIMAL, mew=1.3, zorder=4, clip_on=False)
        marks.set_label("optimal")
        largest = max(largest, float(contents.optimal.max()))
    even = 1.0 / facts.K
    axes.axvline(even, color=GREY, lw=0.9, ls="--", label="even", zorder=3)
    axes.set_xlim(0.0, 1.06 * max(largest, even))
    axes.xaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.3g}%")
    axes.set_xlabel("share of the measurements")


def _shares(contents: Contents) -> Vector:
    counts = contents.facts.counts
    shares: Vector = counts / max(float(counts.sum()), 1.0)
    return shares
