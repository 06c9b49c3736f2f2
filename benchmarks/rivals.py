"""All sampling rules under the same stopping rules: samples over those of the default.

Finished runs are kept, as those of `samples` are, and a benchmark that was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mislid.errors import ProblemError

from .cases import PUBLISHED, MissingData
from .families import FAMILIES, MANY_ARMS
from .proof import FIRST_INSTANCE, MISSPECIFICATIONS, with_descriptors
from .report import digits, progress, table
from .samples import (
    Effort,
    Problem,
    Result,
    as_problem,
    family_problems,
    finished,
    published_problem,
)

DEFAULT = "mislid"
RIVALS = (
    *("lucb", "ugape", "lingape", "lingifa", "lingame", "mislid-paper", "fws"),
    *("lazy-track-and-stop", "eb-tci", "top-two-ids", "peps", "rage", "xy-adaptive", "xy-static"),
    *("uniform", "oracle"),
)
STOPPING = ("guaranteed", "heuristic")
SEED = 4321
# Runs of a rule on an instance, and lower bounds after which one is given up.
RUNS, BUDGET = 100, 40
LONG = {"D": Effort(10, 10, 25), "E": Effort(10, 10, 25)}
DESCRIPTOR_EFFORT, FAMILY_EFFORT = Effort(25, 25, BUDGET), Effort(15, 15, BUDGET)
MANY_EFFORT, QUICK = Effort(3, 3, BUDGET), Effort(2, 2, BUDGET)


class Case(NamedTuple):
    """What rules are compared on."""

    name: str
    problems: list[Problem]
    effort: Effort


def cases(quick: bool) -> Iterator[Case]:
    """The small ones first."""
    if quick:
        yield Case(FAMILIES[3].name, family_problems(FAMILIES[3], 1, FIRST_INSTANCE), QUICK)
        return
    published = []
    try:
        for name in PUBLISHED:
            effort = LONG.get(name, Effort(RUNS, RUNS, BUDGET))
            published.append(Case(name, [published_problem(name)], effort))
    except MissingData as missing:
        progress(f"rivals: {missing}")
    yield from (case for case in published if case.name not in LONG)
    for eps in MISSPECIFICATIONS:
        problem = as_problem(with_descriptors(eps), 3)
        yield Case(f"200 arms, eps {eps:g}", [problem], DESCRIPTOR_EFFORT)
    for family in FAMILIES:
        yield Case(family.name, family_problems(family, 4, FIRST_INSTANCE), FAMILY_EFFORT)
    yield from (case for case in published if case.name in LONG)
    for family in MANY_ARMS:
        yield Case(family.name, family_problems(family, 2, FIRST_INSTANCE), MANY_EFFORT)


def result(case: Case, algorithm: str, stopping: str) -> tuple[Result, float] | None:
    """All runs, and microseconds a sample; None for a rule that does not answer such questions."""
    try:
        rows = [
            (row, problem.bound)
            for problem in case.problems
            for row in finished(problem, algorithm, stopping, case.effort, SEED)
        ]
    except ProblemError:
        return None
    seconds, samples = sum(row.seconds for row, _ in rows), sum(row.samples for row, _ in rows)
    return Result.of(case.name, algorithm, rows), 1e6 * seconds / samples


def spread(found: Result) -> float:
    """The standard error of the mean."""
    return float(found.samples.std(ddof=1) / np.sqrt(found.samples.size))


def ratio(found: Result, own: Result) -> str:
    """Samples over those of the default, with the standard error of that."""
    share = found.mean / own.mean
    spreads = [spread(one) / one.mean for one in (found, own)]
    cut = "≥ " if found.unanswered > 0 else ""
    wrong = " †" if found.wrong > 0.1 else ""
    return f"{cut}{share:.2f} ± {share * float(np.hypot(*spreads)):.2f}{wrong}"


def line(case: Case, stopping: str, times: dict[str, list[float]]) -> list[str]:
    """A row of the table."""
    first = result(case, DEFAULT, stopping)
    assert first is not None
    own = first[0]
    times.setdefault(DEFAULT, []).append(first[1])
    row = [case.name, f"{own.samples.size}", f"{own.mean:,.0f} ± {spread(own):,.0f}"]
    for name in RIVALS:
        found = result(case, name, stopping)
        if found is None:
            row.append("")
            continue
        times.setdefault(name, []).append(found[1])
        row.append(ratio(found[0], own))
        progress(f"rivals, {stopping}: {case.name} | {name} | {row[-1]}")
    return row


def section(stopping: str, quick: bool) -> str:
    """The table of a stopping rule."""
    times: dict[str, list[float]] = {}
    rows: list[Sequence[str]] = [line(case, stopping, times) for case in cases(quick)]
    rows.append(
        ["µs a sample", "", digits(float(np.median(times[DEFAULT]))),
         *(digits(float(np.median(times[name]))) if name in times else "" for name in RIVALS)]
    )  # fmt: skip
    header = ["case", "runs", "`mislid`", *(f"`{name}`" for name in RIVALS)]
    return f"**`{stopping}`**\n\n{table(header, rows)}"


def run(quick: bool) -> str:
    """Both tables."""
    return "\n\n".join(section(stopping, quick) for stopping in STOPPING)
