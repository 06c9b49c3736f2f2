"""What fewer features cost: misspecification, characteristic time and first pulls by number."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid.plotting.theme import (
    BEST,
    CONTRAST,
    GREY,
    INK,
    PAPER,
    drawing,
    new_figure,
    save_png,
    scale,
    tidy,
)
from mislid.representation.trade_off import TradeOff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# By order of the features: the colour, and the words.
COLOURS = {"variance": BEST, "prediction": CONTRAST}
NAMES = {"variance": "largest spread first", "prediction": "predictions first"}
# Above the largest value is room for a legend.
ROOM = 1.25


class _Pair(NamedTuple):
    """Two fields of a choice and their names: filled marks on solid lines, white on dashed ones."""

    solid: tuple[str, str]
    dashed: tuple[str, str]


def plot_misspecification(axes: Axes, trade_off: TradeOff) -> None:
    """Largest error of the linear model against d, for the network's own theta and the best.

    Parameters
    ----------
    axes
        Where to draw.
    trade_off
        What `Representation.trade_off` gives.
    """
    pair = _Pair(
        ("misspecification", "network's parameters"), ("least_misspecification", "best parameters")
    )
    _draw(axes, trade_off, pair)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("largest absolute error")
    axes.set_title("misspecification")


def plot_time(axes: Axes, trade_off: TradeOff) -> None:
    """Characteristic times in tubes of those widths, and the time without features as a line.

    Parameters
    ----------
    axes
        Where to draw.
    trade_off
        What `Representation.trade_off` gives.
    """
    pair = _Pair(("time", "network's misspecification"), ("least_time", "least misspecification"))
    values = _draw(axes, trade_off, pair)
    alone = trade_off.unstructured
    if math.isfinite(alone):
        axes.axhline(alone, color=INK, lw=1.0, ls=":", zorder=1)
        at = axes.get_xlim()[1]
        axes.text(at, alone, "without features", ha="right", va="bottom", fontsize=8, color=INK)
        values.append(alone)
    scale(axes, "y", values, ROOM)
    axes.set_ylabel("characteristic time")
    axes.set_title(f"time to find the {trade_off.m} best")


def plot_pulls(axes: Axes, trade_off: TradeOff) -> None:
    """Length of the initial design of the paper's analysis, before and after whitening.

    Parameters
    ----------
    axes
        Where to draw.
    trade_off
        What `Representation.trade_off` gives.
    """
    pair = _Pair(("pulls", "as they are"), ("white_pulls", "whitened"))
    scale(axes, "y", _draw(axes, trade_off, pair), ROOM)
    axes.set_ylabel("pulls")
    axes.set_title("before the first decision")


def save_trade_off(path: Path, trade_off: TradeOff) -> None:
    """The three pictures side by side as a PNG file, whole or not at all.

    Parameters
    ----------
    path
        Where it goes.
    trade_off
        What `Representation.trade_off` gives.

    Examples
    --------
    >>> import tempfile
    >>> from mislid.representation import Choice
    >>> choices = [Choice(order, 1, 0.4, 0.3, 2.0, 10.0, 5.0, 9.0, 8.0) for order in COLOURS]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_trade_off(Path(folder) / "choices.png", TradeOff(1, tuple(choices), 12.0))
    ...     (Path(folder) / "choices.png").read_bytes()[1:4]
    b'PNG'
    """
    with drawing():
        figure = new_figure(3.6, 10.6)
        panels = figure.subplots(1, 3)
        for axes, plot in zip(panels, (plot_misspecification, plot_time, plot_pulls), strict=True):
            plot(axes, trade_off)
        lines = [line for line in panels[0].lines if line.get_linestyle() == "-"]
        names = [NAMES[order] for order in COLOURS]
        figure.legend(lines, names, loc="outside lower center", ncols=2)
    save_png(figure, path)


def _draw(axes: Axes, trade_off: TradeOff, pair: _Pair) -> list[float]:
    """Both fields of every order against d; what is not finite is left out and not returned."""
    values: list[float] = []
    for order, colour in COLOURS.items():
        for (field, _), style, fill in zip(pair, ("-", "--"), (colour, PAPER), strict=True):
            points = [(choice.d, getattr(choice, field)) for choice in trade_off.of(order)]
            points = [(d, value) for d, value in points if math.isfinite(value)]
            axes.plot(
                [d for d, _ in points],
                [value for _, value in points],
                style,
                marker="o",
                ms=5,
                lw=1.5,
                color=colour,
                mfc=fill,
                zorder=3,
            )
            values += [value for _, value in points]
    axes.set_xticks(sorted({choice.d for choice in trade_off.choices}))
    axes.set_xlabel("number of features d")
    _explain(axes, pair)
    tidy(axes)
    return values


def _explain(axes: Axes, pair: _Pair) -> None:
    """What solid and dashed lines are, in grey: colours have a legend of their own."""
    from matplotlib.lines import Line2D

    marks: dict[str, Any] = {"color": GREY, "marker": "o", "ms": 4, "lw": 1.2}
    handles = [
        Line2D([], [], ls="-", label=pair.solid[1], **marks),
        Line2D([], [], ls="--", mfc=PAPER, label=pair.dashed[1], **marks),
    ]
    axes.legend(handles=handles, frameon=False, fontsize=8)
