"""All sampling rules under the same stopping rules: samples over those of the default.

Finished runs are kept, as those of `samples` are, and a benchmark that was stopped goes on. With
`--kept` nothing is run: the tables have what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
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
# Cases in a table.
COLUMNS = 6
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


def result(
    case: Case, algorithm: str, stopping: str, only_kept: bool
) -> tuple[Result, float] | None:
    """All runs, and microseconds a sample; None for a rule that does not answer such questions."""
    try:
        found = [
            [(row, problem.bound) for row in rows]
            for problem in case.problems
            for rows in [finished(problem, algorithm, stopping, case.effort, SEED, only_kept)]
        ]
    except ProblemError:
        return None
    if not all(found):
        return None
    rows = list(chain.from_iterable(found))
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


class Compared(NamedTuple):
    """All rules on one case: samples, with microseconds each, of those that have runs."""

    case: Case
    found: dict[str, tuple[Result, float]]

    @property
    def own(self) -> Result:
        return self.found[DEFAULT][0]

    def cell(self, name: str) -> str:
        if name not in self.found:
            return ""
        if name == DEFAULT:
            return f"{self.own.mean:,.0f} ± {spread(self.own):,.0f}"
        return ratio(self.found[name][0], self.own)


def compared(case: Case, stopping: str, only_kept: bool) -> Compared | None:
    """None where not even the default has runs."""
    found: dict[str, tuple[Result, float]] = {}
    for name in (DEFAULT, *RIVALS):
        one = result(case, name, stopping, only_kept)
        if one is None and name == DEFAULT:
            return None
        if one is not None:
            found[name] = one
            progress(
                f"rivals, {stopping}: {case.name} | {name} | {Compared(case, found).cell(name)}"
            )
    return Compared(case, found)


def microseconds(columns: list[Compared], name: str) -> str:
    """The median over cases."""
    times = [column.found[name][1] for column in columns if name in column.found]
    return digits(float(np.median(times))) if times else ""


def section(stopping: str, quick: bool, only_kept: bool = False) -> str:
    """The tables of a stopping rule: a row for every rule, a few cases in each table."""
    found = [compared(case, stopping, only_kept) for case in cases(quick)]
    columns = [column for column in found if column is not None]
    tables = []
    for group in batched(columns, COLUMNS):
        header = ["rule", *(f"{column.case.name} ({column.own.samples.size})" for column in group)]
        rows = [
            [f"`{name}`", *(column.cell(name) for column in group)] for name in (DEFAULT, *RIVALS)
        ]
        tables.append(table(header, rows))
    times = [[f"`{name}`", microseconds(columns, name)] for name in (DEFAULT, *RIVALS)]
    tables.append(table(["rule", "µs a sample"], times))
    return "\n\n".join([f"**`{stopping}`**", *tables])


def batched(columns: list[Compared], size: int) -> Iterator[list[Compared]]:
    """Some at a time."""
    for first in range(0, len(columns), size):
        yield columns[first : first + size]


def run(quick: bool, kept: bool = False) -> str:
    """The tables of both stopping rules."""
    return "\n\n".join(section(stopping, quick, kept) for stopping in STOPPING)
