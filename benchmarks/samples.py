"""How many samples algorithms need at the same stopping rule: published instances and families.

Runs are kept in the folder MISLID_RUNS (by default build/samples) as they
finish, one directory for each question, so that a benchmark that was stopped goes on. Delete it
after a change of the rules themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mislid import Instance, characteristic_time
from mislid.algorithms import as_algorithm
from mislid.simulation.job import digest
from mislid.simulation.replicate import Row, replicate_rows, replicate_settings

from .cases import PUBLISHED, MissingData, published_case
from .driven import DELTA, instance_of
from .families import FAMILIES, Family
from .report import digits, progress, table

ALGORITHMS = ("mislid", "mislid-paper", "lingape", "lucb", "uniform", "oracle")
STOPPING = ("heuristic",)  # `proof` has the other
# Measurements after which a run is given up, in multiples of T kl(1 - delta, delta).
BUDGET = 40
# E's means are a little outside of its declared tube.
HOLDING_E = 0.207
SEED = 2026
# Instances of a family and the first of their numbers: no choice was made on these.
INSTANCES, FIRST = 4, 100

RUNS = Path(__file__).resolve().parents[1] / "build" / "samples"


class Problem(NamedTuple):
    """An instance with its number of best arms and what any method needs on average."""

    instance: Instance
    m: int
    bound: float


@dataclass(frozen=True)
class Effort:
    """Runs of an algorithm on an instance, by stopping rule (0: none), budget's factor and seed."""

    heuristic: int
    guaranteed: int
    budget: int = BUDGET
    seed: int = SEED

    def runs(self, stopping: str) -> int:
        return int(getattr(self, stopping))


EFFORTS = {
    "D": Effort(40, 12, budget=25),
    "E": Effort(3, 1, budget=25),
    "many arms": Effort(3, 1),
}
PUBLISHED_EFFORT, FAMILY_EFFORT, QUICK = Effort(200, 100), Effort(10, 3), Effort(2, 1)


class Result(NamedTuple):
    """The rows of one algorithm on a case, each with the bound of its instance."""

    case: str
    algorithm: str
    samples: np.ndarray
    bounds: np.ndarray
    wrong: float
    unanswered: float

    @classmethod
    def of(cls, case: str, algorithm: str, rows: Sequence[tuple[Row, float]]) -> Result:
        """Collect finished runs."""
        return cls(
            case,
            algorithm,
            np.array([row.samples for row, _ in rows], dtype=float),
            np.array([bound for _, bound in rows]),
            float(np.mean([row.correct is False for row, _ in rows])),
            float(np.mean([row.correct is None for row, _ in rows])),
        )

    @property
    def mean(self) -> float:
        return float(self.samples.mean())

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.samples, share))

    def line(self) -> list[str]:
        """A row of the table; means and quantiles with a budget in them are lower bounds."""
        runs = len(self.samples)
        error = self.samples.std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan

        def at_least(value: float, cut: bool) -> str:
            return f"{'≥ ' if cut else ''}{value:,.0f}"

        return [
            self.case,
            f"`{self.algorithm}`",
            f"{runs}",
            f"{at_least(self.mean, self.unanswered > 0)} ± {error:,.0f}",
            at_least(self.quantile(0.95), self.unanswered > 0.05),
            at_least(self.quantile(0.99), self.unanswered > 0.01),
            f"{self.wrong:.3f}",
            f"{self.unanswered:.2f}",
            digits(float(np.mean(self.samples / self.bounds))),
        ]


def published_problem(name: str) -> Problem:
    """A published instance in a tube that holds it."""
    case = published_case(name, misspecification=HOLDING_E if name == "E" else None)
    return as_problem(instance_of(case), case.m)


def published_problems(benchmark: str) -> Iterator[tuple[str, Problem]]:
    """All published instances by name, where they are."""
    try:
        for name in PUBLISHED:
            yield name, published_problem(name)
    except MissingData as missing:
        progress(f"{benchmark}: {missing}")


def as_problem(instance: Instance, m: int) -> Problem:
    """The instance with its lower bound."""
    time = characteristic_time(instance.model, instance.means, m, noise=instance.noise)
    return Problem(instance, m, time.samples(DELTA))


def family_problems(family: Family, count: int, first: int = FIRST) -> list[Problem]:
    """Instances of a family that are kept for the report, from this number on."""
    return [as_problem(family.instance(first + at), family.m) for at in range(count)]


def finished(
    problem: Problem, algorithm: Any, stopping: str, effort: Effort, only_kept: bool = False
) -> list[Row]:
    """The runs of one algorithm on one instance, from disk where they are there.

    With `only_kept` nothing is run: unless all runs are on disk there is none.
    """
    question = {
        "seed": effort.seed,
        "delta": DELTA,
        "algorithm": as_algorithm(algorithm),
        "stopping": stopping,
        "max_samples": int(effort.budget * problem.bound),
    }
    asked = replicate_settings(problem.instance, problem.m, runs=1, **question)
    folder = Path(os.environ.get("MISLID_RUNS", RUNS)) / digest(sorted(asked.items()))
    runs = effort.runs(stopping)
    if only_kept and kept(folder) < runs:
        return []
    return replicate_rows(problem.instance, problem.m, runs=runs, output=folder, **question)


def kept(folder: Path) -> int:
    """How many runs are there."""
    file = folder / "runs.csv"
    return len(file.read_text(encoding="utf-8").splitlines()) - 1 if file.exists() else 0


def cases(quick: bool) -> Iterator[tuple[str, list[Problem], Effort]]:
    """Name, instances and effort of everything that is compared; quick ones take seconds."""
    if not quick:
        for name, problem in published_problems("samples"):
            yield name, [problem], EFFORTS.get(name, PUBLISHED_EFFORT)
    for family in FAMILIES[3:5] if quick else FAMILIES:
        problems = family_problems(family, 1 if quick else INSTANCES)
        yield family.name, problems, QUICK if quick else EFFORTS.get(family.name, FAMILY_EFFORT)


def compare(stopping: str, quick: bool) -> list[Result]:
    """All algorithms on all cases under one stopping rule."""
    results = []
    for name, problems, effort in cases(quick):
        if effort.runs(stopping) == 0:
            continue
        for algorithm in ALGORITHMS:
            rows = [
                (row, problem.bound)
                for problem in problems
                for row in finished(problem, algorithm, stopping, effort)
            ]
            results.append(Result.of(name, algorithm, rows))
            progress(f"samples, {stopping}: {' | '.join(results[-1].line())}")
    return results


def advantages(results: Sequence[Result]) -> str:
    """Each algorithm's mean and 99th percentile over those of the default, a line for each case."""
    found = {(result.case, result.algorithm): result for result in results}
    rivals = [name for name in ALGORITHMS if name != "mislid"]
    rows = []
    for case in dict.fromkeys(result.case for result in results):
        own = found[case, "mislid"]
        row = [case]
        for rival in rivals:
            other = found.get((case, rival))
            if other is None:
                row.append("not measured")
                continue
            mean, tail = other.mean / own.mean, other.quantile(0.99) / own.quantile(0.99)
            cut = "≥ " if other.unanswered > 0 else ""
            wrong = " †" if other.wrong > 2 * DELTA else ""
            row.append(f"{cut}{mean:.2f} ({tail:.2f}){wrong}")
        rows.append(row)
    return table(["case", *(f"`{name}`" for name in rivals)], rows)


def run(quick: bool) -> str:
    """Both tables, each after its summary."""
    header = [
        "case", "algorithm", "runs", "mean samples", "p95", "p99", "wrong", "out of budget",
        "mean / bound",
    ]  # fmt: skip
    parts = []
    for stopping in STOPPING:
        results = compare(stopping, quick)
        parts.append(
            f"Stopping `{stopping}`. Mean samples over those of `mislid`, 99th percentiles over "
            f"its own in brackets; † wrong in over a tenth of the runs:\n\n{advantages(results)}"
        )
        parts.append(table(header, [result.line() for result in results]))
    return "\n\n".join(parts)
