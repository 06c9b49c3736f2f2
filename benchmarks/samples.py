"""Samples of sampling rules under the same stopping rule, on instances of many kinds.

Finished runs are kept in the folder MISLID_RUNS (by default build/samples), so that a benchmark
that was stopped goes on. Delete it after a change of the rules.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mislid import Instance, Model, characteristic_time, replicate
from mislid.errors import ProblemError

from .cases import published
from .families import FAMILIES, MANY_ARMS, Family
from .report import Tables, digits, progress

DELTA = 0.05
DEFAULT = "mislid"
RIVALS = (
    *("lucb", "ugape", "lingape", "lingifa", "lingame", "mislid-paper", "fws"),
    *("lazy-tas", "top-two", "peps", "rage", "xy-adaptive", "xy-static"),
    *("uniform", "oracle"),
)
MISSPECIFICATIONS = (0.0, 0.01, 0.05, 0.15)
# Choices were made on other seeds and instances.
SEEDS, FIRST_INSTANCE = range(900, 1200), 300
# Rules that take 50 microseconds and more for a sample on E.
SLOW_ON_E = ("mislid-paper", "peps")
RUNS = Path(__file__).resolve().parents[1] / "build" / "samples"


class Problem(NamedTuple):
    """An instance with its number of best arms and what any method needs on average."""

    instance: Instance
    m: int
    bound: float


class Case(NamedTuple):
    """Instances that are reported together, and runs on each of them."""

    name: str
    problems: list[Problem]
    runs: int
    budget: int = 40  # lower bounds after which a run is given up


class Result(NamedTuple):
    """All runs of a rule on a case."""

    samples: np.ndarray  # (instances, runs)
    bounds: np.ndarray  # (instances,)
    wrong: float
    unanswered: float

    @property
    def mean(self) -> float:
        """Of all runs."""
        return float(self.samples.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean, the instances being given."""
        instances, runs = self.samples.shape
        spreads = self.samples.var(axis=1, ddof=min(1, runs - 1)) / runs
        return float(np.sqrt(spreads.sum()) / instances)

    def __str__(self) -> str:
        """Mean and standard error; a lower bound where runs were given up."""
        return f"{'≥ ' if self.unanswered else ''}{self.mean:,.0f} ± {self.error:,.0f}"

    def over(self, other: Result) -> str:
        """The ratio of the means with its standard error."""
        ratio = self.mean / other.mean
        error = ratio * float(np.hypot(self.error / self.mean, other.error / other.mean))
        wrong = " †" if self.wrong > 2 * DELTA else ""
        return f"{'≥ ' if self.unanswered else ''}{ratio:.2f} ± {error:.2f}{wrong}"


def as_problem(instance: Instance, m: int) -> Problem:
    """The instance with its lower bound."""
    time = characteristic_time(instance.model, instance.means, m, noise=instance.noise)
    return Problem(instance, m, time.samples(DELTA))


def of_family(family: Family, count: int) -> list[Problem]:
    """Instances of a family on which no choice was made."""
    numbers = range(FIRST_INSTANCE, FIRST_INSTANCE + count)
    return [as_problem(family.instance(number), family.m) for number in numbers]


@cache
def with_descriptors(misspecification: float) -> Problem:
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
    return as_problem(Instance(model, means, noise=0.5), m)


def cases(published_runs: int, descriptor_runs: int, family_runs: int) -> Iterator[Case]:
    """Published instances, 200 arms, and the random families."""
    for name, instance, m in published():
        budget = 25 if name in "DE" else 40
        runs = published_runs if name not in "DE" else max(10, published_runs // 20)
        yield Case(name, [as_problem(instance, m)], runs, budget)
    for eps in MISSPECIFICATIONS:
        yield Case(f"200 arms, eps {eps:g}", [with_descriptors(eps)], descriptor_runs)
    for family in FAMILIES:
        yield Case(family.name, of_family(family, 4), family_runs)


def quick_cases() -> list[Case]:
    """Some that take seconds."""
    return [Case(FAMILIES[3].name, of_family(FAMILIES[3], 1), 2)]


def measured(case: Case, name: str, stopping: str, seed: int) -> Result | None:
    """All runs of a rule on a case; None for a rule that does not answer such questions."""
    if case.name == "E" and name in SLOW_ON_E:
        case = case._replace(budget=6)
    folder = Path(os.environ.get("MISLID_RUNS", RUNS)) / f"{stopping}-{name}-{seed}"
    tables = []
    for number, problem in enumerate(case.problems):
        place = "".join(c if c.isalnum() else "-" for c in f"{case.name}-{number}")
        try:
            table = replicate(
                problem.instance,
                problem.m,
                runs=case.runs,
                seed=seed,
                delta=DELTA,
                algorithm=name,
                stopping=stopping,
                max_samples=int(case.budget * problem.bound),
                output=folder / place,
            )
        except ProblemError:
            return None
        tables.append(table)
    correct = list(chain.from_iterable(table["correct"] for table in tables))
    samples = np.array([table["samples"] for table in tables], dtype=float)
    result = Result(
        samples,
        np.array([problem.bound for problem in case.problems]),
        float(np.mean([one is False or one == 0 for one in correct if one is not None])),
        float(np.mean([one is None or one != one for one in correct])),
    )
    progress(f"{stopping}: {case.name} | {name} | {result}")
    return result


def proof_line(case: Case) -> list[str]:
    """The default beside two rivals, all with `guaranteed`."""
    own, *rivals = (
        measured(case, name, "guaranteed", 888) for name in (DEFAULT, "lucb", "lingape")
    )
    assert own is not None
    best = min(rival.mean for rival in rivals if rival is not None)
    return [
        case.name,
        digits(float(own.bounds.mean())),
        f"{own.samples.size}",
        str(own),
        f"{np.quantile(own.samples, 0.99):,.0f}",
        f"{own.wrong:.3f}",
        digits(float(np.mean(own.samples / own.bounds[:, None]))),
        *(str(rival or "") for rival in rivals),
        f"{own.mean / best:.2f}",
    ]


def proof(quick: bool) -> Tables:
    """How many samples a proof takes."""
    found = quick_cases() if quick else list(cases(400, 200, 25))
    if not quick:
        found += [Case(family.name, of_family(family, 3), 10) for family in MANY_ARMS]
    header = (
        *("case", "bound", "runs", "mislid, mean", "p99", "wrong", "over the bound"),
        *("lucb", "lingape", "over the best rival"),
    )
    return {"proof": (header, [proof_line(case._replace(budget=60)) for case in found])}


def rivals_table(
    found: Sequence[Case], stopping: str, names: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """A row for each rule, a column for each case: samples over those of the default."""
    header, columns = ["rule"], []
    for case in found:
        results = {name: measured(case, name, stopping, 4321) for name in (DEFAULT, *names)}
        own = results[DEFAULT]
        assert own is not None
        header.append(f"{case.name} ({own.samples.size})")
        cells = {name: result.over(own) if result else "" for name, result in results.items()}
        columns.append(cells | {DEFAULT: str(own)})
    rows = [[name, *(column[name] for column in columns)] for name in (DEFAULT, *names)]
    return header, rows


def rivals(quick: bool) -> Tables:
    """All rules under both stopping rules."""
    if quick:
        return {"rivals-guaranteed": rivals_table(quick_cases(), "guaranteed", RIVALS[:3])}
    found = list(cases(200, 25, 40))
    found += [Case(family.name, of_family(family, 2), 3) for family in MANY_ARMS[:4]]
    names = ("guaranteed", "heuristic")
    return {f"rivals-{stopping}": rivals_table(found, stopping, RIVALS) for stopping in names}
