"""Pictures of one identification, one matplotlib axes each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mislid._validation import as_number, as_top_m, as_weights
from mislid._words import the_best
from mislid.model import Instance
from mislid.plotting.theme import (
    BEST,
    CONTRAST,
    GREY,
    LINES,
    PAPER,
    REST,
    refuse_other_axes,
    refuse_other_lists,
    refuse_others,
    tidy,
)
from mislid.simulation.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_allocation(
    axes: Axes,
    instance: Instance,
    m: int,
    counts: npt.ArrayLike,
    *,
    optimal: npt.ArrayLike | None = None,
) -> None:
    """The share of the measurements that every arm got, against an even share.

    Arms are ordered by their true means, best first, the m best in a darker colour.

    Parameters
    ----------
    axes
        Where to draw.
    instance
        The arms.
    m
        How many are the answer.
    counts
        Measurements of every arm (K,).
    optimal
        The allocation (K,) to compare with, as `characteristic_time` gives it.

    Raises
    ------
    ProblemError
        Where m, counts or optimal do not fit the instance, or `axes` are not one axes of
        matplotlib.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mislid import Instance, Model
    >>> axes = Figure().subplots()
    >>> instance = Instance(Model([[1.0], [2.0]], misspecification=0.1), [1.0, 2.0])
    >>> plot_allocation(axes, instance, 1, [10, 30])
    >>> [float(bar.get_height()) for bar in axes.patches]
    [0.75, 0.25]
    """
    refuse_other_axes(axes)
    refuse_others(instance, Instance, "instance", "mislid.Instance()")
    m = as_top_m(m, instance.K)
    taken = as_weights(counts, instance.K, "counts")
    order = np.argsort(-instance.means, kind="stable")
    place = np.arange(order.size)
    share = taken[order] / taken.sum()
    bars = [
        axes.bar(place[:m], share[:m], color=BEST, label=f"measured, {the_best(m)}"),
        axes.bar(place[m:], share[m:], color=REST, label="measured, the others"),
    ]
    lines = []
    if optimal is not None:
        ideal = as_weights(optimal, instance.K, "optimal")[order]
        lines = axes.plot(place, ideal / ideal.sum(), "D", label="optimal allocation")
        lines[0].set(ms=7, mfc=PAPER, mec=CONTRAST, mew=1.6, zorder=3, clip_on=False)
    even = axes.axhline(1.0 / order.size, color=GREY, lw=0.9, ls="--", label="even share")
    _name_arms(axes, instance, order)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_ylabel("share of the measurements")
    axes.legend(handles=[*bars, *lines, even], frameon=False, fontsize=8.5)
    tidy(axes)


def plot_evidence(
    axes: Axes, runs: Mapping[str, Sequence[Progress]], *, bound: float | None = None
) -> None:
    """How the evidence of runs grew, as a share of what their stopping rule asks for.

    Parameters
    ----------
    axes
        Where to draw.
    runs
        What the callbacks of runs were given, by name; the first run is drawn boldest.
    bound
        The number of measurements that any method needs on average.

    Raises
    ------
    ProblemError
        Where there are no runs or one of them is empty, where `bound` is negative, or
        where `axes` are not one axes of matplotlib.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mislid import Instance, Model, identify
    >>> seen = []
    >>> instance = Instance(Model([[1.0], [2.0]], misspecification=0.1), [1.0, 2.0])
    >>> found = identify(instance, 1, callback=seen.append)
    >>> axes = Figure().subplots()
    >>> plot_evidence(axes, {"mislid": seen})
    >>> int(axes.lines[1].get_xdata()[-1]) == found.samples
    True
    """
    refuse_other_axes(axes)
    rule = "runs must hold at least one run, each with what its callback was given"
    refuse_other_lists(runs, Progress, rule)
    if bound is not None:
        bound = as_number(bound, "bound", low=0, high=math.inf, allow_inf=True)
    axes.axhline(1.0, color=GREY, lw=0.9, ls="--")
    for at, (name, seen) in enumerate(runs.items()):
        last, colour = seen[-1], LINES[at % len(LINES)]
        label = f"{name}: {last.samples:,}" + ("" if last.evidence >= 1.0 else ", not sure")
        axes.plot(
            [progress.samples for progress in seen],
            [progress.evidence for progress in seen],
            color=colour,
            lw=2.2 if at == 0 else 1.5,
            label=label,
            zorder=3 if at == 0 else 2,
        )
        axes.plot([last.samples], [last.evidence], "o", color=colour, ms=7, zorder=4)
    if bound is not None:
        axes.axvline(bound, color=CONTRAST, lw=1.2, ls=":", label=f"lower bound: {bound:,.0f}")
    # Room for the word to the right of the last dot.
    axes.set_xlim(0.0, 1.15 * max(seen[-1].samples for seen in runs.values()))
    axes.set_ylim(0.0, 1.12)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.text(axes.get_xlim()[1], 1.015, "enough", ha="right", va="bottom", color=GREY, fontsize=9)
    axes.set_xlabel("measurements")
    axes.set_ylabel("evidence, as a share of the threshold")
    name_lines(axes)
    tidy(axes)


def name_lines(axes: Axes) -> None:
    """Names of lines, on paper where they lie upon one of them."""
    legend = axes.legend(frameon=True, framealpha=0.85, fontsize=8.5, loc="lower right")
    legend.get_frame().set(facecolor=PAPER, edgecolor="none")
    legend.set_zorder(5)


def _name_arms(axes: Axes, instance: Instance, order: npt.NDArray[np.intp]) -> None:
    labels = [str(instance.label(int(arm))) for arm in order]
    upright = max(map(len, labels)) <= 2
    axes.set_xticks(
        range(order.size),
        labels,
        rotation=0 if upright else 45,
        ha="center" if upright else "right",
        rotation_mode="anchor",
    )
    axes.set_xlabel("arm, best first")
