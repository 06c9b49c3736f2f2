"""Tables and sentences about a finished experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill

from mislid.paper.experiments.comparison import Comparison, compare, rate_interval
from mislid.paper.experiments.published import Statistics
from mislid.paper.experiments.runner import Outcome, Result

_HEADING = (
    "method | stopping | runs | samples | wrong | processor seconds a run | published samples | "
    "wrong | seconds a run | difference of means"
)
# Of fewer runs a single one may well move the mean.
FEW = 50


def wrapped(text: str) -> str:
    """Markdown with lines of text below 120 characters; tables and pictures stay as they are.

    >>> [len(line) for line in wrapped("- " + "word " * 24 + "end").splitlines()]
    [116, 10]
    """
    lines = text.split("\n")
    return "\n".join(line if line.startswith(("|", "![", "#")) else _fill(line) for line in lines)


def _fill(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return fill(line, 119, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def method_table(outcomes: Sequence[Outcome], exact: bool) -> str:
    """One row per method, ours beside the published; compared where the instance is the same."""
    return markdown(_HEADING.split(" | "), [_row(outcome, exact) for outcome in outcomes])


def stopping_table(outcomes: Sequence[Outcome]) -> str:
    """Mean samples with one column per stopping rule; empty where only one was used."""
    cells: dict[str, dict[str, str]] = {}
    rules = list(dict.fromkeys(outcome.method.stopping for outcome in outcomes))
    for outcome in outcomes:
        row = cells.setdefault(outcome.method.name, {})
        row[outcome.method.stopping] = _samples(outcome.statistics, spread=False)
    if len(rules) == 1:
        return ""
    rows = [[name, *(row.get(rule, "not run") for rule in rules)] for name, row in cells.items()]
    return markdown(["method", *rules], rows)


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, aligned for those who read it as text.

    >>> print(markdown(["method", "b"], [["LUCB", "2"]]))
    | method | b   |
    | ------ | --- |
    | LUCB   | 2   |
    """
    widths = [max(3, *map(len, column)) for column in zip(heading, *rows, strict=True)]
    lines = [heading, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(map(str.ljust, cells, widths)) + " |" for cells in lines)


def differences(result: Result) -> list[str]:
    """A sentence for every method with a published counterpart."""
    return [
        difference(outcome, outcome.published, result.exact)
        for outcome in result.outcomes
        if outcome.published is not None
    ]


def difference(outcome: Outcome, published: Statistics, exact: bool) -> str:
    """What became of one published mean."""
    ours, method = outcome.statistics, outcome.method
    found = compare(ours, published)
    start = (
        f"{method.label} ({outcome.case.name}): {number(ours.mean)} samples against "
        f"{number(published.mean)} published"
    )
    if not exact:
        return f"{start}, on another instance: no verdict."
    if not method.comparable:
        return f"{start}: not comparable. {method.remark}"
    sentences = [
        f"{start}, {_relative(found.relative)}, {_judgement(found, method.margin)}",
        _errors(found, ours, published),
    ]
    if not found.by_chance and method.remark:
        sentences.append(method.remark)
    return " ".join(sentences)


def notes(result: Result) -> list[str]:
    """What the spec says, and what the runs of our own methods show."""
    found = list(result.experiment.notes)
    delta = result.experiment.delta
    for outcome in result.outcomes:
        ours, name = outcome.statistics, f"{outcome.method.label} ({outcome.case.name})"
        if ours.unanswered:
            longest = max(row.samples for row in outcome.rows if row.correct is None)
            found.append(
                f"{name}: {ours.unanswered} of {ours.runs} runs had no answer after "
                f"{number(longest)} samples; the mean is a lower bound."
            )
        found += _outlier(name, [row.samples for row in outcome.rows])
        low, _ = rate_interval(ours.wrong or 0, ours.runs)
        if low > delta:
            found.append(
                f"{name}: wrong in {ours.wrong} of {ours.runs} runs, beyond chance more "
                f"often than the error rate {delta:g} allows."
            )
    return found


def _outlier(name: str, samples: Sequence[int]) -> list[str]:
    """A sentence where a single run moves the mean by more than a tenth.

    >>> _outlier("LUCB", [10] * 50 + [1000])
    ['LUCB: one run took 1,000 samples; without it the mean is 10.']
    """
    rest = (sum(samples) - max(samples)) / max(len(samples) - 1, 1)
    if len(samples) < FEW or rest > 0.9 * sum(samples) / len(samples):
        return []
    largest, mean = number(max(samples)), number(rest)
    return [f"{name}: one run took {largest} samples; without it the mean is {mean}."]


def _row(outcome: Outcome, exact: bool) -> list[str]:
    published, method = outcome.published, outcome.method
    cells = [method.name, method.stopping, *_cells(outcome.statistics)]
    if published is None:
        return [*cells, "", "", "", ""]
    return [*cells, *_cells(published)[1:], _interval(outcome, published, exact)]


def _interval(outcome: Outcome, published: Statistics, exact: bool) -> str:
    if not (exact and outcome.method.comparable):
        return "another instance"
    found = compare(outcome.statistics, published)
    return f"{_percent(found.relative)} [{_signed(found.low)}, {_signed(found.high)}]"


def _cells(statistics: Statistics) -> list[str]:
    seconds = "" if statistics.seconds is None else f"{statistics.seconds:,.3g}"
    if statistics.seconds is not None and statistics.seconds >= 100:
        seconds = f"{statistics.seconds:,.0f}"
    return [f"{statistics.runs:,}", _samples(statistics), _wrong(statistics), seconds]


def _samples(statistics: Statistics, *, spread: bool = True) -> str:
    bound = "at least " if statistics.unanswered else ""
    after = f" ± {number(statistics.std)}" if spread and statistics.runs > 1 else ""
    return f"{bound}{number(statistics.mean)}{after}"


def _wrong(statistics: Statistics) -> str:
    if statistics.wrong is None:
        return ""
    low, high = rate_interval(statistics.wrong, statistics.runs)
    return f"{statistics.wrong / statistics.runs:.1%} [{low:.1%}, {high:.1%}]"


def _relative(share: float) -> str:
    """In words.

    >>> _relative(-0.02), _relative(0.0)
    ('2.0% fewer', '0.0% more')
    """
    return f"{abs(share):.1%} {'fewer' if share < 0.0 else 'more'}"


def _percent(share: float) -> str:
    return f"{share:+.1%}"


def _judgement(found: Comparison, margin: float) -> str:
    ends = f"99% interval of the difference {_signed(found.low)} to {_signed(found.high)}"
    if found.by_chance:
        return f"which may be chance ({ends}): agrees."
    if found.agrees(margin):
        return f"more than chance ({ends}) but within the {margin:.0%} allowed: agrees."
    return f"more than chance ({ends}) and than the {margin:.0%} allowed: **differs**."


def _errors(found: Comparison, ours: Statistics, published: Statistics) -> str:
    if ours.wrong is None or published.wrong is None:
        return f"Wrong answers: {ours.wrong} of {ours.runs}; published are none."
    rates = f"{ours.wrong / ours.runs:.1%} against {published.wrong / published.runs:.1%}"
    if found.errors_agree:
        return f"Wrong answers: {rates}."
    return f"Wrong answers: {rates}, **which differs** beyond chance (p = {found.p_wrong:.1g})."


def number(value: float) -> str:
    """With thousands apart.

    >>> number(25804.12)
    '25,804'
    """
    return f"{value:,.0f}"


def mean_text(statistics: Statistics) -> str:
    """A mean and its standard error.

    >>> mean_text(Statistics(100, 33190.0, 8700.0, None, None))
    '33,190 ± 870'
    """
    error = f" ± {number(statistics.standard_error)}" if statistics.runs > 1 else ""
    bound = "at least " if statistics.unanswered else ""
    return f"{bound}{number(statistics.mean)}{error}"


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if math.isfinite(value) else ("+∞" if value > 0 else "-∞")
