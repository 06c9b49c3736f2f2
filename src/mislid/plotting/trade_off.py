"""What fewer features cost: misspecification, characteristic time and first pulls by number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid._formatting import the_best
from mislid.paper.representation.trade_off import TradeOff
from mislid.plotting import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# By order of the features: the colour, and the words.
COLOURS = {"variance": theme.BEST, "prediction": theme.CONTRAST}
NAMES = {"variance": "largest spread first", "prediction": "predictions first"}
# Above the largest value is room for a legend.
ROOM = 1.25


class _Panel(NamedTuple):
    """Two fields of a choice and their names: filled marks on solid lines, white on dashed ones."""

    title: str
    label: str
    solid: tuple[str, str]
    dashed: tuple[str, str]


_MISSPECIFICATION = _Panel(
    "misspecification",
    "largest absolute error",
    ("misspecification", "network's parameters"),
    ("least_misspecification", "best parameters"),
)
_TIME = _Panel(
    "time to find {best}",
    "characteristic time",
    ("time", "network's misspecification"),
    ("least_time", "least misspecification"),
)
_PULLS = _Panel(
    "before the first decision", "pulls", ("pulls", "as they are"), ("white_pulls", "whitened")
)


def draw_trade_off(trade_off: TradeOff) -> Figure:
    """What every number of features costs, in three pictures side by side.

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
        What is infinite is left out.

    Raises
    ------
    ProblemError
        Where it is no `TradeOff`, such as the representation itself.
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
    theme.refuse_others(trade_off, TradeOff, "trade_off", "Representation.trade_off()")
    with theme.drawing():
        figure = theme.new_figure(3.6, 10.6)
        first, second, third = figure.subplots(1, 3)
        _draw(first, trade_off, _MISSPECIFICATION)
        first.set_ylim(bottom=0.0)
        times = _draw(second, trade_off, _TIME)
        theme.scale(second, "y", [*times, trade_off.unstructured], ROOM)
        _draw_unstructured(second, trade_off.unstructured)
        theme.scale(third, "y", _draw(third, trade_off, _PULLS), ROOM)
        lines = [line for line in first.lines if line.get_linestyle() == "-"]
        names = [NAMES[order] for order in COLOURS]
        figure.legend(lines, names, loc="outside lower center", ncols=2)
        return figure


def _draw(axes: Axes, trade_off: TradeOff, panel: _Panel) -> list[float]:
    """Both fields of every order against d; gives the values that are finite, and so drawn."""
    values: list[float] = []
    fields = (panel.solid[0], panel.dashed[0])
    for order, colour in COLOURS.items():
        for field, style, fill in zip(fields, ("-", "--"), (colour, theme.PAPER), strict=True):
            points = [(choice.d, getattr(choice, field)) for choice in trade_off.of(order)]
            points = [(d, value) for d, value in points if math.isfinite(value)]
            (line,) = axes.plot([d for d, _ in points], [value for _, value in points], style)
            line.set(marker="o", ms=5, lw=1.5, color=colour, mfc=fill, zorder=3)
            values += [value for _, value in points]
    axes.set_xticks(sorted({choice.d for choice in trade_off.choices}))
    axes.set_xlabel("number of features d")
    axes.set_ylabel(panel.label)
    axes.set_title(panel.title.format(best=the_best(trade_off.m)))
    _explain(axes, panel)
    return values


def _draw_unstructured(axes: Axes, time: float) -> None:
    """The time without features as a line, if there is one."""
    if math.isfinite(time):
        axes.axhline(time, color=theme.INK, lw=1.0, ls=":", zorder=1)
        end = axes.get_xlim()[1]
        axes.text(
            end, time, "without features", ha="right", va="bottom", fontsize=8, color=theme.INK
        )


def _explain(axes: Axes, panel: _Panel) -> None:
    """What solid and dashed lines are, in grey: colours have a legend of their own."""
    from matplotlib.lines import Line2D

    marks: dict[str, Any] = {"color": theme.GREY, "marker": "o", "ms": 4, "lw": 1.2}
    handles = [
        Line2D([], [], ls="-", label=panel.solid[1], **marks),
        Line2D([], [], ls="--", mfc=theme.PAPER, label=panel.dashed[1], **marks),
    ]
    axes.legend(handles=handles, fontsize=8)
