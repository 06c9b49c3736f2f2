"""Studies with outliers, levels far above the noise, and features and noise of uneven sizes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import mislid
from mislid.errors import MislidError
from mislid.study import Study


@dataclass(frozen=True)
class Nasty:
    """What is asked, with which features, and the means."""

    settings: dict[str, Any]
    features: Any
    means: Any
    noise: Any

    def decided(self, rng: np.random.Generator, rounds: int = 12) -> Study | None:
        """A study that decided within so many rounds, each of some values of every arm."""
        K = len(self.means)
        about: dict[str, Any] = {"candidates": list(range(K))}
        if self.features is not None:
            about = {"candidates": dict(enumerate(self.features.tolist())), "intercept": False}
        try:
            study = mislid.create_study(**about, **self.settings)
        except MislidError:
            return None  # such features, or such a noise, are refused
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(rounds):
                arms = np.repeat(np.arange(K), int(rng.integers(1, 6)))
                values = self.means[arms] + self.noise[arms] * rng.normal(size=arms.size)
                study.add_observations(list(zip(arms.tolist(), values.tolist(), strict=True)))
                if study.status != "running":
                    break
        return study if study.status == "decided" else None


def nasty(rng: np.random.Generator) -> Nasty:
    """A study of any kind."""
    K = int(rng.integers(2, 9))
    d = int(rng.integers(1, min(K, 4) + 1))
    unit = float(10.0 ** rng.choice([0.0, 0.0, -6.0, 6.0]))
    noise = unit * (np.full(K, 1.0) if rng.random() < 0.6 else 10.0 ** rng.uniform(-2, 2, size=K))
    features = None if rng.random() < 0.2 else rng.normal(size=(K, d))
    means = unit * rng.normal(size=K) * rng.choice([1.0, 10.0])
    if features is not None:
        features[:, 0] = 1.0
        if rng.random() < 0.2 and d > 1:
            features[:, -1] = features[:, -2] + 10.0 ** rng.uniform(-10, -4) * features[:, -1]
        if rng.random() < 0.2:
            features = features * 10.0 ** rng.choice([-60.0, -6.0, 6.0, 60.0], size=d)
        means = unit * 5.0 * (features / np.max(np.abs(features), axis=0)) @ rng.normal(size=d)
        means = means + unit * rng.uniform(-0.5, 0.5, size=K) * rng.choice([0.0, 1.0])
    means = means + unit * float(rng.choice([0.0, 0.0, 1e6, 1e10, 1e13]))
    if rng.random() < 0.5:
        means[rng.integers(K)] *= 10.0 ** rng.uniform(6, 30)
    eps = unit * float(rng.choice([0.0, 0.1, 1.0, 30.0]))
    settings = {
        "m": int(rng.integers(1, K)),
        "noise": noise.tolist(),
        "tolerance": unit * float(rng.choice([0.0, 0.0, 0.5])),
        "direction": str(rng.choice(["maximize", "minimize"])),
    }
    if features is not None:
        settings["misspecification"] = eps
    return Nasty(settings, features, means, noise)
