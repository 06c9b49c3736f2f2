"""The files of finished experiments: settings, runs, table, report and figure; one page of all."""

from __future__ import annotations

import csv
import io
import json
import platform
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mislid._words import shown
from mislid.errors import ProblemError
from mislid.io import write_whole
from mislid.paper.experiments.comparison import compare
from mislid.paper.experiments.figure import save_figure
from mislid.paper.experiments.runner import Outcome, Result
from mislid.paper.experiments.words import (
    differences,
    markdown,
    mean_text,
    method_table,
    notes,
    stopping_table,
    wrapped,
)
from mislid.simulation.replicate import Row

FIGURE = "figure.png"
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
    ...     print(Path(folder, "report.md").read_text(encoding="utf-8").splitlines()[0])
    ...     sorted(path.name for path in Path(folder).iterdir())
    # small: An example
    ['figure.png', 'figure.svg', 'parts', 'report.md', 'runs.csv', 'settings.json', 'table.md']
    """
    if not isinstance(result, Result):
        raise ProblemError(f"result must be what run_experiment gives; got {shown(result)}")
    if not result.folder.is_dir():
        raise ProblemError(f"result must have its folder; {str(result.folder)!r} is gone")
    texts = {
        "settings.json": json.dumps(settings_of(result), indent=2) + "\n",
        "runs.csv": runs_text(result),
        "table.md": table_text(result),
        "report.md": wrapped(report_text(result)),
    }
    for name, text in texts.items():
        write_whole(result.folder / name, text.encode())
    save_figure(result)


def settings_of(result: Result) -> dict[str, Any]:
    """What the runs depend on: seed, versions, and for every method its options and instance."""
    cases: dict[str, dict[str, Any]] = {}
    for outcome in result.outcomes:
        own = {
            key: value
            for key, value in outcome.settings.items()
            if key not in {"versions", "python", "seed"}
        }
        cases.setdefault(outcome.case.name, {})[outcome.method.label] = own
    return {
        "experiment": result.experiment.name,
        "instances": "published" if result.exact else "drawn by the recipe",
        "seed": result.seed,
        "delta": result.experiment.delta,
        "versions": result.outcomes[0].settings["versions"] | {"scipy": version("scipy")},
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
    """The tables alone; of a suite, the comparison first."""
    return "\n\n".join(_tables(result)) + "\n"


def report_text(result: Result, figure: str = FIGURE, level: int = 1) -> str:
    """The report of one experiment as Markdown.

    `figure` is the place of its figure as seen from the report, `level` that of the first heading.
    """
    experiment = result.experiment
    alt = f"Samples until stopping in experiment {experiment.name}"
    parts = [
        f"{'#' * level} {experiment.name}: {experiment.title}",
        _setting(result),
        *_tables(result),
        f"![{alt}]({figure})",
        *_list("Beside the published runs", differences(result)),
        *_list("What to know", notes(result)),
    ]
    return "\n\n".join(parts) + "\n"


def _tables(result: Result) -> list[str]:
    tables = [summary_table([result])] if result.experiment.source else []
    for case in result.experiment.cases:
        outcomes = result.of(case)
        tables.append(f"**{_heading(outcomes[0])}**")
        tables.append(method_table(outcomes, result.exact))
        compact = stopping_table(outcomes)
        if compact:
            tables.append("Mean samples by stopping rule:")
            tables.append(compact)
    return tables


def _heading(outcome: Outcome) -> str:
    instance, case = outcome.instance, outcome.case
    size = f"K = {instance.K}, d = {instance.d}, m = {case.m}"
    return (
        f"{case.name}: {case.title} ({size}), error rate {outcome.settings['options']['delta']:g}"
    )


def _setting(result: Result) -> str:
    source = result.experiment.source or (
        "the published instances"
        if result.exact
        else "instances drawn by the paper's recipe, not the published ones, whose numbers are "
        "shown for their order of magnitude only (`mislid data fetch instances` gets them)"
    )
    return (
        f"Runs on {source}; seed {result.seed}. Samples are means ± standard deviations over runs; "
        "wrong is the share of wrong answers; brackets are 99% intervals (Welch's for a "
        "difference of means, exact for an error rate). The heuristic stopping rule is the "
        "paper's and proves nothing; the guaranteed one is proved to err at most at the error rate."
    )


def _list(title: str, sentences: list[str]) -> list[str]:
    if not sentences:
        return []
    return [f"**{title}**", "\n".join(f"- {sentence}" for sentence in sentences)]


def write_page(results: Sequence[Result], page: Path) -> None:
    """Write one page of several experiments, and their figures in a directory of its name."""
    figures = page.with_suffix("")
    figures.mkdir(parents=True, exist_ok=True)
    for result in results:
        drawn = result.folder / FIGURE
        if drawn.exists():
            shutil.copyfile(drawn, figures / f"{result.experiment.name}.png")
    write_whole(page, wrapped(page_text(results, figures.name)).encode())


def page_text(results: Sequence[Result], figures: str) -> str:
    """A summary, and the report of every experiment, as Markdown; `figures` is their directory."""
    parts = [_page_opening(results)]
    summary = summary_table(results)
    if summary:
        parts += [summary, _VERDICT]
    parts += [
        report_text(result, f"{figures}/{result.experiment.name}.png", level=2).strip()
        for result in results
    ]
    return "\n\n".join(parts) + "\n"


def summary_table(results: Sequence[Result]) -> str:
    """Ours beside the published means, both ± standard errors; empty where nothing compares."""
    lines = [
        _summary_line(outcome)
        for result in results
        for outcome in result.outcomes
        if _is_judged(outcome, result)
    ]
    heading = ["case", "method", "runs", "ours", "published", "difference", "verdict"]
    return markdown(heading, lines) if lines else ""


def _page_opening(results: Sequence[Result]) -> str:
    settings = settings_of(results[0])
    versions = ", ".join(f"{name} {which}" for name, which in settings["versions"].items())
    names = "all" if len(results) > 1 else results[0].experiment.name
    return (
        "# The paper's experiments again\n\n"
        f"Written by `mislid reproduce {names} --page FILE.md` (`make reproduce`): do not edit. "
        f"{versions}, Python {settings['python']}. LinGapE, LUCB and "
        "MisLid are the algorithms as the authors ran them; MisLid by the text is `mislid-paper`, "
        f"our default `mislid`. {_processor_time(results)}"
    )


def _processor_time(results: Sequence[Result]) -> str:
    outcomes = [outcome for result in results for outcome in result.outcomes]
    runs = sum(len(outcome.rows) for outcome in outcomes)
    minutes = {result.experiment.name: _minutes(result) for result in results}
    each = ", ".join(f"{name} {spent:,.0f}" for name, spent in minutes.items())
    known = {
        outcome.case.published_key(outcome.method): outcome.published
        for outcome in outcomes
        if outcome.published is not None
    }
    theirs = sum(method.runs * (method.seconds or 0.0) for method in known.values())
    return (
        f"The {runs:,} runs below took {sum(minutes.values()):,.0f} minutes of one processor "
        f"({each}); the authors' took {theirs / 86400:,.1f} days."
    )


def _minutes(result: Result) -> float:
    return sum(row.seconds for outcome in result.outcomes for row in outcome.rows) / 60


def _is_judged(outcome: Outcome, result: Result) -> bool:
    return result.exact and outcome.published is not None and outcome.method.comparable


def _summary_line(outcome: Outcome) -> list[str]:
    ours, published = outcome.statistics, outcome.published
    if published is None:
        raise ValueError("only methods with published runs have a line")
    found = compare(ours, published)
    verdict = "agrees" if found.agrees(outcome.method.margin) else "**differs**"
    if not found.errors_agree:
        verdict += ", **other error rate**"
    return [
        outcome.case.name,
        outcome.method.label,
        f"{ours.runs:,}",
        mean_text(ours),
        mean_text(published),
        f"{found.relative:+.1%}" + (", may be chance" if found.by_chance else ""),
        verdict,
    ]
