"""How long a round with a proof takes, beside one of `lucb` under the same stopping rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mislid import Instance
from mislid.engine import Engine
from mislid.question import Question
from mislid.simulation.environments import as_environment

from .cases import PUBLISHED, MissingData, published_case
from .driven import instance_of
from .families import MANY_ARMS, ManyArms
from .measuring import timed
from .report import Spread, progress, table

# So small that no run ends.
DELTA = 1e-200
# Rounds before the clock starts, rounds that are timed, and repeats.
EARLY, ROUNDS, REPEATS = 300, 1_000, 5
LARGE = (
    ManyArms("K 300, d 6, eps gap / 10", 300, 6, 3, 0.1),
    ManyArms("K 10,000, d 8, eps gap / 10", 10_000, 8, 5, 0.1),
)


def cases(quick: bool) -> Iterator[tuple[str, Instance, int]]:
    """Name, instance and number of best arms."""
    if quick:
        yield MANY_ARMS[0].name, MANY_ARMS[0].instance(0), MANY_ARMS[0].m
        return
    try:
        for name in PUBLISHED:
            case = published_case(name)
            yield name, instance_of(case), case.m
    except MissingData as missing:
        progress(f"speed: {missing}")
    for family in LARGE:
        yield family.name, family.instance(0), family.m


def seconds(instance: Instance, m: int, algorithm: str, before: int, rounds: int) -> float:
    """Processor seconds a round, after `before` rounds and the first design."""
    question = Question(instance.model, m, noise=instance.noise, delta=DELTA)
    engine = Engine(question, algorithm)
    source, rng = as_environment(None, instance).source(), np.random.default_rng(0)
    assert source is not None

    def go(count: int) -> None:
        engine.advance(source, rng, 1 << 40, count, False)

    go(len(engine.design) + before)
    return timed(lambda: go(rounds)).cpu / rounds


def line(name: str, instance: Instance, m: int, rounds: int) -> list[str]:
    """A row: early rounds, when every one looks at all pairs, and later ones."""
    row = [name]
    for before, count in ((1, 60), (EARLY, rounds)):
        ours, theirs = (
            Spread.of(seconds(instance, m, algorithm, before, count) for _ in range(REPEATS))
            for algorithm in ("mislid", "lucb")
        )
        row += [str(ours), str(theirs), f"{ours.median / theirs.median:.1f}"]
    progress(f"speed: {' | '.join(row)}")
    return row


def run(quick: bool) -> str:
    """The table."""
    rounds = 50 if quick else ROUNDS
    header = [
        "case", "first 60 rounds, `mislid`", "`lucb`", "ratio", "later, `mislid`", "`lucb`",
        "ratio",
    ]  # fmt: skip
    return table(header, [line(*case, rounds) for case in cases(quick)])
