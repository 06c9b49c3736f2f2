"""Records of experiments: instances or recipes for them, methods, numbers of runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator, SeedSequence

from mislid._validation import Matrix, Vector, as_count, as_number, as_text
from mislid.algorithms import Algorithm, as_algorithm
from mislid.errors import ProblemError
from mislid.model import Instance, Model
from mislid.stopping.rules import as_stopping_rule

HEURISTIC, GUARANTEED = "heuristic", "guaranteed"
# The published runs with tricks tested when samples had grown by more than this.
PUBLISHED_GRID = 1.2
# Most draws of an instance.
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
    """An algorithm with a stopping rule, and the published runs to compare it with.

    Attributes
    ----------
    name
        Its name in tables and figures.
    algorithm, stopping
        As in `mislid.identify`.
    published
        The name under which its runs were published; None where nobody did.
    margin
        The mean number of samples agrees with the published one if it differs by at most this
        share of it. It also agrees if the runs cannot tell the two means apart.
    comparable
        Whether the published runs were of the same instance and settings; without that there is no
        verdict.
    remark
        A known reason for a mean that differs, for the report.
    tolerance, gamma, max_samples
        As in `mislid.identify`; without `max_samples`, its default.
    most
        Most runs of a slow method, however many the others do.

    Raises
    ------
    ProblemError
        If there is no such rule, or the name has no letter or digit.

    Examples
    --------
    >>> slow = Method("PEPS", "peps", most=20, max_samples=10**5)
    >>> slow.runs_of(500), slow.options(delta=0.01)["max_samples"]
    (20, 100000)
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
        as_stopping_rule(self.stopping)
        if not self.slug.strip("."):
            raise ProblemError(f"name must have a letter or a digit; got {self.name!r}")

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
        return re.sub(r"[^\w.]+|_+", "-", self.label.lower()).strip("-")

    def runs_of(self, runs: int) -> int:
        """The number of runs of this method where the others do so many.

        Parameters
        ----------
        runs
            Number of runs of the experiment.

        Returns
        -------
        int
            All of them, or `most`.
        """
        return runs if self.most is None else min(runs, self.most)

    def options(self, delta: float) -> dict[str, Any]:
        """Keyword arguments of `replicate`.

        Parameters
        ----------
        delta
            The error rate.

        Returns
        -------
        dict
            Without `max_samples` where the default is meant.
        """
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
    """One instance with a declared misspecification, and the methods that run on it.

    Attributes
    ----------
    name, title
        Its name in tables and for the directory of its runs, and a description.
    instance
        The name of a published instance; empty where only a recipe was published.
    m
        Number of best arms to find.
    misspecification
        The one that algorithms are told.
    methods
        Each with another name.
    recipe
        Draws an instance like the published one where that is missing: an object with
        `draw(seed, misspecification)`, which gives a `mislid.Instance`. None where only the
        published instance will do.
    published
        The name under which runs on it were published; by default that of the case.

    Raises
    ------
    ProblemError
        If the name cannot be that of a directory, two methods have the same name, or there is
        neither an instance nor a recipe.

    Examples
    --------
    >>> ours, lucb = Method("ours", "mislid"), Method("LUCB", "lucb", published="LUCB")
    >>> case = Case("D", "drugs", "drugs", 5, 0.1, (ours, lucb))
    >>> case.published_key(ours), case.published_key(lucb), case.path
    (None, ('D', 'LUCB'), 'instances/drugs.npz')
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
        if set(as_text(self.name, "name")) & {"/", "\\"} or self.name in (".", ".."):
            raise ProblemError(f"name must be one that a directory can have; got {self.name!r}")
        if self.recipe is None and not self.instance:
            raise ProblemError("instance must be the name of a published one where recipe is None")
        _refuse_repeats("methods", [method.slug for method in self.methods])

    @property
    def path(self) -> str:
        """The instance's place in the data directory."""
        return f"instances/{self.instance}.npz"

    def published_key(self, method: Method) -> tuple[str, str] | None:
        """The names under which runs were published.

        Parameters
        ----------
        method
            One of the case's methods.

        Returns
        -------
        tuple or None
            Case and method; None where nobody published any.
        """
        if method.published is None:
            return None
        return self.published or self.name, method.published


@dataclass(frozen=True)
class Experiment:
    """Cases that are run and shown together.

    Attributes
    ----------
    name, title
        Its name for commands, and a description.
    cases
        Each with another name.
    runs
        Number of runs of every method, unless `Method.most` is less.
    delta
        The error rate.
    seed
        Of all random numbers.
    notes
        Sentences for the report.
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    runs: int
    delta: float = 0.05
    seed: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        as_count(self.runs, "runs", 1)
        as_number(self.delta, "delta", low=0, high=1, low_open=True, high_open=True)
        _refuse_repeats("cases", [case.name for case in self.cases])


def _refuse_repeats(what: str, names: Sequence[str]) -> None:
    if not names or len(set(names)) < len(names):
        raise ProblemError(f"{what} must have different names, at least one; got {list(names)}")
