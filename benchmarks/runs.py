"""Whole runs, for the record: a hundred of D and one of E, every round tested exactly."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from mislid import identify

from .cases import Case, published_case
from .driven import ALGORITHMS, DELTA, RULES, instance_of
from .measuring import timed
from .report import digits, duration, progress, table

# Runs of each instance by stopping rule, and the most samples of one.
WANTED = {"D": {"heuristic": 100, "guaranteed": 10}, "E": {"heuristic": 1, "guaranteed": 1}}
QUICK = {"D": {"heuristic": 2, "guaranteed": 1}}
BUDGET, QUICK_BUDGET = 700_000, 500


class Runs(NamedTuple):
    """Samples (n,), how many stopped and how many of these were wrong, and the seconds of all."""

    samples: list[int]
    stopped: int
    wrong: int
    cpu: float
    wall: float


def measure(case: Case, algorithm: str, stopping: str, runs: int, budget: int) -> Runs:
    """Some runs, one after the other in this process."""
    instance = instance_of(case)

    def one(run: int, most: int) -> tuple[int, bool | None]:
        found = identify(
            instance, case.m, delta=DELTA, algorithm=algorithm, stopping=stopping,
            max_samples=most, seed=SeedSequence(0, spawn_key=(run,)),
        )  # fmt: skip
        return found.samples, found.correct

    one(0, 2 * len(case.means))  # loads the compiled loop
    done, wall, cpu = timed(lambda: [one(run, budget) for run in range(runs)])
    answers = [correct for _, correct in done if correct is not None]
    return Runs([samples for samples, _ in done], len(answers), answers.count(False), cpu, wall)


def run(quick: bool) -> str:
    """The table over instances, algorithms and stopping rules."""
    rows = []
    for name, wanted in (QUICK if quick else WANTED).items():
        case = published_case(name)
        for algorithm, stopping in product(ALGORITHMS, RULES):
            budget = QUICK_BUDGET if quick else BUDGET
            one = measure(case, algorithm, stopping, wanted[stopping], budget)
            rows.append(_row(name, algorithm, stopping, one))
            progress(f"runs: {' | '.join(rows[-1])}")
    header = [
        "instance, sampling, stopping", "runs", "stopped", "wrong", "mean samples", "most",
        "processor time of all", "wall time", "processor time a sample",
    ]  # fmt: skip
    return table(header, rows)


def _row(name: str, algorithm: str, stopping: str, one: Runs) -> list[str]:
    return [
        f"{name}, `{algorithm}`, `{stopping}`",
        str(len(one.samples)),
        str(one.stopped),
        str(one.wrong),
        f"{np.mean(one.samples):,.0f}",
        f"{max(one.samples):,}",
        f"{digits(one.cpu)} s",
        f"{digits(one.wall)} s",
        duration(one.cpu / sum(one.samples)),
    ]
