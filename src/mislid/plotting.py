"""Pictures of one identification, one matplotlib axes each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mislid._validation import as_top_m, as_weights
from mislid.errors import ProblemError
from mislid.model import Instance
from mislid.simulation.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEST, REST, OPTIMAL, GREY = "#2a7f9e", "#a9c9d6", "#d1495b", "#6b7280"
# The first is the method that a picture is about.
COLOURS = ("#2a7f9e", "#e08e45", "#6b7280", "#7a5195", "#3d8361", "#b23a48")


def plot_allocation(
    axes: Axes,
    instance: Instance,
    m: int,
    counts: npt.ArrayLike,
    *,
    optimal: npt.ArrayLike | None = None,
) -> None:
    """The share of the measurements that every arm got, against an even share.

    Arms are ordered by their true means, best first, the m best in a darker colour. `optimal` (K,)
    is the allocation to compare with, as `characteristic_time` gives it.
    """
    m = as_top_m(m, instance.K)
    taken = as_weights(counts, instance.K, "counts")
    order = np.argsort(-instance.means, kind="stable")
    place = np.arange(order.size)
    share = taken[order] / taken.sum()
    axes.bar(place[:m], share[:m], color=BEST, label=f"measured, the {m} best")
    axes.bar(place[m:], share[m:], color=REST, label="measured, the others")
    if optimal is not None:
        ideal = as_weights(optimal, instance.K, "optimal")[order]
        (marks,) = axes.plot(place, ideal / ideal.sum(), "D", label="optimal allocation")
        marks.set(ms=7, mfc="white", mec=OPTIMAL, mew=1.6, zorder=3, clip_on=False)
    axes.axhline(1.0 / order.size, color=GREY, lw=0.9, ls="--", label="even share")
    _name_arms(axes, instance, order)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_ylabel("share of the measurements")
    handles, labels = axes.get_legend_handles_labels()
    bars_first = np.argsort([not label.startswith("measured") for label in labels], kind="stable")
    axes.legend(
        [handles[at] for at in bars_first],
        [labels[at] for at in bars_first],
        frameon=False,
        fontsize=8.5,
    )
    _tidy(axes)


def plot_evidence(
    axes: Axes, runs: Mapping[str, Sequence[Progress]], *, bound: float | None = None
) -> None:
    """How the evidence of runs grew, as a share of what their stopping rule asks for.

    `runs` are what callbacks were given, by name. `bound` is the number of measurements that any
    method needs on average.
    """
    if not runs or not all(runs.values()):
        raise ProblemError("runs must hold at least one run, each with what its callback was given")
    axes.axhline(1.0, color=GREY, lw=0.9, ls="--")
    for at, (name, seen) in enumerate(runs.items()):
        last, colour = seen[-1], COLOURS[at % len(COLOURS)]
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
        axes.axvline(bound, color=OPTIMAL, lw=1.2, ls=":", label=f"lower bound: {bound:,.0f}")
    axes.set_xlim(left=0.0)
    axes.set_ylim(0.0, 1.12)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.text(axes.get_xlim()[1], 1.015, "enough", ha="right", va="bottom", color=GREY, fontsize=9)
    axes.set_xlabel("measurements")
    axes.set_ylabel("evidence, as a share of the threshold")
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")
    _tidy(axes)


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


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
