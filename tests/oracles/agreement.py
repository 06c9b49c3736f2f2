"""What 'agrees with the oracle' means for answers of the package: the accuracy that is promised."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.random import Generator

from helpers.instances import Problem, random_problem
from mislid.errors import CertificateError

# Relative accuracy of costs and bounds; what is absolute is relative to `scale`.
WELL_CONDITIONED, HARD, ABSOLUTE = 1e-9, 1e-6, 1e-12
# What is wrong with the answer to a problem; the generator is for further draws.
Judge = Callable[[Problem, Generator], list[str]]


class Certified(Protocol):
    """An answer with a cost and a bound that proves it."""

    @property
    def cost(self) -> float:
        """The cost."""

    @property
    def bound(self) -> float:
        """What is proved."""


def scale(problem: Problem) -> float:
    """The largest cost in sight: the heaviest arm moved by the largest mean."""
    return float(np.max(problem.weights) * (np.max(np.abs(problem.means)) + problem.tolerance) ** 2)


def slack(problem: Problem, cost: float) -> float:
    """How far costs and bounds of this problem may be apart."""
    return (HARD if problem.hard else WELL_CONDITIONED) * cost + ABSOLUTE * scale(problem)


def disagreements(problem: Problem, found: Certified, lower: float, upper: float) -> list[str]:
    """What is wrong with an answer whose true cost lies in [lower, upper]."""
    if math.isinf(upper) or math.isinf(found.cost):
        alike = math.isinf(lower) and math.isinf(found.cost) and math.isinf(found.bound)
        return [] if alike else [f"cost {found.cost!r}, bound {found.bound!r}, truth {upper!r}"]
    allowed = slack(problem, upper)
    wrong = []
    if not lower - allowed <= found.cost <= upper + allowed:
        wrong.append(f"cost {found.cost!r}, truth {upper!r}")
    if not found.cost - allowed <= found.bound <= found.cost:
        wrong.append(f"cost {found.cost!r}, bound {found.bound!r}")
    return wrong


def survey(
    seed: int, count: int, *judges: Judge, **options: bool | int
) -> list[tuple[int, str, list[str]]]:
    """What judges find wrong with the answers to many problems of a seed.

    Only hard problems may be refused, and no more than one in a hundred.
    """
    wrong, refused = [], 0
    for index in range(count):
        problem, rng = drawn(seed, index, **options)
        for judge in judges:
            try:
                found = judge(problem, rng)
            except CertificateError as error:
                found = [] if problem.hard else [str(error)]
                refused += 1
            if found:
                wrong.append((index, problem.kind, found))
    asked = count * len(judges)
    if refused > 1 + 0.01 * asked:
        wrong.append((-1, "", [f"refused {refused} of {asked}"]))
    return wrong


def drawn(seed: int, index: int, **options: bool | int) -> tuple[Problem, Generator]:
    """Problem `index` of a seed, and its generator for further draws."""
    rng = np.random.default_rng([seed, index])
    return random_problem(rng, **options), rng
