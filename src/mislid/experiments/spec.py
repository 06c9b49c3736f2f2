"""What an experiment is: instances, methods, numbers of runs. Plain records that run nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mislid.algorithms import Algorithm, as_algorithm
from mislid.errors import ProblemError
from mislid.experiments.recipes import Recipe

HEURISTIC, GUARANTEED = "heuristic", "guaranteed"
# The published runs with tricks tested when samples had grown by more than this.
PUBLISHED_GRID = 1.2


@dataclass(frozen=True)
class Method:
    """An algorithm with a stopping rule.

    `published` names the published runs to compare with, whose mean is to be met within `margin`,
    unless they are not `comparable`; `remark` says what is known where it is not met.
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

    def __post_init__(self) -> None:
        as_algorithm(self.algorithm)
        if self.stopping not in {HEURISTIC, GUARANTEED}:
            raise ProblemError(
                f"stopping must be {HEURISTIC} or {GUARANTEED}; got {self.stopping!r}"
            )

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

    `recipe` draws an instance like it where there are no data. Published runs are filed under
    `published`, by default the case's name.
    """

    name: str
    title: str
    instance: str
    m: int
    misspecification: float
    methods: tuple[Method, ...]
    recipe: Recipe | None = None
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
    """Cases that are run and shown together; `notes` say what a reader should know."""

    name: str
    title: str
    cases: tuple[Case, ...]
    runs: int
    delta: float = 0.05
    seed: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _refuse_repeats("cases", [case.name for case in self.cases])


def _refuse_repeats(what: str, names: Iterable[str]) -> None:
    names = list(names)
    if not names:
        raise ProblemError(f"{what} must not be empty")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ProblemError(f"{what} must have different names; got {repeated[0]!r} twice")
