"""Processor time of a round with a proof, beside one of `lucb` under the same stopping rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mislid.engine import Engine
from mislid.question import Question
from mislid.simulation.environments import as_environment

from .cases import Case, published
from .families import MANY_ARMS, ManyArms
from .measuring import timed
from .report import Spread, Tables, progress

# So small that no run ends.
DELTA = 1e-200
# Rounds before the clock starts, rounds that are timed, and repeats.
EARLY, ROUNDS, REPEATS = 300, 1_000, 5
LARGE = (
    ManyArms("K 300, d 6, eps gap / 10", 300, 6, 3, 0.1),
    ManyArms("K 10,000, d 8, eps gap / 10", 10_000, 8, 5, 0.1),
)


def cases(quick: bool) -> Iterator[Case]:
    """The published instances, and large random ones."""
    if not quick:
        yield from published()
    for family in MANY_ARMS[:1] if quick else LARGE:
        yield Case(family.name, family.instance(0), family.m)


def seconds(case: Case, algorithm: str, before: int, rounds: int) -> float:
    """Processor seconds a round, after `before` rounds and the first design."""
    question = Question(case.instance.model, case.m, noise=case.instance.noise, delta=DELTA)
    engine = Engine(question, algorithm)
    source, rng = as_environment(None, case.instance).source(), np.random.default_rng(0)

    def go(count: int) -> None:
        engine.advance(source, rng, 1 << 40, count, False)

    go(len(engine.design) + before)
    return timed(lambda: go(rounds)).cpu / rounds


def line(case: Case, rounds: int) -> list[str]:
    """A row: early rounds, when each looks at all pairs, and later ones."""
    row = [case.name]
    for before, count in ((1, 60), (EARLY, rounds)):
        ours, theirs = (
            Spread.of(seconds(case, algorithm, before, count) for _ in range(REPEATS))
            for algorithm in ("mislid", "lucb")
        )
        row += [str(ours), str(theirs), f"{ours.median / theirs.median:.1f}"]
    progress(f"rounds: {' | '.join(row)}")
    return row


def run(quick: bool) -> Tables:
    """Measure all cases."""
    late = ("later, mislid", "later, lucb", "later, ratio")
    header = ("case", "first 60 rounds, mislid", "lucb", "ratio", *late)
    return {"rounds": (header, [line(case, 50 if quick else ROUNDS) for case in cases(quick)])}
