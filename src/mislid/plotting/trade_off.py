"""The cost of fewer features: misspecification, characteristic time and first pulls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mislid._formatting import the_best
from mislid.paper.representation import TradeOff
from mislid.plotting import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# By order of the features: the colour, and the words.
COLOURS = {"variance": theme.BEST, "prediction": theme.CONTRAST}
NAMES = {"variance": "largest spread first", "prediction": "predictions first"}
# Above the largest value is room for a legend.
ROOM = 1.25


def draw_trade_off(trade_off: TradeOff) -> Figure:
    """The cost of every number of features, in three pictures side by side.

    The largest error of the linear model, for the network's own theta and the best one;
    characteristic times in tubes of those widths, and the time without features as a line; and the
    length of the initial design of the paper's analysis, before and after whitening.

    Parameters
    ----------
    trade_off
        As `Representation.trade_off` gives it.

    Returns
    -------
    matplotlib.figure.Figure
        Infinite values are left out.

    Raises
    ------
    ProblemError
        If it is no `TradeOff`, such as the representation itself.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mislid.paper.representation import Choice
    >>> choices = [Choice(order, 1, 0.4, 0.3, 2.0, 10.0, 5.0, 9.0, 8.0) for order in COLOURS]
    >>> figure = draw_trade_off(TradeOff(1, tuple(choices), 12.0))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['largest absolute error', 'characteristic time', 'pulls']
    """
    theme.check_kind(trade_off, TradeOff, "trade_off", "Representation.trade_off()")
    with theme.drawing():
        figure = theme.new_figure(3.6, 10.6)
        errors, times, pulls = figure.subplots(1, 3)
        errors.set(title="misspecification", ylabel="largest absolute error")
        fields = {"misspecification": "network's parameters"}
        _draw(errors, trade_off, fields | {"least_misspecification": "best parameters"})
        errors.set_ylim(bottom=0.0)
        best = the_best(trade_off.m)
        times.set(title=f"time to find {best}", ylabel="characteristic time")
        fields = {"time": "network's misspecification", "least_time": "least misspecification"}
        values = _draw(times, trade_off, fields)
        theme.scale(times, "y", [*values, trade_off.unstructured], ROOM)
        if math.isfinite(trade_off.unstructured):
            times.axhline(trade_off.unstructured, color=theme.INK, lw=1.0, ls=":", zorder=1)
            end, bottom = times.get_xlim()[1], trade_off.unstructured
            times.text(end, bottom, "without features", ha="right", va="bottom", fontsize=8)
        pulls.set(title="before the first decision", ylabel="pulls")
        values = _draw(pulls, trade_off, {"pulls": "as they are", "white_pulls": "whitened"})
        theme.scale(pulls, "y", values, ROOM)
        lines = [line for line in errors.lines if line.get_linestyle() == "-"]
        names = [NAMES[order] for order in COLOURS]
        figure.legend(lines, names, loc="outside lower center", ncols=2)
        return figure


def _draw(axes: Axes, trade_off: TradeOff, fields: dict[str, str]) -> list[float]:
    """Two fields of every order against d, solid and dashed; gives the values that are drawn."""
    from matplotlib.lines import Line2D

    values: list[float] = []
    handles = []
    for (field, words), style in zip(fields.items(), ("-", "--"), strict=True):
        for order, colour in COLOURS.items():
            chosen = [choice for choice in trade_off.choices if choice.order == order]
            given = [(choice.d, getattr(choice, field)) for choice in chosen]
            points = [(d, value) for d, value in given if math.isfinite(value)]
            (line,) = axes.plot([d for d, _ in points], [value for _, value in points], style)
            fill = colour if style == "-" else theme.PAPER
            line.set(marker="o", ms=5, lw=1.5, color=colour, mfc=fill, zorder=3)
            values += [value for _, value in points]
        handle = Line2D([], [], color=theme.GREY, marker="o", ms=4, lw=1.2, ls=style, label=words)
        handle.set_markerfacecolor(theme.GREY if style == "-" else theme.PAPER)
        handles.append(handle)
    axes.set_xticks(sorted({choice.d for choice in trade_off.choices}))
    axes.set_xlabel("number of features d")
    axes.legend(handles=handles, fontsize=8)
    return values
