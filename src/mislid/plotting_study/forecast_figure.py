"""How many measurements it will take, as asked and for questions that might be asked instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mislid.plotting_study.contents import Contents
from mislid.plotting_study.outlook import AS_ASKED, Forecast
from mislid.plotting_study.theme import BEST, INK, OPTIMAL, REST, drawing, new_figure, shorten
from mislid.plotting_study.words import about, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A linear axis hides what is more than this many times smaller than the largest.
_SPREAD = 30.0
_LONGEST = 40


def draw_forecast(contents: Contents) -> Figure | None:
    """A row for every question: measurements in all, with a range.

    None where there is no forecast, or nothing to foresee.
    """
    outlook = contents.outlook
    done = all(row.question == AS_ASKED and row.is_done for row in outlook.forecasts)
    if done or contents.facts.samples == 0:
        return None
    with drawing():
        figure = new_figure(0.34 * len(outlook.forecasts) + 1.25)
        axes = figure.subplots()
        plot_forecasts(axes, outlook.forecasts, contents.facts.samples, outlook.lower_bound)
        return figure


def plot_forecasts(
    axes: Axes, rows: Sequence[Forecast], now: int, bound: float | None = None
) -> None:
    """Expected measurements with their ranges, the present number and the least for any method.

    A range without an end leads out of the picture.
    """
    _scale(axes, rows, now, bound)
    end = axes.get_xlim()[1]
    for at, row in enumerate(rows):
        colour = BEST if row.question == AS_ASKED else REST
        if not row.is_done and math.isfinite(row.low):
            axes.hlines(
                at, now + row.low, min(now + row.high, end), color=colour, lw=5.0, alpha=0.4
            )
            axes.plot([now + row.more], [at], "o", color=colour, ms=6.0, zorder=3)
        if not row.is_done and math.isinf(row.high):
            axes.plot([end], [at], ">", color=colour, ms=7.0, zorder=3, clip_on=False)
        axes.annotate(
            in_words(row),
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
    axes.set_xlabel("measurements in all")


def in_words(row: Forecast) -> str:
    """How many more, in a few words."""
    if row.is_done:
        return "enough by now"
    if math.isfinite(row.high):
        return f"{about(row.more)} more ({about(row.low)} to {about(row.high)})"
    if math.isfinite(row.more):
        return f"{about(row.more)} more (at least {about(row.low)})"
    early, colon, _ = row.note.partition(":")
    if colon or math.isinf(row.low):
        return shorten(early or "no end in sight", _LONGEST)
    return f"at least {about(row.low)} more"


def _mark(axes: Axes, at: float, text: str, colour: str, style: str) -> None:
    """A line across all rows, explained above the picture."""
    axes.axvline(at, color=colour, lw=1.0, ls=style, zorder=1, label=text)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderpad=0.0)


def _scale(axes: Axes, rows: Sequence[Forecast], now: int, bound: float | None) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ends = [now + value for row in rows for value in (row.low, row.more, row.high)]
    shown = [value for value in (*ends, now, bound or 0.0) if 0.0 < value < math.inf]
    if shown and max(shown) > _SPREAD * min(shown):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(min(shown) / 1.3, max(shown) * 1.3)
    else:
        axes.set_xlim(0.0, 1.08 * max(shown, default=1.0))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
