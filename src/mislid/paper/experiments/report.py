"""Reports of finished experiments: settings, runs, tables, figure, and one page of several."""

from __future__ import annotations

import csv
import io
import json
import math
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from mislid._words import shown
from mislid.errors import ProblemError
from mislid.io import write_whole
from mislid.paper.experiments.figure import save_figure
from mislid.paper.experiments.published import Statistics, compare, rate_interval
from mislid.paper.experiments.runner import Outcome, Result
from mislid.simulation.replicate import Row

FIGURE = "figure.png"
_HEADING = (
    *("method", "stopping", "runs", "samples", "wrong", "processor seconds a run"),
    *("published samples", "wrong", "seconds a run", "difference of means"),
)
_VERDICT = (
    "A mean agrees if it is within 10% of the published one (20% for the tricks on E), or if the "
    "runs cannot tell the two apart at 99%."
)


def write_report(result: Result) -> None:
    """Write settings.json, runs.csv, table.md, report.md and the figures beside the runs.

    Parameters
    ----------
    result
        As `run_experiment` gives it.

    Raises
    ------
    ProblemError
        Where it is no `Result`, or its folder is gone.
    MissingPackageError
        Without matplotlib, when all but the figures are written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mislid.paper.experiments import Case, Experiment, Method, run_experiment
    >>> from mislid.paper.experiments.spec import Recipe
    >>> recipe = Recipe(K=4, d=2, m=2, gap=0.2)
    >>> case = Case("drawn", "4 arms", "", 2, 0.0, (Method("our default", "mislid"),), recipe)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(run_experiment(Experiment("small", "An example", (case,), runs=2), folder))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['figure.png', 'figure.svg', 'parts', 'report.md', 'runs.csv', 'settings.json', 'table.md']
    """
    if not isinstance(result, Result):
        raise ProblemError(f"result must be what run_experiment gives; got {shown(result)}")
    texts = {
        "settings.json": json.dumps(settings_of(result), indent=2) + "\n",
        "runs.csv": runs_text(result),
        "table.md": table_text(result),
        "report.md": _wrapped(report_text(result)),
    }
    for name, text in texts.items():
        write_whole(result.folder / name, text.encode())
    save_figure(result)


def settings_of(result: Result) -> dict[str, Any]:
    """The settings of the runs: seed, versions, and for every method its options and instance."""
    common = {"versions", "python", "seed"}
    cases: dict[str, dict[str, Any]] = {}
    for outcome in result.outcomes:
        own = {key: value for key, value in outcome.settings.items() if key not in common}
        cases.setdefault(outcome.case.name, {})[outcome.method.label] = own
    return {
        "experiment": result.experiment.name,
        "instances": "published" if result.exact else "drawn by the recipe",
        "seed": result.seed,
        "delta": result.experiment.delta,
        "versions": result.outcomes[0].settings["versions"],
        "python": platform.python_version(),
        "cases": cases,
    }


def runs_text(result: Result) -> str:
    """Every run in one table, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "method", "stopping", *Row._fields])
    for outcome in result.outcomes:
        start = outcome.case.name, outcome.method.name, outcome.method.stopping
        writer.writerows([*start, *row] for row in outcome.rows)
    return text.getvalue()


def table_text(result: Result) -> str:
    """The tables of an experiment: one row per method, ours beside the published."""
    parts = []
    for case in result.experiment.cases:
        outcomes = result.of(case)
        instance = outcomes[0].instance
        parts += [
            (
                f"**{case.name}: {case.title} (K = {instance.K}, d = {instance.d}, m = {case.m}), "
                f"error rate {result.experiment.delta:g}**"
            ),
            _markdown(_HEADING, [_row(outcome, result.exact) for outcome in outcomes]),
        ]
    return "\n\n".join(parts) + "\n"


def report_text(result: Result, figure: str = FIGURE, level: int = 1) -> str:
    """The report of one experiment as Markdown.

    `figure` is the place of its figure as seen from the report, `level` that of the first heading.
    """
    experiment = result.experiment
    source = (
        "the published instances"
        if result.exact
        else "instances drawn by the paper's recipe, not the published ones, whose numbers are "
        "shown for their order of magnitude only (`mislid data fetch instances` gets them)"
    )
    parts = [
        f"{'#' * level} {experiment.name}: {experiment.title}",
        (
            f"Runs on {source}; seed {result.seed}. Samples are means ± standard deviations over "
            "runs; wrong is the share of wrong answers; brackets are 99% intervals (Welch's for a "
            "difference of means, exact for an error rate). The heuristic stopping rule is the "
            "paper's and proves nothing; the guaranteed one is proved to err at most at the error "
            "rate."
        ),
        table_text(result).strip(),
        f"![Samples until stopping in experiment {experiment.name}]({figure})",
        *_list("Beside the published runs", _differences(result)),
        *_list("Notes", [*experiment.notes, *_warnings(result)]),
    ]
    return "\n\n".join(parts) + "\n"


def _list(title: str, sentences: list[str]) -> list[str]:
    listed = "\n".join(f"- {sentence}" for sentence in sentences)
    return [f"**{title}**", listed] if sentences else []


def write_page(results: Sequence[Result], page: Path) -> None:
    """Write one page of several experiments, and their figures in a directory of its name."""
    figures = page.with_suffix("")
    figures.mkdir(parents=True, exist_ok=True)
    for result in results:
        drawn = result.folder / FIGURE
        if drawn.exists():
            shutil.copyfile(drawn, figures / f"{result.experiment.name}.png")
    write_whole(page, _wrapped(page_text(results, figures.name)).encode())


def page_text(results: Sequence[Result], figures: str) -> str:
    """A summary, and the report of every experiment, as Markdown; `figures` is their directory."""
    settings = settings_of(results[0])
    versions = ", ".join(f"{name} {which}" for name, which in settings["versions"].items())
    minutes = sum(row.seconds for each in results for one in each.outcomes for row in one.rows) / 60
    names = "all" if len(results) > 1 else results[0].experiment.name
    parts = [
        "# The paper's experiments again",
        (
            f"Written by `mislid reproduce {names} --page FILE.md`: do not edit. {versions}, "
            f"Python {settings['python']}; {minutes:,.0f} minutes of one processor. LinGapE, LUCB "
            "and MisLid "
            "are the algorithms as the authors ran them; MisLid by the text is `mislid-paper`, our "
            "default `mislid`."
        ),
    ]
    if summary := summary_table(results):
        parts += [summary, _VERDICT]
    for result in results:
        figure = f"{figures}/{result.experiment.name}.png"
        parts.append(report_text(result, figure, level=2).strip())
    return "\n\n".join(parts) + "\n"


def summary_table(results: Sequence[Result]) -> str:
    """Ours beside the published means, both ± standard errors; empty where nothing compares."""
    rows = []
    for outcome in (outcome for result in results if result.exact for outcome in result.outcomes):
        ours, published, method = outcome.statistics, outcome.published, outcome.method
        if published is None or not method.comparable:
            continue
        found = compare(ours, published)
        verdict = "agrees" if found.agrees(method.margin) else "**differs**"
        rows.append(
            [
                outcome.case.name,
                method.label,
                f"{ours.runs:,}",
                f"{ours.mean:,.0f} ± {ours.standard_error:,.0f}",
                f"{published.mean:,.0f} ± {published.standard_error:,.0f}",
                f"{found.relative:+.1%}" + (", may be chance" if found.by_chance else ""),
                verdict + ("" if found.errors_agree else ", **other error rate**"),
            ]
        )
    heading = ["case", "method", "runs", "ours", "published", "difference", "verdict"]
    return _markdown(heading, rows) if rows else ""


def _row(outcome: Outcome, exact: bool) -> list[str]:
    published, method = outcome.published, outcome.method
    cells = [method.name, method.stopping, *_cells(outcome.statistics)]
    if published is None:
        return [*cells, "", "", "", ""]
    found = compare(outcome.statistics, published)
    interval = f"{found.relative:+.1%} [{_signed(found.low)}, {_signed(found.high)}]"
    comparable = exact and method.comparable
    return [*cells, *_cells(published)[1:], interval if comparable else "another instance"]


def _cells(statistics: Statistics) -> list[str]:
    bound = "at least " if statistics.unanswered else ""
    spread = f" ± {statistics.std:,.0f}" if statistics.runs > 1 else ""
    low, high = rate_interval(statistics.wrong, statistics.runs)
    seconds = statistics.seconds or 0.0
    return [
        f"{statistics.runs:,}",
        f"{bound}{statistics.mean:,.0f}{spread}",
        f"{statistics.wrong / statistics.runs:.1%} [{low:.1%}, {high:.1%}]",
        "" if statistics.seconds is None else f"{seconds:,.{'3g' if seconds < 100 else '0f'}}",
    ]


def _differences(result: Result) -> list[str]:
    """A sentence for every method with published runs."""
    return [
        _difference(outcome, outcome.published, result.exact)
        for outcome in result.outcomes
        if outcome.published is not None
    ]


def _difference(outcome: Outcome, published: Statistics, exact: bool) -> str:
    ours, method = outcome.statistics, outcome.method
    start = (
        f"{method.label} ({outcome.case.name}): {ours.mean:,.0f} samples against "
        f"{published.mean:,.0f} published"
    )
    if not exact:
        return f"{start}, on another instance: no verdict."
    if not method.comparable:
        return f"{start}: not comparable. {method.remark}"
    found = compare(ours, published)
    ends = f"{_signed(found.low)} to {_signed(found.high)} at 99%"
    reason = "may be chance" if found.by_chance else "more than chance"
    verdict = "agrees" if found.agrees(method.margin) else "**differs**"
    errors = "" if found.errors_agree else f", **which differs** (p = {found.p_wrong:.1g})"
    remark = "" if found.by_chance else method.remark
    return (
        f"{start}, {found.relative:+.1%} ({ends}; {reason}): {verdict}. Wrong answers: "
        f"{ours.wrong / ours.runs:.1%} against {published.wrong / published.runs:.1%}{errors}. "
        f"{remark}"
    ).strip()


def _warnings(result: Result) -> list[str]:
    """Sentences on runs without an answer, and on rules that err too often."""
    found = []
    delta = result.experiment.delta
    for outcome in result.outcomes:
        ours, name = outcome.statistics, f"{outcome.method.label} ({outcome.case.name})"
        if ours.unanswered:
            longest = max(row.samples for row in outcome.rows if row.correct is None)
            found.append(
                f"{name}: {ours.unanswered} of {ours.runs} runs had no answer after "
                f"{longest:,} samples; the mean is a lower bound."
            )
        if rate_interval(ours.wrong, ours.runs)[0] > delta:
            found.append(
                f"{name}: wrong in {ours.wrong} of {ours.runs} runs, beyond chance more "
                f"often than the error rate {delta:g} allows."
            )
    return found


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if math.isfinite(value) else ("+∞" if value > 0 else "-∞")


def _markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, aligned for those who read it as text.

    >>> print(_markdown(["method", "b"], [["LUCB", "2"]]))
    | method | b   |
    | ------ | --- |
    | LUCB   | 2   |
    """
    widths = [max(3, *map(len, column)) for column in zip(heading, *rows, strict=True)]
    lines = [heading, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(map(str.ljust, cells, widths)) + " |" for cells in lines)


def _wrapped(text: str) -> str:
    """Markdown with lines of text below 120 characters; tables and pictures stay as they are.

    >>> [len(line) for line in _wrapped("- " + "word " * 24 + "end").splitlines()]
    [116, 10]
    """
    return "\n".join(
        line
        if line.startswith(("|", "![", "#"))
        else fill(
            line,
            119,
            subsequent_indent="  " if line.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )
