"""Pictures of single identifications, one matplotlib axes each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mislid._formatting import the_best
from mislid._validation import as_top_m, as_weights
from mislid.errors import ProblemError
from mislid.model import Instance
from mislid.plotting.theme import (
    BEST,
    CONTRAST,
    GREY,
    LINES,
    REST,
    refuse_other_axes,
    refuse_others,
    tidy,
)
from mislid.simulation.identify import Identification

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_counts(axes: Axes, instance: Instance, m: int, counts: npt.ArrayLike) -> None:
    """Bars of the measurements of every arm, the arm with the largest mean first.

    Parameters
    ----------
    axes
        Where to draw.
    instance
        The arms.
    m
        The number of arms in the answer; these are darker.
    counts
        Measurements of every arm (K,).

    Raises
    ------
    ProblemError
        If `m` or `counts` do not fit the instance, or `axes` are not one axes of matplotlib.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mislid import Instance, Model
    >>> axes = Figure().subplots()
    >>> instance = Instance(Model([[1.0], [2.0]], misspecification=0.1), [1.0, 2.0])
    >>> plot_counts(axes, instance, 1, [10, 30])
    >>> [float(bar.get_height()) for bar in axes.patches]
    [30.0, 10.0]
    """
    refuse_other_axes(axes)
    refuse_others(instance, Instance, "instance", "mislid.Instance()")
    m = as_top_m(m, instance.K)
    taken = as_weights(counts, instance.K, "counts")
    order = np.argsort(-instance.means, kind="stable")
    place = np.arange(order.size)
    axes.bar(place[:m], taken[order[:m]], color=BEST, label=the_best(m))
    axes.bar(place[m:], taken[order[m:]], color=REST, label="the others")
    even = taken.sum() / order.size
    axes.axhline(even, color=GREY, lw=0.9, ls="--", label=f"even share: {even:,.0f}")
    labels = [str(instance.label(int(arm))) for arm in order]
    upright = max(map(len, labels)) <= 2
    axes.set_xticks(place.tolist(), labels, rotation_mode="anchor")
    for label in axes.get_xticklabels():
        label.set(rotation=0 if upright else 45, ha="center" if upright else "right")
    axes.set_xlabel("arm, largest mean first")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("measurements")
    axes.legend()
    tidy(axes)


def plot_proved(axes: Axes, runs: Mapping[str, Identification]) -> None:
    """How many comparisons of the answer with the other arms were proved, along runs.

    A comparison of an arm of the answer with another arm is proved when its evidence reaches the
    threshold. A run stops when all m (K - m) are.

    Parameters
    ----------
    axes
        Where to draw.
    runs
        Runs of one question by name; the first is drawn boldest. A run whose stopping rule settles
        no single pairs is a cross at its last measurement.

    Raises
    ------
    ProblemError
        If there are no runs, or `axes` are not one axes of matplotlib.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mislid import Instance, Model, identify
    >>> instance = Instance(Model([[1.0], [2.0]], misspecification=0.1), [1.0, 2.0])
    >>> found = identify(instance, 1)
    >>> axes = Figure().subplots()
    >>> plot_proved(axes, {"mislid": found})
    >>> int(axes.lines[1].get_xdata()[-1]) == found.samples
    True
    """
    refuse_other_axes(axes)
    _refuse_other_runs(runs)
    question = next(iter(runs.values())).question
    pairs = question.m * (question.K - question.m)
    axes.axhline(pairs, color=GREY, lw=0.9, ls="--")
    for at, (name, found) in enumerate(runs.items()):
        end, times = found.samples, sorted(found.settled.values())
        label = f"{name}: {end:,}"
        if times:
            colour, label = LINES[at % len(LINES)], label + _verdict(found)
            proved = [0, *range(1, len(times) + 1), len(times)]
            (line,) = axes.plot([0, *times, end], proved, color=colour, label=label)
            line.set(drawstyle="steps-post", lw=2.4 if at == 0 else 1.6, zorder=3 if at == 0 else 2)
            axes.plot([end], [len(times)], "o", color=colour, ms=8, zorder=4)
        else:
            axes.plot([end], [0.0], "X", color=CONTRAST, ms=8, clip_on=False, label=label)
    axes.set_xlim(0.0, 1.05 * max(found.samples for found in runs.values()))
    axes.set_ylim(0.0, 1.08 * pairs)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("measurements")
    axes.set_ylabel("comparisons proved")
    axes.text(0.0, pairs, f" all {pairs}: the answer is proved", va="bottom", color=GREY)
    axes.legend(loc="lower right", title="measurements until it stops")
    tidy(axes)


def _verdict(found: Identification) -> str:
    return "" if found.status == "stopped" else ", not proved"


def _refuse_other_runs(runs: Any) -> None:
    if not isinstance(runs, Mapping) or not runs:
        raise ProblemError("runs must hold at least one run by its name, as identify() gives it")
    for name, found in runs.items():
        refuse_others(found, Identification, f"runs[{name!r}]", "mislid.identify()")
