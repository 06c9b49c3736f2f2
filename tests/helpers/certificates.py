"""Decided studies of every kind, from seeds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import mislid
from mislid.study import Study

# Of bounded values.
RANGE = (-3.0, 5.0)


@dataclass(frozen=True)
class Case:
    """A study to be made: what it is asked, and how often each arm is measured."""

    K: int = 6
    d: int = 2
    m: int = 2
    eps: float = 0.2
    tol: float = 0.0
    noise: Any = 0.1
    direction: str = "maximize"
    algorithm: str = "mislid"
    featureless: bool = False
    integers: bool = False
    redundant: bool = False  # a column that depends on others
    collinear: bool = False  # two columns that are alike to eight digits
    unmeasured: int = 0  # arms outside the spanner that are not measured
    level: float = 0.0  # added to all means
    n: int = 20  # 0: what the study asks for, one by one
    seed: int = 0
    model: str = "known"  # what the study is told of the noise

    def study(self, storage: Any = None) -> Study:
        """Begin it, without data."""
        labels = range(100, 100 + self.K) if self.integers else [f"arm {k}" for k in range(self.K)]
        about: dict[str, Any] = {"candidates": list(labels)}
        if not self.featureless:
            table = dict(zip(labels, self.features.tolist(), strict=True))
            about = {"candidates": table, "misspecification": self.eps}
        return mislid.create_study(
            study_name="case",
            intercept=False,
            m=self.m,
            tolerance=self.tol,
            direction=self.direction,
            algorithm=self.algorithm,
            storage=storage,
            **self.told,
            **about,
        )

    @property
    def told(self) -> dict[str, Any]:
        """What is said of the noise."""
        return {"noise": {"known": self.noise, "bounded": RANGE}.get(self.model, self.model)}

    def _values(self, means: Any, rng: np.random.Generator, arms: Any) -> Any:
        """What comes out of measurements of arms (n,), or of one."""
        if self.model == "bernoulli":
            return (rng.random(np.shape(arms)) < means[arms]).astype(float)
        noise = np.broadcast_to(np.array(self.noise), (self.K,))
        values = means[arms] + noise[arms] * rng.normal(size=np.shape(arms))
        return np.clip(values, *RANGE) if self.model == "bounded" else values

    @property
    def features(self) -> Any:
        """(K, d), and a column more where one is redundant."""
        A = np.random.default_rng([self.seed, 1]).normal(size=(self.K, self.d))
        A[:, 0] = 1.0  # so that a level is linear
        if self.collinear:
            A[:, -1] = A[:, -2] + 1e-8 * A[:, -1]
        return np.column_stack([A, A @ np.arange(1.0, self.d + 1.0)]) if self.redundant else A

    def decided(self, storage: Any = None) -> Study:
        """Measure until it decides, as it should: one by one, or every arm n times."""
        study = self.one_by_one(storage) if self.n == 0 else self.rounds(storage)
        assert study.status == "decided", f"{self} does not decide"
        return study

    def one_by_one(self, storage: Any = None, most: int = 5_000) -> Study:
        """Measure what the study asks for."""
        study = self.study(storage)
        rng = np.random.default_rng([self.seed, 2])
        means, index = self._means(rng), study.candidates.positions
        study.optimize(
            lambda trial: float(self._values(means, rng, index[trial.arm])), n_trials=most
        )
        return study

    def rounds(self, storage: Any = None, most: int = 60) -> Study:
        """Measure every arm n times, again and again."""
        study = self.study(storage)
        rng = np.random.default_rng([self.seed, 2])
        means, arms = self._means(rng), np.arange(self.K)
        if self.unmeasured:
            arms = np.delete(
                arms, np.delete(arms, mislid.spanner(self.features))[: self.unmeasured]
            )
        arms = np.repeat(arms, self.n)
        for _ in range(most):
            values = self._values(means, rng, arms)
            labels = [study.candidates.labels[arm] for arm in arms]
            study.add_observations(list(zip(labels, values.tolist(), strict=True)))
            if study.status == "decided":
                break
        return study

    def _means(self, rng: np.random.Generator) -> Any:
        A, wobble = self.features, min(self.eps, 1.0)
        means = A @ rng.normal(size=A.shape[1]) + self.level
        means = means + rng.uniform(-wobble, wobble, size=self.K)
        if self.model == "bernoulli":
            return np.clip(0.5 + 0.2 * means, 0.02, 0.98)
        return np.clip(means, *RANGE) if self.model == "bounded" else means


@dataclass(frozen=True)
class Drifting:
    """Pairs that are settled at three times, and by none of the later data.

    Values are such that b and then d are told apart from a, and come closer to it later. What is
    told of the noise is `model`, values alternate by `apart`, and there are `fold` times as many.
    """

    model: str = "known"
    apart: float = 0.0
    fold: int = 1

    def decided(self, storage: Any = None) -> Study:
        """Measure in phases."""
        study = mislid.create_study(
            study_name="case",
            intercept=False,
            candidates={"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [1.0, -1.0]},
            m=1,
            misspecification=5.0,
            storage=storage,
            **Case(noise=1.1, model=self.model).told,
        )
        first = [("a", 1.0, 30), ("b", -1.0, 30), ("c", 0.9, 30), ("d", 0.9, 6)]
        study.add_observations([row for one in first for row in self._rows(*one)])
        for rows in (("b", 1.3, 60), ("d", -1.0, 40), ("d", 1.2, 70), ("c", -2.0, 60)):
            assert study.status == "running"
            study.add_observations(self._rows(*rows))
        assert study.status == "decided"
        return study

    def _rows(self, arm: str, value: float, times: int) -> list[tuple[str, float]]:
        return [(arm, value + self.apart * (-1) ** n) for n in range(self.fold * times)]


CASES: dict[str, Case | Drifting] = {
    "drifting": Drifting(),
    "by the features": Case(K=12, m=1, eps=0.0, n=2, seed=20),
    "by both": Case(K=8, m=2, eps=0.02, n=1, seed=20),
    "by two arms": Case(K=4, m=1, eps=3.0, seed=20),
    "features none": Case(K=5, featureless=True, integers=True, seed=2),
    "minimised": Case(direction="minimize", eps=0.01, n=1, seed=3),
    "noise per arm": Case(K=4, m=1, noise=[0.1, 0.2, 0.3, 0.4], n=1, seed=5),
    "a redundant column": Case(K=6, redundant=True, tol=0.1, n=1, seed=6),
    "an arm not measured": Case(
        K=6, m=1, eps=0.01, unmeasured=1, algorithm="mislid-paper", n=1, seed=7
    ),
    "collinear": Case(K=7, d=3, eps=0.05, tol=0.5, collinear=True, n=1, seed=15),
    "a tolerance": Case(K=5, tol=0.2, eps=0.1, direction="minimize", seed=9),
    "one by one": Case(K=10, m=2, eps=0.3, noise=0.3, n=0, seed=1),
    "by all arms": Case(K=12, d=3, m=2, eps=0.1, noise=0.3, n=1, seed=2),
    # Of studies that know less of the noise.
    "unknown noise": Case(K=5, m=2, eps=0.1, n=9, seed=30, model="unknown"),
    "unknown noise, drifting": Drifting("unknown", apart=0.9),
    "bounded": Case(K=5, m=2, eps=2.0, n=15, seed=33, model="bounded"),
    "bounded, drifting": Drifting("bounded", apart=0.3, fold=6),
    "equal noise": Case(K=5, m=2, eps=0.1, n=9, seed=40, model="unknown-equal"),
    "equal noise, by the features": Case(
        K=9, m=1, eps=0.0, n=3, noise=1.0, seed=41, model="unknown-equal"
    ),
    "equal noise, drifting": Drifting("unknown-equal", apart=0.9),
    "rates": Case(K=5, m=2, eps=1.0, n=40, seed=49, model="bernoulli"),
}


@cache
def text_of(name: str) -> str:
    """The certificate of a case."""
    return CASES[name].decided().result.certificate.to_json()


def certificate_of(name: str) -> dict[str, Any]:
    """The same as values of JSON, in fresh containers."""
    found: dict[str, Any] = json.loads(text_of(name))
    return found


def random_case(rng: np.random.Generator) -> Case:
    """Small studies of all kinds; most decide within 30 rounds."""
    K = int(rng.integers(2, 13))
    d = int(rng.integers(1, min(K, 4) + 1))
    model = str(rng.choice(["known", "unknown", "bounded", "bernoulli", "unknown-equal"]))
    if model != "known":
        K, d = min(K, 6), 2
    featureless = bool(rng.random() < 0.2)
    lazy = model == "known" and not featureless and bool(rng.random() < 0.2)  # leaves arms out
    noise = float(rng.choice([0.05, 0.2, 0.3]))
    uneven = model == "known" and rng.random() < 0.3
    return Case(
        K=K,
        d=d,
        m=int(rng.integers(1, K)),
        eps=float(rng.choice([0.0, 0.02, 0.2, 1.0, 30.0, np.inf])),
        tol=float(rng.choice([0.0, 0.0, 0.3])),
        noise=rng.uniform(0.05, 1.0, size=K).tolist() if uneven else noise,
        direction=str(rng.choice(["maximize", "minimize"])) if model != "bernoulli" else "maximize",
        featureless=featureless,
        integers=bool(rng.random() < 0.3),
        redundant=bool(rng.random() < 0.2),
        collinear=d > 1 and bool(rng.random() < 0.2),
        algorithm="mislid-paper" if lazy else "mislid",
        unmeasured=int(rng.integers(1, K)) if lazy else 0,
        level=float(rng.choice([0.0, -3.0, 1e3, 1e10])) if model == "known" else 0.0,
        n=int(rng.integers(1, 40)) if lazy else int(rng.choice([0, rng.integers(1, 40)])),
        seed=int(rng.integers(1 << 30)),
        model=model,
    )
