"""What a study says is still to be measured, against what then was."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, SeedSequence

import mislid
from mislid import Instance
from mislid.forecast.progress import Snapshot, ToGo
from mislid.forecast.simulate import Forward
from mislid.study import Study

from .cases import Floats
from .families import FAMILIES, Family
from .measuring import timed
from .report import progress, table

# A user looks at some time, here at these shares of the median run of the instance.
TIMES = (0.1, 0.3, 0.6)
# Someone who knew the future would look at these shares of the way.
SHARES = (0.25, 0.5, 0.75)
INSTANCES, SEEDS = 2, 3
# Not those on which the default was chosen, nor those of the other benchmarks.
FIRST_INSTANCE = 500
RULES = (
    ("mislid", "heuristic"),
    ("mislid-paper", "guaranteed"),
    ("lucb", "guaranteed"),
    ("uniform", "guaranteed"),
)
# Families for the other rules, and when to look at them.
SOME = ("large misspecification", "no structure", "correlated features", "uneven noise")
LOOK = 0.3
MOST_SAMPLES = 100_000
# Answers of the studies with many candidates.
MANY_M = 5


@dataclass(frozen=True)
class Case:
    """One forecast: what it said, when, and what was then needed."""

    when: str
    forecast: ToGo
    informed: ToGo
    actual: int


class Informed(Forward):
    """Knows the means: what is left is chance, and the way of simulating."""

    truth: Floats

    def _possible_means(self, rng: Generator) -> Floats:
        return self.truth.copy()


def informed(snapshot: Snapshot, truth: Floats) -> ToGo:
    """The forecast of someone who knows the means."""
    forward = Informed(snapshot.settings, snapshot.candidates, snapshot.data, snapshot.memory)
    forward.truth = truth
    return snapshot._to_go(forward, snapshot.simulations())


def new_study(instance: Instance, m: int, seed: int, rule: tuple[str, str]) -> Study:
    return mislid.create_study(
        candidates=np.asarray(instance.model.features),
        intercept=False,
        m=m,
        misspecification=instance.model.misspecification,
        noise=instance.noise,
        seed=seed,
        algorithm=rule[0],
        stopping=rule[1],
        mean_bound=float(np.max(np.abs(instance.means))),
    )


def followed(
    instance: Instance, m: int, seed: int, rule: tuple[str, str], looks: dict[str, int], end: int
) -> Iterator[Case]:
    """A study that is told what a simulation of the same seed sees, and so ends with it."""
    study = new_study(instance, m, seed, rule)
    rewards = np.random.default_rng(SeedSequence(seed, spawn_key=(0,)))
    for when, samples in sorted(looks.items(), key=lambda look: look[1]):
        while study.samples < samples:
            trial = study.ask()
            noise = instance.noise[trial.arm] * rewards.standard_normal()
            study.tell(trial, instance.means[trial.arm] + noise)
        said = study.progress()
        forecast = ToGo(said.more, said.more_low, said.more_high, said.note)
        yield Case(when, forecast, informed(study._snapshot(), instance.means), end - samples)


def ends(instance: Instance, m: int, rule: tuple[str, str]) -> list[int]:
    return [
        mislid.identify(
            instance, m, algorithm=rule[0], stopping=rule[1], seed=seed, max_samples=MOST_SAMPLES
        ).samples
        for seed in range(SEEDS)
    ]


def cases(
    families: Iterable[Family],
    rule: tuple[str, str],
    times: tuple[float, ...],
    shares: tuple[float, ...] = (),
) -> list[Case]:
    """Forecasts along runs that end; not before every arm has been measured, nor after the end."""
    found: list[Case] = []
    for family in families:
        for number in range(FIRST_INSTANCE, FIRST_INSTANCE + INSTANCES):
            progress(f"forecasts: {', '.join(rule)}; {family.name} {number}")
            instance = family.instance(number)
            samples = ends(instance, family.m, rule)
            for seed, end in enumerate(samples):
                looks = {in_time(at): int(at * np.median(samples)) for at in times}
                looks |= {on_the_way(at): int(at * end) for at in shares}
                possible = {when: at for when, at in looks.items() if instance.K <= at < end}
                if end < MOST_SAMPLES:
                    found += followed(instance, family.m, seed, rule, possible, end)
    return found


def in_time(share: float) -> str:
    return f"{share:.0%} of a median run"


def on_the_way(share: float) -> str:
    return f"{share:.0%} of the way"


HEADER = (
    "when", "forecasts", "in range", "fewer", "more", "estimate / actual", "off by", "no upper end",
)  # fmt: skip


def row(name: str, said: list[ToGo], actual: Floats) -> list[str]:
    """How often the range was missed, on which side, and how far off the estimate was."""
    more = np.array([math.inf if one.more is None else one.more for one in said])
    high = np.array([math.inf if one.more_high is None else one.more_high for one in said])
    low = np.array([one.more_low for one in said])
    shares = (
        np.mean((low <= actual) & (actual <= high)), np.mean(actual < low), np.mean(actual > high),
    )  # fmt: skip
    return [
        name,
        f"{len(said)}",
        *(f"{share:.0%}" for share in shares),
        f"{np.median(more / actual):.2f}",
        f"{np.median(np.abs(more / actual - 1.0)):.0%}",
        f"{np.mean(np.isinf(high)):.0%}",
    ]


def rows(found: list[Case], whens: Iterable[str], prefix: str = "") -> Iterator[list[str]]:
    for when in whens:
        here = [case for case in found if case.when == when]
        actual = np.array([case.actual for case in here], dtype=float)
        if here:
            yield row(f"{prefix}{when}", [case.forecast for case in here], actual)
            yield row("  known means", [case.informed for case in here], actual)


def seconds(K: int, d: int, m: int) -> str:
    """Processor time of a call, at 30 measurements an arm."""
    rng = np.random.default_rng(K)
    features = rng.normal(size=(K, d))
    means = features @ rng.normal(size=d) / math.sqrt(d) + rng.uniform(-0.3, 0.3, size=K)
    study = mislid.create_study(
        candidates=features, intercept=False, m=m, misspecification=0.3, noise=1.0
    )
    arms = np.tile(np.arange(K), 30)
    values = means[arms] + rng.standard_normal(arms.size)
    study.add_observations(list(zip(arms.tolist(), values.tolist(), strict=True)))
    study.progress(simulations=1)
    return f"{timed(study.progress).cpu:.1f} s at K = {K}"


def early_seconds(K: int, d: int, samples: int) -> str:
    """Processor time of a call early in a study with many candidates and good features."""
    rng = np.random.default_rng(d)
    features = rng.normal(size=(K, d))
    linear = features @ rng.normal(size=d) / math.sqrt(d)
    ordered = np.sort(linear)
    tube = (ordered[-MANY_M] - ordered[-MANY_M - 1]) / 10.0
    means = linear + rng.uniform(-tube, tube, size=K)
    study = mislid.create_study(
        candidates=features, intercept=False, m=MANY_M, misspecification=tube, noise=0.5
    )
    while study.samples < samples:
        trial = study.ask()
        study.tell(trial, means[trial.arm] + 0.5 * rng.standard_normal())
    study.progress(simulations=1)
    return f"{timed(study.progress).cpu:.1f} s at d = {d}, {samples} measurements"


def run(quick: bool) -> str:
    """The tables."""
    families = [family for family in FAMILIES if not quick or family.name == SOME[0]]
    some = [family for family in families if family.name in SOME]
    found = cases(families, ("mislid", "guaranteed"), TIMES, SHARES)
    whens = [*map(in_time, TIMES), *map(on_the_way, SHARES)]
    others: list[list[str]] = []
    for rule in RULES[:1] if quick else RULES:
        others += rows(cases(some, rule, (LOOK,)), [in_time(LOOK)], f"{', '.join(rule)}; ")
    cost = ", ".join(seconds(K, d, m) for K, d, m in ((12, 3, 3), (40, 5, 5), (100, 10, 5)))
    tables = f"{table(HEADER, rows(found, whens))}\n\n{table(HEADER, others)}"
    early = ", ".join(early_seconds(1_000, d, n) for d in (8, 20) for n in (60, 200))
    return (
        f"{tables}\n\nProcessor time of a call: {cost}. Early in studies with K = 1,000: {early}."
    )
