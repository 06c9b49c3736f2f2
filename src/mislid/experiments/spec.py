"""What an experiment is: instances, or recipes for them, methods, numbers of runs.

Plain records that run nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator, SeedSequence

from mislid._validation import Matrix, Vector
from mislid.algorithms import Algorithm, as_algorithm
from mislid.errors import ProblemError
from mislid.experiments.published import Statistics
from mislid.model import Instance, Model
from mislid.rules.stopping import as_stopping_rule

HEURISTIC, GUARANTEED = "heuristic", "guaranteed"
# The published runs with tricks tested when samples had grown by more than this.
PUBLISHED_GRID = 1.2
# How often an instance is drawn anew.
ATTEMPTS = 10_000
# Tells an instance's random numbers from those of runs, which are the children 0, 1, ...
BRANCH = 2**31


class Draws(Protocol):
    """How instances are drawn."""

    def draw(self, seed: int, misspecification: float) -> Instance:
        """One instance."""


@dataclass(frozen=True)
class Recipe:
    """Gaussian features and parameter, both with largest entry 1.

    `deviation` adds Gaussian deviations with that largest size, `raised` adds to the mean of the
    best arm outside the m best. The paper shows one instance each; to be of like difficulty, an
    instance is drawn again until the m-th best mean is at least `gap` from its neighbours
    (before one is raised).
    """

    K: int
    d: int
    m: int
    gap: float
    deviation: float = 0.0
    raised: float = 0.0

    def draw(self, seed: int, misspecification: float) -> Instance:
        """Draw an instance with unit noise; recipes that differ in `raised` only share all else.

        Examples
        --------
        >>> instance = Recipe(K=10, d=5, m=3, gap=0.14).draw(0, misspecification=0.0)
        >>> instance.K, instance.d
        (10, 5)
        """
        rng = np.random.default_rng(SeedSequence(seed, spawn_key=(BRANCH,)))
        for _ in range(ATTEMPTS):
            features, means = self._attempt(rng)
            above, at, below = np.sort(means)[::-1][self.m - 2 : self.m + 1]
            if min(above - at, at - below) >= self.gap:
                means[np.argsort(means)[::-1][self.m]] += self.raised
                return Instance(Model(features, misspecification), means)
        raise ProblemError(f"gap must be smaller; {ATTEMPTS} instances had none of {self.gap}")

    def _attempt(self, rng: Generator) -> tuple[Matrix, Vector]:
        features = _scaled(rng.standard_normal((self.K, self.d)))
        means = features @ _scaled(rng.standard_normal(self.d))
        if self.deviation > 0.0:
            means = means + self.deviation * _scaled(rng.standard_normal(self.K))
        return features, means


def _scaled(values: Matrix) -> Matrix:
    """Rows with largest entry 1."""
    largest: Matrix = np.max(np.abs(values), axis=-1, keepdims=True)
    return values / largest


@dataclass(frozen=True)
class Method:
    """An algorithm with a stopping rule.

    `published` names the published runs to compare with, whose mean is to be met within `margin`,
    unless they are not `comparable`; `remark` says what is known where it is not met. Of runs that
    are known from a table only, `reported` is what it says.
    `most` limits the number of runs of a slow method.
    """

    name: str
    algorithm: str | Algorithm
    stopping: str = HEURISTIC
    published: str | None = None
    margin: float = 0.1
    comparable: bool = True
    remark: str = ""
    tolerance: float = 0.0
    gamma: float = 1.0
    max_samples: int | None = None
    most: int | None = None
    reported: Statistics | None = None

    def __post_init__(self) -> None:
        as_algorithm(self.algorithm)
        as_stopping_rule(self.stopping)

    @property
    def label(self) -> str:
        """The name, with the stopping rule where it is not that of the paper.

        >>> Method("our default", "mislid", GUARANTEED).label
        'our default, guaranteed'
        """
        return self.name if self.stopping == HEURISTIC else f"{self.name}, {self.stopping}"

    @property
    def slug(self) -> str:
        """The label as a directory's name.

        >>> Method("LUCB, standard width", "lucb").slug
        'lucb-standard-width'
        """
        return re.sub(r"[^a-z0-9.]+", "-", self.label.lower()).strip("-")

    def runs_of(self, runs: int) -> int:
        """How many of so many runs are done: all, or the limit of a slow method."""
        return runs if self.most is None else min(runs, self.most)

    def options(self, delta: float) -> dict[str, Any]:
        """The keyword arguments that `replicate` is called with."""
        options: dict[str, Any] = {
            "algorithm": self.algorithm,
            "stopping": self.stopping,
            "delta": delta,
            "tolerance": self.tolerance,
            "gamma": self.gamma,
        }
        return options if self.max_samples is None else options | {"max_samples": self.max_samples}


@dataclass(frozen=True)
class Case:
    """One instance with a declared misspecification, and the methods on it.

    `recipe` draws an instance like it where there are no data, or always where `instance` is empty:
    what was published is the recipe then. Published runs are filed under `published`, by default
    the case's name.
    """

    name: str
    title: str
    instance: str
    m: int
    misspecification: float
    methods: tuple[Method, ...]
    recipe: Draws | None = None
    published: str = ""

    def __post_init__(self) -> None:
        _refuse_repeats("methods", [method.slug for method in self.methods])

    def published_key(self, method: Method) -> tuple[str, str] | None:
        """Case and method under which runs were published; None where none were."""
        if method.published is None:
            return None
        return self.published or self.name, method.published

    @property
    def path(self) -> str:
        """The instance's place in the data directory."""
        return f"instances/{self.instance}.npz"


@dataclass(frozen=True)
class Experiment:
    """Cases that are run and shown together; `notes` say what a reader should know.

    `source` says what the runs are on, where the published instances are recipes.
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    runs: int
    delta: float = 0.05
    seed: int = 0
    notes: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        _refuse_repeats("cases", [case.name for case in self.cases])


def _refuse_repeats(what: str, names: Iterable[str]) -> None:
    names = list(names)
    if not names:
        raise ProblemError(f"{what} must not be empty")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ProblemError(f"{what} must have different names; got {repeated[0]!r} twice")
