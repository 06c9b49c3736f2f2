"""How many measurements it will take, as asked and for questions that might be asked instead."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mislid.plotting_study.contents import Contents
from mislid.plotting_study.outlook import Outcome
from mislid.plotting_study.theme import BEST, INK, OPTIMAL, REST, drawing, new_figure
from mislid.plotting_study.words import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AS_ASKED = "as asked"
# A linear axis hides what is more than this many times smaller than the largest.
_SPREAD = 30.0


class Forecast(NamedTuple):
    """Measurements in all, from those made by now to the end of a range."""

    question: str
    now: float
    low: float
    expected: float
    high: float


def forecasts(contents: Contents) -> list[Forecast]:
    """The question as it was asked first, then the others."""
    outlook, now = contents.outlook, contents.facts.samples
    asked: list[tuple[str, Outcome]] = list(outlook.what_ifs)
    if outlook.progress is not None:
        asked.insert(0, (AS_ASKED, outlook.progress))
    return [
        Forecast(question, now, now + one.more_low, now + one.more, now + one.more_high)
        for question, one in asked
    ]


def draw_forecast(contents: Contents) -> Figure | None:
    """A row for every question: measurements in all, with a range."""
    rows = forecasts(contents)
    if not rows:
        return None
    with drawing():
        figure = new_figure(0.34 * len(rows) + 1.25)
        axes = figure.subplots()
        progress = contents.outlook.progress
        plot_forecasts(axes, rows, None if progress is None else progress.lower_bound)
        return figure


def plot_forecasts(axes: Axes, rows: list[Forecast], bound: float | None) -> None:
    """Expected measurements with their ranges, the present number and the least for any method."""
    now = rows[0].now
    for at, row in enumerate(rows):
        colour = BEST if row.question == AS_ASKED else REST
        done = row.expected <= now
        if not done and math.isfinite(row.expected):
            high = row.high if math.isfinite(row.high) else row.expected
            axes.hlines(at, row.low, high, color=colour, lw=5.0, alpha=0.4)
            axes.plot([row.expected], [at], "o", color=colour, ms=6.0, zorder=3)
        axes.annotate(
            _words(row, done),
            (1.0, at),
            xycoords=axes.get_yaxis_transform(),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=INK,
        )
    _mark(axes, now, f"now: {whole(now)}", INK, ":")
    if bound is not None and 0.0 < bound < math.inf:
        _mark(axes, bound, f"least for any method: {whole(bound)}", OPTIMAL, "--")
    axes.set_yticks(range(len(rows)), [row.question for row in rows])
    axes.get_yticklabels()[0].set(color=INK, fontweight="bold")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.spines[["left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    _scale(axes, rows, bound)
    axes.set_xlabel("measurements in all")


def _words(row: Forecast, done: bool) -> str:
    if done:
        return "enough by now"
    if not math.isfinite(row.expected):
        return "no end in sight"
    more = (row.expected - row.now, row.low - row.now, row.high - row.now)
    return "{} more ({} to {})".format(*map(whole, more))


def _mark(axes: Axes, at: float, text: str, colour: str, style: str) -> None:
    """A line across all rows, explained above the picture."""
    axes.axvline(at, color=colour, lw=1.0, ls=style, zorder=1, label=text)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderpad=0.0)


def _scale(axes: Axes, rows: list[Forecast], bound: float | None) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ends = [value for row in rows for value in (row.low, row.expected, row.high, row.now)]
    shown = [value for value in (*ends, bound or 0.0) if 0.0 < value < math.inf]
    if shown and max(shown) > _SPREAD * min(shown):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(min(shown) / 1.3, max(shown) * 1.3)
    else:
        axes.set_xlim(0.0, 1.08 * max(shown, default=1.0))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
