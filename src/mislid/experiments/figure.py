"""The figure of an experiment: our boxes beside the published ones."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mislid.files import write_whole
from mislid.plotting_runs import plot_runs
from mislid.simulation.replicate import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mislid.experiments.runner import Outcome, Result

PUBLISHED = "#5b6570"
SUFFIX = " as published"


def draw_result(result: Result) -> Figure:
    """One row of boxes for every case.

    Published runs have dashed boxes where the single runs are at hand; where only their mean is
    known it is a dashed line across ours. Methods with runs that gave up are left out: their boxes
    would show the budget.
    """
    from matplotlib.figure import Figure

    cases = result.experiment.cases
    drawn = [[one for one in result.of(case) if _answered(one)] for case in cases]
    width = max(len(_groups(outcomes, result)[0]) for outcomes in drawn)
    figure = Figure(figsize=(1.6 + 1.12 * width, 4.2 * len(cases)), layout="constrained")
    rows = figure.subplots(len(cases), 1, squeeze=False)
    dashed = "dashed: published" + ("" if result.exact else ", on another instance")
    for axes, case, outcomes in zip(rows[:, 0], cases, drawn, strict=True):
        _draw_case(axes, outcomes, result)
        axes.set_title(f"{case.title}; {axes.get_title()}; {dashed}", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(axis="x", labelsize=8)
    figure.suptitle(f"{result.experiment.name}: {result.experiment.title}", fontweight="bold")
    return figure


def save_figure(result: Result) -> None:
    """`draw_result` as figure.png and figure.svg."""
    from matplotlib import rc_context

    figure = draw_result(result)
    # The same runs give the same bytes.
    with rc_context({"svg.hashsalt": "mislid"}):
        for form, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            content = io.BytesIO()
            figure.savefig(content, format=form, dpi=110, metadata=metadata)
            write_whole(result.folder / f"figure.{form}", content.getvalue())


def _answered(outcome: Outcome) -> bool:
    return outcome.figures.unanswered == 0


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
        if published is None or key is None:
            continue
        rows = result.published_runs.get(key)
        if rows:
            groups[method.label + SUFFIX] = rows
        else:
            means[len(groups) - 1] = published.mean
    return groups, means


def _draw_case(axes: Axes, outcomes: Sequence[Outcome], result: Result) -> None:
    groups, means = _groups(outcomes, result)
    published = [name for name in groups if name.endswith(SUFFIX)]
    plot_runs(axes, groups, result.experiment.delta, dashed=published)
    for at, mean in means.items():
        axes.plot([at - 0.4, at + 0.27], [mean, mean], "--", color=PUBLISHED, lw=1.6, zorder=3)
    _name_means(axes, means)


def _name_means(axes: Axes, means: dict[int, float]) -> None:
    """Write published means under the names, where they hide nothing."""
    names = [(label.get_text(), label.get_color()) for label in axes.get_xticklabels()]
    texts = [
        f"{text}\npublished {means[at]:,.0f}" if at in means else text
        for at, (text, _) in enumerate(names)
    ]
    axes.set_xticks(range(len(texts)), texts)
    for label, (_, colour) in zip(axes.get_xticklabels(), names, strict=True):
        label.set_color(colour)
