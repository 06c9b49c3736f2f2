"""What 'agrees with the oracle' means for answers of the package: the accuracy that is promised."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.random import Generator

from mislid.errors import CertificateError

from .instances import Problem, random_problem

# Relative accuracy of costs and bounds; what is absolute is relative to `scale`.
WELL_CONDITIONED, HARD, ABSOLUTE = 1e-9, 1e-6, 1e-12


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


class Survey:
    """Answers to many problems: what was wrong, and which hard ones were refused."""

    def __init__(self) -> None:
        self.wrong: list[tuple[int, str, list[str]]] = []
        self.asked = 0
        self.refused = 0

    def ask(self, problem: Problem, index: int, judge: Callable[[], list[str]]) -> None:
        """Collect what `judge` finds wrong; only a hard problem may be refused, never quietly."""
        self.asked += 1
        try:
            found = judge()
        except CertificateError as error:
            found = [] if problem.hard else [str(error)]
            self.refused += 1
        if found:
            self.wrong.append((index, problem.kind, found))

    def verdict(self) -> list[tuple[int, str, list[str]]]:
        """What was wrong, with too many refusals (above one in a hundred) among it."""
        if self.refused > 1 + 0.01 * self.asked:
            return [*self.wrong, (-1, "", [f"refused {self.refused} of {self.asked}"])]
        return self.wrong


def drawn(seed: int, index: int, **options: bool | int) -> tuple[Problem, Generator]:
    """Problem `index` of a seed, and its generator for further draws."""
    rng = np.random.default_rng([seed, index])
    return random_problem(rng, **options), rng
