"""How many samples a proof takes: the default against its rivals under the same stopping rule.

Published instances, the notes' table of 200 arms with good descriptors, random families that no
choice was made on, and means at other levels. Finished runs are kept, as those of `samples` are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mislid import Instance, Model
from mislid.paper.experiments.demo import M as DEMO_M
from mislid.paper.experiments.demo import demo_instance

from .families import FAMILIES, MANY_ARMS
from .report import digits, progress, table
from .samples import (
    Effort,
    Problem,
    Result,
    as_problem,
    family_problems,
    finished,
    published_problems,
)

DEFAULT, RIVALS = "mislid", ("lucb", "lingape")
STOPPING = "guaranteed"
# A run is given up after so many times the lower bound.
BUDGET = 60
# Runs of the default and of each rival.
Runs = tuple[int, int, int]
RUNS: dict[str, Runs] = {
    "D": (200, 200, 1),
    "E": (100, 20, 0),
    "no structure": (100, 100, 1),
}
PUBLISHED_RUNS, DESCRIPTOR_RUNS, FAMILY_RUNS, MANY_RUNS, LEVEL_RUNS = 400, 200, 25, 10, 200
MISSPECIFICATIONS = (0.0, 0.01, 0.05, 0.15)
LEVELS = (0.0, 100.0, 1_000.0, 10_000.0)
# Choices were made on the first 600 seeds and on instances below 200, and results of the next 300
# and 100 were seen; these are others.
SEEDS = range(900, 1200)
SEED, FIRST_INSTANCE = 888, 300


class Case(NamedTuple):
    """What is compared: instances, and runs on each by the default and by its rivals."""

    name: str
    problems: list[Problem]
    runs: Runs


def with_descriptors(misspecification: float) -> Instance:
    """200 arms, six standard normal descriptors; of many seeds the one with the largest gap."""
    K, d, m = 200, 6, 3

    def draw(seed: int) -> tuple[float, Model, np.ndarray]:
        rng = np.random.default_rng(seed)
        features, theta = rng.normal(size=(K, d)), rng.normal(size=d)
        linear = features @ theta / np.linalg.norm(theta)
        ordered = np.sort(linear)[::-1]
        means = linear + misspecification * rng.uniform(-1, 1, size=K)
        return float(ordered[m - 1] - ordered[m]), Model(features, misspecification), means

    _, model, means = max((draw(seed) for seed in SEEDS), key=lambda drawn: drawn[0])
    return Instance(model, means, noise=0.5)


def with_all_descriptors() -> Iterator[tuple[str, Problem]]:
    """These arms by name, the descriptors right and more and more wrong."""
    for eps in MISSPECIFICATIONS:
        yield f"200 arms, eps {eps:g}", as_problem(with_descriptors(eps), 3)


def shifted_demo(level: float) -> Instance:
    """The demonstration with all means higher by so many noise units; its features have a one."""
    demo = demo_instance()
    return Instance(demo.model, demo.means + level * float(demo.noise[0]), noise=demo.noise)


def published_cases() -> Iterator[Case]:
    """The paper's instances, where they are."""
    for name, problem in published_problems("proof"):
        yield Case(name, [problem], RUNS.get(name, (PUBLISHED_RUNS, PUBLISHED_RUNS, 4)))


def other_cases() -> Iterator[Case]:
    """Everything that is drawn at random, and the demonstration."""
    for name, problem in with_all_descriptors():
        yield Case(name, [problem], (DESCRIPTOR_RUNS, 40, 40))
    for family in FAMILIES:
        runs = RUNS.get(family.name, (FAMILY_RUNS, FAMILY_RUNS, 1))
        yield Case(family.name, family_problems(family, 4, FIRST_INSTANCE), runs)
    for family in MANY_ARMS:
        yield Case(family.name, family_problems(family, 3, FIRST_INSTANCE), (MANY_RUNS,) * 3)
    for level in LEVELS:
        problem = as_problem(shifted_demo(level), DEMO_M)
        yield Case(f"demonstration + {level:,.0f}", [problem], (LEVEL_RUNS, 0, 0))


def quick_cases() -> Iterator[Case]:
    """Two that take seconds."""
    yield Case("200 arms, eps 0.05", [as_problem(with_descriptors(0.05), 3)], (2, 1, 1))
    yield Case(FAMILIES[3].name, family_problems(FAMILIES[3], 1, FIRST_INSTANCE), (2, 1, 1))


def result(case: Case, algorithm: str) -> Result | None:
    """All runs of an algorithm on a case; None where it was not asked for."""
    runs = case.runs[(DEFAULT, *RIVALS).index(algorithm)]
    if runs == 0:
        return None
    effort = Effort(0, runs, BUDGET, SEED)
    rows = [
        (row, problem.bound)
        for problem in case.problems
        for row in finished(problem, algorithm, STOPPING, effort)
    ]
    return Result.of(case.name, algorithm, rows)


def cell(found: Result | None) -> str:
    """Mean and standard error; a lower bound where runs were given up."""
    if found is None:
        return ""
    error = found.samples.std(ddof=1) / np.sqrt(len(found.samples)) if len(found.samples) > 1 else 0
    return f"{'≥ ' if found.unanswered > 0 else ''}{found.mean:,.0f} ± {error:,.0f}"


def line(case: Case) -> list[str]:
    """A row of the table."""
    own = result(case, DEFAULT)
    assert own is not None
    rivals = [result(case, name) for name in RIVALS]
    best = min((rival.mean for rival in rivals if rival is not None), default=np.nan)
    bound = float(np.mean([problem.bound for problem in case.problems]))
    row = [
        case.name,
        digits(bound),
        f"{len(own.samples)}",
        cell(own),
        f"{own.quantile(0.99):,.0f}",
        f"{own.wrong:.3f}",
        digits(float(np.mean(own.samples / own.bounds))),
        *(cell(rival) for rival in rivals),
        "" if np.isnan(best) else f"{own.mean / best:.2f}",
    ]
    progress(f"proof: {' | '.join(row)}")
    return row


def run(quick: bool) -> str:
    """The table."""
    cases: Sequence[Case] | Iterator[Case] = (
        quick_cases() if quick else [*published_cases(), *other_cases()]
    )
    header = [
        "case", "bound", "runs", "`mislid`, mean", "p99", "wrong", "over the bound",
        *(f"`{name}`" for name in RIVALS), "over the best rival",
    ]  # fmt: skip
    return table(header, [line(case) for case in cases])
