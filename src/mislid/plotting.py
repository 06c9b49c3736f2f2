"""Pictures of answers, one matplotlib axes each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mislid.geometry.alternatives import Alternative
from mislid.geometry.time import CharacteristicCurve, CharacteristicTime
from mislid.model import Instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH, OTHER, TUBE, BEST = "#1f2937", "#d1495b", "#dbe4ee", "#2a7f9e"


def plot_alternative(axes: Axes, instance: Instance, alternative: Alternative) -> None:
    """The means, the closest alternative, and the tube around its linear part.

    Arms are ordered by mean, best first; the two that trade places are drawn in red.
    """
    order = np.argsort(-instance.means, kind="stable")
    place = np.arange(order.size)
    _draw_tube(axes, instance, alternative, order)
    moved = alternative.means[order]
    axes.vlines(place, instance.means[order], moved, color=OTHER, lw=1.2)
    axes.plot(place, instance.means[order], "o", color=TRUTH, label="means", zorder=3)
    label = "closest alternative"
    axes.plot(place, moved, "D", ms=5, mfc="white", mec=OTHER, label=label, zorder=4)
    pair = np.isin(order, alternative.pair)
    axes.plot(place[pair], moved[pair], "D", ms=6, color=OTHER, zorder=5)
    incumbents = len(alternative.incumbents)
    if incumbents:
        axes.axvline(incumbents - 0.5, color="0.6", lw=0.8, ls=":")
    _name_arms(axes, instance, order)
    axes.set_ylabel("mean reward")
    axes.legend(frameon=False, fontsize=8)


def _draw_tube(
    axes: Axes, instance: Instance, alternative: Alternative, order: NDArray[np.intp]
) -> None:
    """The interval that the alternative's own linear part leaves to every arm."""
    width = instance.model.misspecification
    if not np.isfinite(width):
        return
    linear = (instance.model.features @ alternative.theta)[order]
    for at, middle in enumerate(linear):
        axes.fill_between([at - 0.4, at + 0.4], middle - width, middle + width, color=TUBE, lw=0)
    axes.fill_between([], [], color=TUBE, label="its linear part ± misspecification")


def _name_arms(axes: Axes, instance: Instance, order: NDArray[np.intp]) -> None:
    labels = [str(instance.label(int(arm))) for arm in order]
    axes.set_xticks(range(order.size), labels, rotation=90 if max(map(len, labels)) > 2 else 0)
    axes.set_xlabel("arm, best first")


def plot_allocation(axes: Axes, instance: Instance, time: CharacteristicTime) -> None:
    """The share of samples that an optimal method gives to each arm, against an even share."""
    order = np.argsort(-instance.means, kind="stable")
    best = np.isin(order, order[: time.m])
    colours = np.where(best, BEST, "#9aa5b1")
    axes.bar(np.arange(order.size), time.allocation[order], color=colours)
    axes.axhline(1.0 / order.size, color="0.4", lw=0.8, ls="--")
    axes.text(order.size - 0.5, 1.0 / order.size, "even", ha="right", va="bottom", fontsize=8)
    _name_arms(axes, instance, order)
    axes.set_ylabel("share of the samples")


def plot_curve(axes: Axes, curve: CharacteristicCurve, delta: float, declared: float) -> None:
    """Samples that any method needs as a function of the misspecification it allows for."""
    width = curve.misspecifications
    samples = np.array([time.samples(delta) for time in curve.times])
    finite = np.isfinite(width)
    axes.plot(width[finite], samples[finite], color=BEST, lw=1.8)
    at = float(np.interp(declared, width[finite], samples[finite]))
    axes.plot([declared], [at], "o", color=OTHER, zorder=3)
    axes.annotate("declared", (declared, at), (6, -10), textcoords="offset points", fontsize=8)
    if not np.all(finite):
        limit = float(np.max(samples[~finite]))
        axes.axhline(limit, color="0.4", lw=0.8, ls="--")
        axes.text(0.0, limit, "no model at all", va="bottom", fontsize=8)
    axes.set_ylim(bottom=0.0)
    axes.margins(y=0.12)
    axes.set_xlabel("misspecification")
    axes.set_ylabel(f"samples needed at error rate {delta:g}")
