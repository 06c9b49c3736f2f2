"""What seeded runs did: samples, answer, counts and means of every named algorithm.

Means tell in which order arms were measured: each reward's noise belongs to a position.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from helpers.small import SMALL
from mislid import Instance, Model, identify
from mislid.algorithms import ALGORITHMS
from mislid.stopping.rules import STOPPING_RULES

FILE = Path(__file__).with_name("traces.json")
OPTIONS = {"delta": 0.05, "seed": 4, "max_samples": 1200}
SOME_RULES = ("guaranteed", "paper", "heuristic")


def keys() -> Iterator[str]:
    """Every algorithm with three stopping rules, the default one with all."""
    for name, question in SMALL.items():
        for algorithm in ALGORITHMS:
            if question.allows(algorithm):
                rules = tuple(STOPPING_RULES) if algorithm == "mislid" else SOME_RULES
                yield from (f"{name} {algorithm} {rule}" for rule in rules)


def trace(key: str, shake: int | None = None) -> dict[str, Any]:
    """The run of this key; `shake` is the seed of a change of its instance in the last digits."""
    name, algorithm, stopping = key.split()
    question = SMALL[name]
    instance = question.instance if shake is None else shaken(question.instance, shake)
    found = identify(instance, question.m, algorithm=algorithm, stopping=stopping, **OPTIONS)
    return {
        "samples": found.samples,
        "answer": None if found.answer is None else list(found.answer),
        "counts": found.counts.tolist(),
        "means": np.round(found.means, 6).tolist(),
    }


def shaken(instance: Instance, seed: int) -> Instance:
    """Features, means and noise changed by random parts of 1e-12 of themselves."""
    rng = np.random.default_rng(seed)

    def changed(values: np.ndarray) -> np.ndarray:
        return values * (1.0 + 1e-12 * rng.uniform(-1.0, 1.0, size=values.shape))

    model = Model(changed(instance.model.features), instance.model.misspecification)
    return Instance(model, changed(instance.means), noise=changed(instance.noise))
