"""What a study says is still to be measured, against what was then needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

import mislid
from mislid import Instance

from .families import FAMILIES, Family
from .report import Tables, progress

# A user looks at some time, here at these shares of the median run of the instance.
TIMES = (0.1, 0.3, 0.6)
INSTANCES, SEEDS = 2, 3
# Not those on which the default was chosen, nor those of the other benchmarks.
FIRST_INSTANCE = 500
MOST_SAMPLES = 100_000
HEADER = (
    *("algorithm", "when", "forecasts", "in range", "fewer", "more"),
    *("estimate / actual", "off by", "no upper end"),
)


class Look(NamedTuple):
    """What one forecast said, and what was then needed."""

    when: float
    more: float
    low: float
    high: float
    actual: int


def followed(
    instance: Instance, m: int, seed: int, algorithm: str, looks: dict[float, int], end: int
) -> Iterator[Look]:
    """A study that is told what a simulation of the same seed sees, and so ends with it."""
    study = mislid.create_study(
        candidates=np.asarray(instance.model.features),
        intercept=False,
        m=m,
        misspecification=instance.model.misspecification,
        noise=instance.noise,
        seed=seed,
        algorithm=algorithm,
    )
    rewards = np.random.default_rng(SeedSequence(seed, spawn_key=(0,)))
    for when, samples in looks.items():
        while study.samples < samples:
            trial = study.ask()
            noise = instance.noise[trial.arm] * rewards.standard_normal()
            study.tell(trial, instance.means[trial.arm] + noise)
        said = study.progress()
        more, high = (math.inf if one is None else one for one in (said.more, said.more_high))
        yield Look(when, more, said.more_low, high, end - samples)


def looks(algorithm: str, times: tuple[float, ...], families: Iterable[Family]) -> list[Look]:
    """Looks along runs that end: not before every arm was measured, nor after the end."""
    found: list[Look] = []
    for family in families:
        for number in range(FIRST_INSTANCE, FIRST_INSTANCE + INSTANCES):
            progress(f"forecasts: {algorithm}; {family.name} {number}")
            instance = family.instance(number)
            options = {"algorithm": algorithm, "max_samples": MOST_SAMPLES}
            samples = [
                mislid.identify(instance, family.m, seed=seed, **options).samples
                for seed in range(SEEDS)
            ]
            for seed, end in enumerate(samples):
                planned = {at: int(at * np.median(samples)) for at in times}
                possible = {at: n for at, n in planned.items() if instance.K <= n < end}
                if end < MOST_SAMPLES:
                    found += followed(instance, family.m, seed, algorithm, possible, end)
    return found


def row(algorithm: str, when: float, found: list[Look]) -> list[str]:
    """How often the range was missed, on which side, and how far off the estimate was."""
    _, more, low, high, actual = np.array(found, dtype=float).T
    in_range = (low <= actual) & (actual <= high)
    return [
        algorithm,
        f"{when:.0%} of a median run",
        f"{len(found)}",
        *(f"{np.mean(share):.0%}" for share in (in_range, actual < low, actual > high)),
        f"{np.median(more / actual):.2f}",
        f"{np.median(np.abs(more / actual - 1.0)):.0%}",
        f"{np.mean(np.isinf(high)):.0%}",
    ]


def run(quick: bool) -> Tables:
    """The default at several times, and the paper's algorithm at one."""
    rows = []
    for algorithm, times in {"mislid": TIMES, "mislid-paper": TIMES[1:2]}.items():
        found = looks(algorithm, times, FAMILIES[1:2] if quick else FAMILIES)
        groups = {when: [look for look in found if look.when == when] for when in times}
        rows += [row(algorithm, when, group) for when, group in groups.items() if group]
    return {"forecasts": (HEADER, rows)}
