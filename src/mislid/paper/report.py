"""Reports of finished experiments: runs, tables and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mislid.io import write_whole
from mislid.paper.experiments import DELTA
from mislid.paper.reproduce import LEVEL, Outcome, Result, Statistics, compare
from mislid.plotting.pictures import height_of, plot_runs
from mislid.plotting.theme import GREY, drawing, new_figure, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADING = (
    *("method", "stopping", "runs", "samples", "wrong", "processor seconds a run"),
    *("published samples", "wrong", "seconds a run", "difference of means"),
)


def write_report(result: Result) -> None:
    """Write report.md and the figure beside the runs.

    Parameters
    ----------
    result
        The result of `run_experiment`.

    Raises
    ------
    MissingPackageError
        Without matplotlib; all files but the figure are then written.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from tempfile import TemporaryDirectory
    >>> from mislid.paper.experiments import EXPERIMENTS
    >>> from mislid.paper.reproduce import run_experiment
    >>> (case,) = EXPERIMENTS["C"].cases
    >>> small = replace(EXPERIMENTS["C"], cases=(replace(case, methods=case.methods[-1:]),))
    >>> with TemporaryDirectory() as folder:
    ...     result = run_experiment(small, folder, runs=2)
    ...     write_report(result)
    ...     sorted(path.name for path in result.folder.iterdir())
    ['figure.png', 'parts', 'report.md']
    """
    write_whole(result.folder / "report.md", report_text(result).encode())
    with drawing():
        save(draw_result(result), result.folder / "figure.png")


def table_text(result: Result) -> str:
    """The tables of an experiment: one row per method, with our and the published numbers."""
    parts = []
    for case in result.experiment.cases:
        outcomes = result.of(case)
        instance = outcomes[0].instance
        parts += [
            (
                f"**{case.name}: {case.title} (K = {instance.K}, d = {instance.d}, m = {case.m}), "
                f"error rate {DELTA:g}**"
            ),
            _markdown(_HEADING, [_row(outcome, result.exact) for outcome in outcomes]),
        ]
    return "\n\n".join(parts) + "\n"


def report_text(result: Result) -> str:
    """The report of an experiment as Markdown."""
    experiment = result.experiment
    source = (
        "the published instances"
        if result.exact
        else "instances drawn by the paper's recipe, not the published ones, whose numbers are "
        "shown for their order of magnitude only (`mislid data fetch instances` gets them)"
    )
    parts = [
        f"# {experiment.name}: {experiment.title}",
        (
            f"Runs on {source}; seed {result.seed}. Samples are means ± standard deviations over "
            "runs; wrong is the share of wrong answers; brackets are 99% intervals (Welch's for a "
            "difference of means, exact for an error rate). The heuristic stopping rule is the "
            "paper's and proves nothing; the guaranteed one is proved to err at most at the error "
            "rate. A mean agrees if it is within 10% of the published one (20% for the tricks on "
            "E), or if the runs cannot tell the two apart at 99%."
        ),
        table_text(result).strip(),
        f"![Samples until stopping in experiment {experiment.name}](figure.png)",
        experiment.notes,
        "\n".join(_remarks(result)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _row(outcome: Outcome, exact: bool) -> list[str]:
    """Our and the published numbers, the difference of means, and whether they agree."""
    method, ours, published = outcome.method, outcome.statistics, outcome.published
    cells = [method.name, method.stopping, *_cells(ours)]
    if published is None:
        return [*cells, "", "", "", ""]
    verdict = "another instance"
    if exact and method.margin is not None:
        found = compare(ours, published)
        agrees = "agrees" if found.agrees(method.margin) else "**differs**"
        errors = "" if found.errors_agree else ", **other error rate**"
        interval = f"[{found.low:+,.0f}, {found.high:+,.0f}]"
        verdict = f"{found.relative:+.1%} {interval}: {agrees}{errors}"
    return [*cells, *_cells(published)[1:], verdict]


def _cells(statistics: Statistics) -> list[str]:
    spread = f" ± {statistics.std:,.0f}" if statistics.runs > 1 else ""
    low, high = rate_interval(statistics.wrong, statistics.runs)
    seconds = statistics.seconds or 0.0
    return [
        f"{statistics.runs:,}",
        f"{statistics.mean:,.0f}{spread}",
        f"{statistics.wrong / statistics.runs:.1%} [{low:.1%}, {high:.1%}]",
        "" if statistics.seconds is None else f"{seconds:,.{'3g' if seconds < 100 else '0f'}}",
    ]


def _remarks(result: Result) -> list[str]:
    """Known reasons for means that differ from the published ones."""
    return [
        f"- {outcome.method.label} ({outcome.case.name}): {outcome.method.remark}"
        for outcome in result.outcomes
        if outcome.method.remark and result.exact
    ]


def _markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns.

    >>> print(_markdown(["method", "b"], [["LUCB", "2"]]))
    | method | b   |
    | ------ | --- |
    | LUCB   | 2   |
    """
    widths = [max(3, *map(len, column)) for column in zip(heading, *rows, strict=True)]
    lines = [heading, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(map(str.ljust, cells, widths)) + " |" for cells in lines)


def rate_interval(wrong: int, runs: int) -> tuple[float, float]:
    """Exact confidence interval for an error rate (Clopper and Pearson 1934).

    Examples
    --------
    >>> low, high = rate_interval(0, 500)
    >>> low, round(high, 4)
    (0.0, 0.0105)
    """
    from scipy.stats import binomtest

    found = binomtest(wrong, runs).proportion_ci(LEVEL, method="exact")
    return float(found.low), float(found.high)


def draw_result(result: Result) -> Figure:
    """Box plots by method, in a panel for each case; dashed lines are published means."""
    cases = result.experiment.cases
    drawn = [result.of(case) for case in cases]
    heights = [height_of(len(outcomes)) for outcomes in drawn]
    figure = new_figure(0.4 + sum(heights))
    rows = figure.subplots(len(cases), 1, squeeze=False, height_ratios=heights)
    dashed = "dashed: published mean" + ("" if result.exact else ", on another instance")
    for axes, case, outcomes in zip(rows[:, 0], cases, drawn, strict=True):
        plot_runs(axes, {one.method.label: one.rows for one in outcomes}, DELTA)
        for at, one in enumerate(outcomes):
            if one.published is not None:
                ends = [one.published.mean] * 2, [at - 0.42, at + 0.42]
                axes.plot(*ends, "--", color=GREY, lw=1.6, zorder=3)
        axes.set_title(f"{case.title}; {axes.get_title('left')}; {dashed}", fontsize=9, loc="left")
        axes.tick_params(axis="y", labelsize=8.5)
    figure.suptitle(f"{result.experiment.name}: {result.experiment.title}", fontweight="bold")
    return figure
