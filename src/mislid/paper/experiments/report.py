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

from mislid._formatting import shown
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
        Where it is no `Result`.
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
        "\n".join(f"- {note}" for note in (*experiment.notes, *_notes(result))),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


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
    rows = [
        [
            outcome.case.name,
            outcome.method.label,
            f"{outcome.statistics.runs:,}",
            *(
                f"{one.mean:,.0f} ± {one.standard_error:,.0f}"
                for one in (outcome.statistics, outcome.published)
            ),
            _verdict(outcome, outcome.published),
        ]
        for result in results
        for outcome in result.outcomes
        if result.exact and outcome.published is not None and outcome.method.comparable
    ]
    heading = ["case", "method", "runs", "ours", "published", "difference"]
    return _markdown(heading, rows) if rows else ""


def _verdict(outcome: Outcome, published: Statistics) -> str:
    """The difference of the means, whether they agree, and whether the error rates do."""
    found = compare(outcome.statistics, published)
    agrees = "agrees" if found.agrees(outcome.method.margin) else "**differs**"
    errors = "" if found.errors_agree else ", **other error rate**"
    interval = f"[{_signed(found.low)}, {_signed(found.high)}]"
    return f"{found.relative:+.1%} {interval}: {agrees}{errors}"


def _row(outcome: Outcome, exact: bool) -> list[str]:
    published, method = outcome.published, outcome.method
    cells = [method.name, method.stopping, *_cells(outcome.statistics)]
    if published is None:
        return [*cells, "", "", "", ""]
    comparable = exact and method.comparable
    verdict = _verdict(outcome, published) if comparable else "another instance"
    return [*cells, *_cells(published)[1:], verdict]


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


def _notes(result: Result) -> list[str]:
    """Remarks on methods, and sentences on runs without an answer and rules that err too often."""
    found = []
    delta = result.experiment.delta
    for outcome in result.outcomes:
        ours, name = outcome.statistics, f"{outcome.method.label} ({outcome.case.name})"
        if outcome.method.remark and result.exact:
            found.append(f"{name}: {outcome.method.remark}")
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
