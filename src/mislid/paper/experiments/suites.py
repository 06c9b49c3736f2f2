"""Tables that others have published, as data: instances, settings and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from mislid.algorithms import (
    ALGORITHMS,
    RAGE,
    AdaHedge,
    CTracking,
    Empirical,
    LazyTrackAndStop,
    LinGapE,
    MisLid,
    Selective,
    XYAdaptive,
)
from mislid.model import Instance, Model
from mislid.paper.experiments.published import Statistics
from mislid.paper.experiments.spec import BRANCH, GUARANTEED, HEURISTIC, Case, Experiment, Method
from mislid.paper.experiments.until_right import Race, Racer

# The likelihood ratio test with ln((t + 1) / delta), and the same with pairs that stay settled.
GLR, SETTLING = "glr", "glr-selective"


@dataclass(frozen=True)
class FewBasisArms:
    """Ten unit vectors with means 1, 0.9 four times and 0.8 five times, and 40 arms far below.

    These are drawn uniformly from [-1, 1]^20, scaled to length 1, until their mean is at most 0.5;
    the other ten numbers of the parameter are uniform in [-1, 0].
    """

    K: int = 50
    d: int = 20

    def draw(self, seed: int, misspecification: float) -> Instance:
        """One instance, with unit noise.

        Examples
        --------
        >>> instance = FewBasisArms().draw(0, 0.0)
        >>> np.sort(instance.means)[::-1][:6].round(2).tolist()
        [1.0, 0.9, 0.9, 0.9, 0.9, 0.8]
        """
        rng = np.random.default_rng(SeedSequence(seed, spawn_key=(BRANCH,)))
        theta = np.concatenate([[1.0], [0.9] * 4, [0.8] * 5, rng.uniform(-1.0, 0.0, self.d - 10)])
        arms = list(np.eye(self.d)[:10])
        while len(arms) < self.K:
            arm = rng.uniform(-1.0, 1.0, self.d)
            arm /= np.linalg.norm(arm)
            if arm @ theta <= 0.5:
                arms.append(arm)
        features = np.array(arms)
        return Instance(Model(features, misspecification), features @ theta)


@dataclass(frozen=True)
class _Published:
    """Thousands of samples of one rule: by the plain test (and its standard deviation), with
    elimination in stopping, and in both stopping and sampling.
    """

    name: str
    algorithm: Any
    plain: float
    std: float | None = None
    stopping: float | None = None
    both: float | None = None
    own_test: bool = False

    def methods(self) -> Iterator[Method]:
        """One for every number."""
        first = HEURISTIC if self.own_test else GLR  # with "heuristic" they stop by their own test
        yield self._method(self.name, self.algorithm, first, self.plain)
        if self.stopping is not None:
            yield self._method(self.name, self.algorithm, SETTLING, self.stopping)
        if self.both is not None:
            name = f"{self.name}, selective"
            yield self._method(name, Selective(self.algorithm), SETTLING, self.both)

    def _method(self, name: str, algorithm: Any, stopping: str, thousands: float) -> Method:
        # Where no standard deviation is printed, that of the plain test stands in for it.
        std = 1000.0 * (self.plain / 3.0 if self.std is None else self.std)
        return Method(
            name,
            algorithm,
            stopping,
            reported=Statistics(100, 1000.0 * thousands, std, None, None),
            max_samples=1_000_000,
        )


# One learner and no optimism, as the table's LinGame and MisLid.
_GAME = MisLid(AdaHedge(gap=0.01), Empirical(), CTracking(), every_arm=True)
_LINGAPE, _LAZY = LinGapE(growth=2.0), LazyTrackAndStop(own_test=False)
_FWS, _ORACLE = ALGORITHMS["fws"], ALGORITHMS["oracle"]

BEST_ARM = (
    _Published("LinGapE", _LINGAPE, 33.19, 8.7, 33.11, 29.89),
    _Published("LinGame", _GAME, 45.34, 14.2, 43.67, 32.49),
    _Published("FWS", _FWS, 42.26, 60.1, 42.25, 32.62),
    _Published("Lazy Track-and-Stop", _LAZY, 76.33, 65.8, 74.08, 64.48),
    _Published("oracle", _ORACLE, 56.36, 9.1, 55.36),
    _Published("XY-Adaptive", XYAdaptive(first=50, fresh=False), 87.08, own_test=True),
    _Published("RAGE", RAGE(fresh=False), 106.87, own_test=True),
)
TOP_5 = (
    _Published("LinGapE", _LINGAPE, 63.69, 11.1, 63.48, 59.57),
    _Published("MisLid", _GAME, 87.77, 20.4, 85.95, 69.58),
    _Published("FWS", _FWS, 78.28, 65.0, 78.23, 77.79),
    _Published("Lazy Track-and-Stop", _LAZY, 161.43, 96.9, 159.86, 146.06),
    _Published("LinGIFA", ALGORITHMS["lingifa"], 58.31, 10.8),
    _Published("oracle", _ORACLE, 102.45, 16.1, 101.53),
)
_OURS = (
    Method("our default", "mislid", GLR),
    Method("our default", "mislid", SETTLING),
    Method("our default, selective", Selective("mislid"), SETTLING),
    Method("our default", "mislid", GUARANTEED),
)


def _case(name: str, title: str, m: int, rows: tuple[_Published, ...]) -> Case:
    methods = tuple(method for row in rows for method in row.methods())
    return Case(name, title, "", m, 0.0, (*methods, *_OURS), recipe=FewBasisArms())


ELIMINATION = Experiment(
    name="elimination",
    title="Elimination in stopping and in sampling (Tirinzoni and Degenne 2022, Table 1)",
    cases=(
        _case("best-arm", "the best arm", 1, BEST_ARM),
        _case("top-5", "the five best arms", 5, TOP_5),
    ),
    runs=100,
    delta=0.01,
    notes=(
        (
            "glr is their test, every pair's likelihood ratio above ln((t + 1) / delta) with V_0 = "
            "I; glr-selective keeps pairs settled; selective sampling leaves them out too."
        ),
        (
            "Where the table prints no standard deviation, that of the plain test stands in for "
            "it, and a third of the mean for XY-Adaptive and RAGE, which stop by their own tests."
        ),
    ),
    source="an instance drawn by the published recipe; the characteristic time of others differs "
    "by less than 1 %",
)

# Samples until the answer is right with probability 1 - delta, at delta 0.2, 0.1 and 0.05.
PEPS = Race(
    name="peps",
    title="Samples until the answer is right (Li, Jamieson and Jain 2024, Table 1)",
    instance=Instance(Model(np.eye(12), 0.0), 1.0 - 0.05 * np.arange(12)),
    m=3,
    deltas=(0.2, 0.1, 0.05),
    racers=(
        Racer("PEPS", "peps", (7326, 14188, 22518)),
        Racer("our default", "mislid"),
        Racer("LUCB", "lucb"),
        Racer("oracle", "oracle"),
        Racer("uniform", "uniform"),
    ),
    horizon=45_000,
    every=100,
    runs=500,
)

SUITES = {ELIMINATION.name: ELIMINATION}
RACES = {PEPS.name: PEPS}
