"""What a study proves and refutes, over the misspecifications that one may believe in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mislid.forecast.sensitivity import Sensitivity
from mislid.plotting import theme
from mislid.plotting.words import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The end of the axis stands for all that is beyond the dial's values, in multiples of the largest.
BEYOND = 1.6


def draw_dial(found: Sensitivity) -> Figure:
    """The evidence of the weakest pair, against the misspecification.

    The range for which the answer is proved is shaded, and so is what the data refute.

    Parameters
    ----------
    found
        As `Study.sensitivity` gives it.

    Returns
    -------
    matplotlib.figure.Figure
        Without a curve before there is an estimate.

    Raises
    ------
    ProblemError
        Where `found` is something else.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=[[0], [1], [2]], m=1, misspecification=0.1, noise=1)
    >>> study.add_observations([(0, 0.1), (1, 1.2), (2, 2.1)] * 20)
    >>> draw_dial(study.sensitivity()).axes[0].get_xlabel()
    'misspecification'
    """
    theme.refuse_others(found, Sensitivity, "found", "Study.sensitivity()")
    with theme.drawing():
        figure = theme.new_figure(3.8, 7.2)
        axes = figure.subplots()
        finite = [row.misspecification for row in found.table if row.misspecification < math.inf]
        end = _axis(axes, finite)
        _shade(axes, found, end)
        _plot_evidence(axes, found, end)
        if found.declared < math.inf:
            axes.axvline(found.declared, color=theme.INK, lw=1.0, ls=":", label="declared")
        axes.set_xlim(0.0, end)
        axes.set_xlabel("misspecification")
        axes.set_ylabel("evidence of the weakest pair, in nats")
        axes.set_title(_title(found))
        axes.legend(loc="upper right")
        return figure


def _axis(axes: Axes, finite: list[float]) -> float:
    """Logarithmic but for the part next to 0; gives its end."""
    positive = [value for value in finite if value > 0.0]
    least, most = min(positive, default=0.1), max(positive, default=1.0)
    axes.set_xscale("symlog", linthresh=least)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    return BEYOND * most


def _shade(axes: Axes, found: Sensitivity, end: float) -> None:
    """What is proved, and what is refuted."""
    label: str | None = "proved" if found.proven else "decided"
    for low, high in found.decides:
        axes.axvspan(low, min(high, end), color=theme.BEST, alpha=0.15, lw=0.0, label=label)
        label = None  # a legend has one line for all ranges
    if found.smallest > 0.0:
        high = min(found.smallest, end)
        axes.axvspan(0.0, high, color=theme.CONTRAST, alpha=0.15, lw=0.0, label="refuted")


def _plot_evidence(axes: Axes, found: Sensitivity, end: float) -> None:
    rows = [row for row in found.table if math.isfinite(row.statistic)]
    if not rows:
        return
    places = [min(row.misspecification, end) for row in rows]
    axes.plot(places, [row.statistic for row in rows], color=theme.BEST, lw=1.8, marker="o", ms=3.5)
    needed = [row.threshold for row in rows]
    axes.plot(places, needed, color=theme.GREY, lw=1.0, ls="--", label="needed")
    if math.isinf(rows[-1].misspecification):
        axes.annotate(
            "any",
            (end, rows[-1].statistic),
            xytext=(-4, 6),
            textcoords="offset points",
            ha="right",
            fontsize=8.0,
            color=theme.BEST,
        )


def _title(found: Sensitivity) -> str:
    if found.answer is None or found.largest is None:
        return "proved for no misspecification"
    names = theme.shorten(", ".join(map(str, found.answer)), 40)
    up_to = "any" if math.isinf(found.largest) else f"up to {number(found.largest)}"
    return f"{names}: {'proved' if found.proven else 'decided'} for {up_to}"
