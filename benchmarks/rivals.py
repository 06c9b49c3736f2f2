"""All sampling rules under the same stopping rules: samples over those of the default.

Finished runs are kept, as those of `samples` are, and a benchmark that was stopped goes on. With
`--kept` nothing is run: the tables have what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mislid.algorithms import TopTwoIDS
from mislid.errors import ProblemError

from .families import FAMILIES, MANY_ARMS
from .proof import FIRST_INSTANCE, with_all_descriptors
from .report import digits, progress, table
from .samples import Effort, Problem, Result, family_problems, finished, published_problems

DEFAULT = "mislid"
RIVALS = (
    *("lucb", "ugape", "lingape", "lingifa", "lingame", "mislid-paper", "fws"),
    *("lazy-tas", "top-two", "top-two-ids", "peps", "rage", "xy-adaptive", "xy-static"),
    *("uniform", "oracle"),
)
STOPPING = ("guaranteed", "heuristic")
SEED = 4321
# Cases in a table.
COLUMNS = 6
# Runs of a rule on an instance, and lower bounds after which one is given up.
RUNS, BUDGET = 200, 40


def of_each(runs: int, budget: int = BUDGET) -> Effort:
    """The same effort with either stopping rule."""
    return Effort(runs, runs, budget, SEED)


LONG = {"D": of_each(10, 25), "E": of_each(10, 25)}
DESCRIPTOR_EFFORT, FAMILY_EFFORT = of_each(25), of_each(40)
# Families with 100 and 200 arms; with more, some rules take hours.
LARGER = 4
MANY_EFFORT, QUICK = of_each(3), of_each(2)
# Rules that take 50 microseconds and more for a sample on E, and what is tried there instead: a
# draw of `top-two-ids` projects 103 arms, so it has a fifth of its draws. They are given up after
# fewer lower bounds.
SLOW_ON_E = {
    "mislid-paper": "mislid-paper",
    "peps": "peps",
    "top-two-ids": TopTwoIDS(draws=20),
}
SLOW_EFFORT = {"heuristic": of_each(10, 10), "guaranteed": of_each(10, 6)}


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
    published = [
        Case(name, [problem], LONG.get(name, of_each(RUNS)))
        for name, problem in published_problems("rivals")
    ]
    yield from (case for case in published if case.name not in LONG)
    for name, problem in with_all_descriptors():
        yield Case(name, [problem], DESCRIPTOR_EFFORT)
    for family in FAMILIES:
        yield Case(family.name, family_problems(family, 4, FIRST_INSTANCE), FAMILY_EFFORT)
    yield from (case for case in published if case.name in LONG)
    for family in MANY_ARMS[:LARGER]:
        yield Case(family.name, family_problems(family, 2, FIRST_INSTANCE), MANY_EFFORT)


class Found(NamedTuple):
    """All runs of a rule on a case."""

    result: Result
    error: float  # standard error of the mean, the instances being given
    microseconds: float  # a sample

    @property
    def relative(self) -> float:
        """The standard error as a share of the mean."""
        return self.error / self.result.mean


def as_run(case: Case, algorithm: str, stopping: str) -> tuple[Any, Effort]:
    """The rule as it is run on a case, and how often and how long."""
    if case.name == "E" and algorithm in SLOW_ON_E:
        return SLOW_ON_E[algorithm], SLOW_EFFORT[stopping]
    return algorithm, case.effort


def result(case: Case, algorithm: str, stopping: str, only_kept: bool) -> Found | None:
    """All runs; None for a rule that does not answer such questions."""
    rule, effort = as_run(case, algorithm, stopping)
    try:
        found = [
            [(row, problem.bound) for row in rows]
            for problem in case.problems
            for rows in [finished(problem, rule, stopping, effort, only_kept)]
        ]
    except ProblemError:
        return None
    if not all(found):
        return None
    rows = list(chain.from_iterable(found))
    seconds, samples = sum(row.seconds for row, _ in rows), sum(row.samples for row, _ in rows)
    error = standard_error([[row.samples for row, _ in one] for one in found])
    return Found(Result.of(case.name, algorithm, rows), error, 1e6 * seconds / samples)


def standard_error(groups: Sequence[Sequence[float]]) -> float:
    """Of the mean of all, in groups of the same size that differ in their means.

    >>> standard_error([[1.0, 3.0], [101.0, 103.0]])
    0.7071067811865476
    """
    spreads = [np.var(group, ddof=1) / len(group) for group in groups]
    return float(np.sqrt(np.sum(spreads)) / len(groups))


def ratio(found: Found, own: Found) -> str:
    """Samples over those of the default, with the standard error of that."""
    share = found.result.mean / own.result.mean
    error = share * float(np.hypot(found.relative, own.relative))
    cut = "≥ " if found.result.unanswered > 0 else ""
    wrong = " †" if found.result.wrong > 0.1 else ""
    return f"{cut}{share:.2f} ± {error:.2f}{wrong}"


class Compared(NamedTuple):
    """All rules on one case, of those that have runs."""

    case: Case
    found: dict[str, Found]

    @property
    def own(self) -> Found:
        return self.found[DEFAULT]

    @property
    def title(self) -> str:
        return f"{self.case.name} ({self.own.result.samples.size})"

    def cell(self, name: str) -> str:
        if name not in self.found:
            return ""
        if name == DEFAULT:
            return f"{self.own.result.mean:,.0f} ± {self.own.error:,.0f}"
        return ratio(self.found[name], self.own)


def compared(case: Case, stopping: str, only_kept: bool) -> Compared | None:
    """None where not even the default has runs."""
    found: dict[str, Found] = {}
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
    times = [column.found[name].microseconds for column in columns if name in column.found]
    return digits(float(np.median(times))) if times else ""


def section(stopping: str, quick: bool, only_kept: bool = False) -> str:
    """The tables of a stopping rule: a row for every rule, a few cases in each table."""
    found = [compared(case, stopping, only_kept) for case in cases(quick)]
    columns = [column for column in found if column is not None]
    tables = []
    for group in batched(columns, COLUMNS):
        header = ["rule", *(column.title for column in group)]
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
