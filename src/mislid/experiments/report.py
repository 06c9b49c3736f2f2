"""The files of a finished experiment: settings, runs, table, report and figure."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from typing import Any

from mislid.experiments.figure import save_figure
from mislid.experiments.runner import Outcome, Result
from mislid.experiments.words import (
    differences,
    method_table,
    notes,
    stopping_table,
)
from mislid.files import write_whole
from mislid.simulation.ledger import text_of

FIGURE = "figure.png"


def write_report(result: Result) -> None:
    """Write settings.json, runs.csv, table.md, report.md and the figures beside the runs."""
    texts = {
        "settings.json": json.dumps(settings_of(result), indent=2) + "\n",
        "runs.csv": runs_text(result),
        "table.md": table_text(result),
        "report.md": report_text(result),
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
    lines = ["case,method,stopping,run,samples,correct,status,seconds"]
    for outcome in result.outcomes:
        start = f'{outcome.case.name},"{outcome.method.name}",{outcome.method.stopping}'
        lines += [f"{start},{text_of(row)}" for row in outcome.rows]
    return "\n".join(lines) + "\n"


def table_text(result: Result) -> str:
    """The tables alone."""
    return "\n\n".join(_tables(result)) + "\n"


def report_text(result: Result, figure: str = FIGURE, level: int = 1) -> str:
    """The report; headings begin at a level, and the figure is where it is said to be."""
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
    tables = []
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
    source = (
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
