"""What fewer features cost: misspecification and characteristic time against their number."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from mislid.representation.trade_off import Choice, TradeOff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"variance": "#2a7f9e", "prediction": "#d1495b"}
NAMES = {"variance": "largest spread first", "prediction": "predictions first"}
ALONE = "#1f2937"


def plot_misspecification(axes: Axes, trade_off: TradeOff) -> None:
    """Largest errors against d: solid for the network's own theta, dashed for the best one."""
    _draw(axes, trade_off, "misspecification", "least_misspecification")
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("largest error of the linear model")
    axes.set_title("misspecification", fontsize=10)


def plot_time(axes: Axes, trade_off: TradeOff) -> None:
    """Characteristic times in tubes of those widths, and the time without structure as a line."""
    _draw(axes, trade_off, "time", "least_time")
    if math.isfinite(trade_off.unstructured):
        axes.axhline(trade_off.unstructured, color=ALONE, lw=1.0, ls=":", zorder=1)
        axes.annotate(
            "without features",
            (1.0, trade_off.unstructured),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 3),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
            color=ALONE,
        )
    _scale_times(axes, trade_off)
    axes.set_ylabel("characteristic time")
    axes.set_title(f"time to find the {trade_off.m} best", fontsize=10)


def save_trade_off(path: Path, trade_off: TradeOff) -> None:
    """Both pictures side by side as a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    plot_misspecification(left, trade_off)
    plot_time(right, trade_off)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def _draw(axes: Axes, trade_off: TradeOff, own: str, least: str) -> None:
    for order, colour in COLOURS.items():
        choices = trade_off.of(order)
        d = [choice.d for choice in choices]
        for field, style, fill, whose in (
            (own, "-", colour, "network's parameters"),
            (least, "--", "white", "best parameters"),
        ):
            axes.plot(
                d,
                _finite(choices, field),
                style,
                marker="o",
                ms=5,
                lw=1.5,
                color=colour,
                mfc=fill,
                label=f"{NAMES[order]}, {whose}",
                zorder=3,
            )
    axes.set_xticks(sorted({choice.d for choice in trade_off.choices}))
    axes.set_xlabel("number of features d")


def _finite(choices: tuple[Choice, ...], field: str) -> list[float]:
    values = [float(getattr(choice, field)) for choice in choices]
    return [value if math.isfinite(value) else math.nan for value in values]


def _scale_times(axes: Axes, trade_off: TradeOff) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    times = [time for choice in trade_off.choices for time in (choice.time, choice.least_time)]
    positive = [time for time in times if 0.0 < time < math.inf]
    if positive and max(positive) > 30.0 * min(positive):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
