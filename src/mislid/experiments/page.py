"""One page of several experiments, for the documentation."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from mislid.experiments.comparison import compare
from mislid.experiments.report import FIGURE, report_text, settings_of
from mislid.experiments.runner import Outcome, Result
from mislid.experiments.words import markdown, number
from mislid.files import write_whole


def write_page(results: Sequence[Result], page: Path) -> None:
    """Write the page, and the figures in a directory of its name beside it."""
    figures = page.with_suffix("")
    figures.mkdir(parents=True, exist_ok=True)
    for result in results:
        drawn = result.folder / FIGURE
        if drawn.exists():
            shutil.copyfile(drawn, figures / f"{result.experiment.name}.png")
    write_whole(page, page_text(results, figures.name).encode())


def page_text(results: Sequence[Result], figures: str) -> str:
    """A summary, and the report of every experiment."""
    parts = [_opening(results)]
    summary = [_line(one) for result in results for one in result.outcomes if _judged(one, result)]
    if summary:
        heading = ["case", "method", "runs", "ours", "published", "difference", "verdict"]
        parts += [markdown(heading, summary), _VERDICT]
    parts += [
        report_text(result, f"{figures}/{result.experiment.name}.png", level=2).strip()
        for result in results
    ]
    return "\n\n".join(parts) + "\n"


_VERDICT = (
    "A mean agrees if it is within 10% of the published one (20% for the tricks on E), or if the "
    "runs cannot tell the two apart at 99%."
)


def _opening(results: Sequence[Result]) -> str:
    settings = settings_of(results[0])
    versions = ", ".join(f"{name} {which}" for name, which in settings["versions"].items())
    names = "all" if len(results) > 1 else results[0].experiment.name
    return (
        "# The paper's experiments again\n\n"
        f"Written by `mislid reproduce {names} --page FILE.md` (`make reproduce`): do not edit. "
        f"{versions}, Python {settings['python']}. LinGapE, LUCB and "
        "MisLid are the algorithms as the authors ran them; MisLid by the text is `mislid-paper`, "
        f"our default `mislid`. {_cost(results)}"
    )


def _cost(results: Sequence[Result]) -> str:
    outcomes = [outcome for result in results for outcome in result.outcomes]
    runs = sum(len(outcome.rows) for outcome in outcomes)
    minutes = {result.experiment.name: _minutes(result) for result in results}
    each = ", ".join(f"{name} {spent:,.0f}" for name, spent in minutes.items())
    known = {
        outcome.case.published_key(outcome.method): outcome.published
        for outcome in outcomes
        if outcome.published is not None
    }
    theirs = sum(figures.runs * (figures.seconds or 0.0) for figures in known.values())
    return (
        f"The {runs:,} runs below took {sum(minutes.values()):,.0f} minutes of one processor "
        f"({each}); the authors' took {theirs / 86400:,.1f} days."
    )


def _minutes(result: Result) -> float:
    return sum(row.seconds for outcome in result.outcomes for row in outcome.rows) / 60


def _judged(outcome: Outcome, result: Result) -> bool:
    return result.exact and outcome.published is not None and outcome.method.comparable


def _line(outcome: Outcome) -> list[str]:
    ours, published = outcome.figures, outcome.published
    if published is None:
        raise ValueError("only methods with published runs have a line")
    found = compare(ours, published)
    verdict = "agrees" if found.agrees(outcome.method.margin) else "**differs**"
    if not found.errors_agree:
        verdict += ", **other error rate**"
    return [
        outcome.case.name,
        outcome.method.name,
        f"{ours.runs:,}",
        number(ours.mean),
        number(published.mean),
        f"{found.relative:+.1%}" + (", may be chance" if found.by_chance else ""),
        verdict,
    ]
