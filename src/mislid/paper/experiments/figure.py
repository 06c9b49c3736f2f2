"""Figures of experiments: boxes of our samples beside the published ones."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mislid.io import write_whole
from mislid.paper.experiments.runner import Outcome, Result
from mislid.plotting.runs import height_of, plot_runs
from mislid.plotting.theme import GREY, new_figure, require_matplotlib
from mislid.simulation.replicate import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIX = " as published"


def draw_result(result: Result) -> Figure:
    """A line with a box for every method, in a panel for each case.

    Published runs have dashed boxes where the single runs are at hand; where only their mean is
    known it is a dashed line across ours. Methods with runs that gave up are left out: their boxes
    would show the budget.
    """
    cases = result.experiment.cases
    drawn = [[outcome for outcome in result.of(case) if _answered(outcome)] for case in cases]
    heights = [height_of(len(_groups(outcomes, result)[0])) for outcomes in drawn]
    figure = new_figure(0.4 + sum(heights))
    rows = figure.subplots(len(cases), 1, squeeze=False, height_ratios=heights)
    dashed = "dashed: published" + ("" if result.exact else ", on another instance")
    for axes, case, outcomes in zip(rows[:, 0], cases, drawn, strict=True):
        _draw_case(axes, outcomes, result)
        axes.set_title(f"{case.title}; {axes.get_title('left')}; {dashed}", fontsize=9, loc="left")
        axes.tick_params(axis="y", labelsize=8.5)
        _name_missing(axes, [left for left in result.of(case) if not _answered(left)])
    figure.suptitle(f"{result.experiment.name}: {result.experiment.title}", fontweight="bold")
    return figure


def save_figure(result: Result) -> None:
    """Save the figure of `draw_result` as figure.png and figure.svg in the experiment's folder."""
    require_matplotlib("a figure")
    from matplotlib import rc_context

    figure = draw_result(result)
    # The same runs give the same bytes.
    with rc_context({"svg.hashsalt": "mislid"}):
        for form, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            content = io.BytesIO()
            figure.savefig(content, format=form, dpi=110, metadata=metadata)
            write_whole(result.folder / f"figure.{form}", content.getvalue())


def _answered(outcome: Outcome) -> bool:
    return outcome.statistics.unanswered == 0


def _groups(
    outcomes: Sequence[Outcome], result: Result
) -> tuple[dict[str, Sequence[Row]], dict[int, float]]:
    """Rows by label, and by position the published means of which nothing else is known."""
    groups: dict[str, Sequence[Row]] = {}
    means: dict[int, float] = {}
    for outcome in outcomes:
        method, published = outcome.method, outcome.published
        key = outcome.case.published_key(method)
        groups[method.label] = outcome.rows
        if published is None:
            continue
        rows = None if key is None else result.published_runs.get(key)
        if rows:
            groups[method.label + SUFFIX] = rows
        else:
            means[len(groups) - 1] = published.mean
    return groups, means


def _draw_case(axes: Axes, outcomes: Sequence[Outcome], result: Result) -> None:
    groups, means = _groups(outcomes, result)
    if not groups:
        axes.set(xticks=[], yticks=[], xlabel="samples until stopping")
        return
    published = [name for name in groups if name.endswith(SUFFIX)]
    plot_runs(axes, groups, result.experiment.delta, dashed=published)
    for at, mean in means.items():
        axes.plot([mean, mean], [at - 0.42, at + 0.42], "--", color=GREY, lw=1.6, zorder=3)
    _name_means(axes, means)


def _name_missing(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    if outcomes:
        names = "; ".join(outcome.method.label for outcome in outcomes)
        axes.set_xlabel(f"{axes.get_xlabel()}\nnot shown, with runs that gave up: {names}")


def _name_means(axes: Axes, means: dict[int, float]) -> None:
    """Write published means under the names, where they hide nothing."""
    names = [(label.get_text(), label.get_color()) for label in axes.get_yticklabels()]
    texts = [
        f"{text}\npublished mean {means[at]:,.0f}" if at in means else text
        for at, (text, _) in enumerate(names)
    ]
    axes.set_yticks(range(len(texts)), texts)
    for label, (_, colour) in zip(axes.get_yticklabels(), names, strict=True):
        label.set_color(colour)
