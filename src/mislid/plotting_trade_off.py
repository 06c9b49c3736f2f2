"""What fewer features cost: misspecification, characteristic time and first pulls by number."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid.representation.trade_off import TradeOff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"variance": "#2a7f9e", "prediction": "#d1495b"}
NAMES = {"variance": "largest spread first", "prediction": "predictions first"}
ALONE = "#1f2937"
# A linear axis hides values that are more than this many times smaller than the largest.
SPREAD = 30.0


class _Pair(NamedTuple):
    """Two fields of a choice and their names: filled marks on solid lines, white on dashed ones."""

    solid: tuple[str, str]
    dashed: tuple[str, str]


def plot_misspecification(axes: Axes, trade_off: TradeOff) -> None:
    """Largest error of the linear model against d, for the network's own theta and the best."""
    pair = _Pair(
        ("misspecification", "network's parameters"), ("least_misspecification", "best parameters")
    )
    _draw(axes, trade_off, pair)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("largest absolute error")
    axes.set_title("misspecification", fontsize=10)


def plot_time(axes: Axes, trade_off: TradeOff) -> None:
    """Characteristic times in tubes of those widths, and the time without features as a line."""
    pair = _Pair(("time", "network's misspecification"), ("least_time", "least misspecification"))
    values = _draw(axes, trade_off, pair)
    alone = trade_off.unstructured
    if math.isfinite(alone):
        axes.axhline(alone, color=ALONE, lw=1.0, ls=":", zorder=1)
        at = axes.get_xlim()[1]
        axes.text(at, alone, "without features", ha="right", va="bottom", fontsize=8, color=ALONE)
        values.append(alone)
    _scale(axes, values)
    axes.set_ylabel("characteristic time")
    axes.set_title(f"time to find the {trade_off.m} best", fontsize=10)


def plot_pulls(axes: Axes, trade_off: TradeOff) -> None:
    """Length of the initial design of the paper's analysis, before and after whitening."""
    pair = _Pair(("pulls", "as they are"), ("white_pulls", "whitened"))
    _scale(axes, _draw(axes, trade_off, pair))
    axes.set_ylabel("pulls")
    axes.set_title("before the first decision", fontsize=10)


def save_trade_off(path: Path, trade_off: TradeOff) -> None:
    """The three pictures side by side as a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.4, 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3)
    for axes, plot in zip(panels, (plot_misspecification, plot_time, plot_pulls), strict=True):
        plot(axes, trade_off)
        axes.spines[["top", "right"]].set_visible(False)
    lines = [line for line in panels[0].lines if line.get_linestyle() == "-"]
    figure.legend(
        lines,
        [NAMES[order] for order in COLOURS],
        loc="outside lower center",
        ncols=2,
        frameon=False,
        fontsize=9,
    )
    figure.savefig(path, dpi=150)


def _draw(axes: Axes, trade_off: TradeOff, pair: _Pair) -> list[float]:
    """Both fields of every order against d; what is not finite is left out and not returned."""
    values: list[float] = []
    for order, colour in COLOURS.items():
        for (field, _), style, fill in zip(pair, ("-", "--"), (colour, "white"), strict=True):
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
    return values


def _explain(axes: Axes, pair: _Pair) -> None:
    """What solid and dashed lines are, in grey: colours have a legend of their own."""
    from matplotlib.lines import Line2D

    marks: dict[str, Any] = {"color": "0.4", "marker": "o", "ms": 4, "lw": 1.2}
    handles = [
        Line2D([], [], ls="-", label=pair.solid[1], **marks),
        Line2D([], [], ls="--", mfc="white", label=pair.dashed[1], **marks),
    ]
    axes.legend(handles=handles, frameon=False, fontsize=8)


def _scale(axes: Axes, values: list[float]) -> None:
    """A linear or a logarithmic axis, with room at the top."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    positive = [value for value in values if value > 0.0]
    if positive and max(positive) > SPREAD * min(positive):
        axes.set_yscale("log")
        axes.set_ylim(min(positive) / 1.6, max(positive) * 2.5)
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif positive:
        axes.set_ylim(0.0, 1.25 * max(positive))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}"))
