"""Rounds of MisLid against the same rounds with every pair solved by quadprog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import quadprog

from mislid import Instance, Model, closest_alternative, pair_alternative, project

from .brute import BruteForce, Moves, Pairs
from .cases import Case, Floats, published_case
from .driven import (
    ALGORITHMS,
    SOLVED_COLUMNS,
    Driven,
    Snapshot,
    Stretch,
    instance_of,
)
from .measuring import Found, timed
from .report import Spread, digits, duration, progress, table

ACCURACY = 1e-6
ROUNDING = 1e-24  # a cost, weights adding up to 1, that is nothing but rounding
# Points of a run at which to compare, and its last round; brute force is slow on E.
EFFORT = {"A_eps5": (7, 100_000), "B": (7, 100_000), "D": (7, 100_000), "E": (4, 40_000)}
QUICK = {"A_eps5": (2, 2000)}
SHORTEST = 100  # rounds of a stretch, or starting it would count


class Seconds(NamedTuple):
    """Processor time of a part of a round by brute force; `outside` is not quadprog's."""

    whole: float
    outside: float


@dataclass(frozen=True)
class Judged:
    """A round by brute force.

    Its parts' seconds, how many pairs were solved and not to ACCURACY, and whether the stopping
    test and the sampling rule see what they see in our run.
    """

    project: Seconds
    test: Seconds
    play: Seconds
    solved: int
    inaccurate: int
    stops_alike: bool
    samples_alike: bool


class Recorder:
    """quadprog, keeping its answers."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def __call__(self, *problem: Any) -> Any:
        self.answers.append(quadprog.solve_qp(*problem))
        return self.answers[-1]

    def replay(self) -> Callable[..., Any]:
        """The same answers again, in no time."""
        following = iter(self.answers)
        return lambda *problem: next(following)


def timed_peer(peer: BruteForce, call: Callable[[], Found], repeats: int) -> tuple[Found, Seconds]:
    """The answer, and the least time of some repeats with quadprog and without."""
    peer.solve = recorder = Recorder()
    found, whole, outside = call(), [], []
    for _ in range(repeats):
        peer.solve = quadprog.solve_qp
        whole.append(timed(call).cpu)
        peer.solve = recorder.replay()
        outside.append(timed(call).cpu)
    return found, Seconds(min(whole), min(*whole, *outside))


def judge(case: Case, peer: BruteForce, at: Snapshot, repeats: int) -> Judged:
    """The round that starts from a snapshot by brute force, its times and its answers."""
    model = Model(case.features, case.misspecification)
    fit, project_seconds = timed_peer(peer, lambda: peer.project(at.means, at.weights), repeats)
    pairs = peer.pairs(fit.incumbents)

    def alternatives(weights: Floats) -> tuple[Moves, Seconds]:
        return timed_peer(
            peer, lambda: peer.alternatives(fit.means, weights, fit.theta, pairs), repeats
        )

    test, test_seconds = alternatives(at.weights)
    play, play_seconds = alternatives(at.play_weights)
    return Judged(
        project_seconds,
        test_seconds,
        play_seconds,
        2 * len(pairs),
        _inaccurate(model, fit.means, at.weights, pairs, test)
        + _inaccurate(model, fit.means, at.play_weights, pairs, play),
        _stops_alike(model, case.m, at, fit.means, pairs, test),
        _samples_alike(at, play),
    )


def _inaccurate(model: Model, means: Floats, weights: Floats, pairs: Pairs, found: Moves) -> int:
    exact = [pair_alternative(model, means, weights, i, j).cost for i, j in pairs]
    none = ROUNDING * float(np.sum(weights))
    pairs_of_costs = zip(found.costs, exact, strict=True)
    return sum(max(a, b) > none and not _near(a, b) for a, b in pairs_of_costs)


def _near(found: float, exact: float) -> bool:
    return abs(found - exact) <= ACCURACY * exact


def _stops_alike(
    model: Model, m: int, at: Snapshot, given: Floats, pairs: Pairs, found: Moves
) -> bool:
    """Whether incumbents, cost and pair of the stopping test are ours."""
    nearest = project(model, at.means, at.weights).means
    incumbents = sorted(np.argsort(-nearest, kind="stable")[:m].tolist())
    if incumbents != sorted({j for _, j in pairs}):
        return False
    ours = closest_alternative(model, given, at.weights, m, incumbents=incumbents)
    cost, pair = min((float(cost), pair) for cost, pair in zip(found.costs, pairs, strict=True))
    return _near(cost, ours.cost) and pair == ours.pair


def _samples_alike(at: Snapshot, play: Moves) -> bool:
    """Whether the alternative that our run answered is as close as the one found here."""
    ours = 0.5 * float(np.square(at.below) @ at.play_weights)
    theirs = float(play.costs.min())
    return not at.plays or max(ours, theirs) <= ROUNDING or _near(theirs, ours)


@dataclass(frozen=True)
class Measured:
    """A run in stretches, a round by brute force after each, and how it is composed."""

    case: Case
    algorithm: str
    stopping: str
    stretches: list[Stretch]
    rounds: list[Judged]

    @property
    def shares_alternative(self) -> bool:
        """Whether stopping and sampling ask for the same alternatives, so that one look serves."""
        return self.algorithm == "mislid" and self.stopping == "heuristic"

    def ours(self) -> list[float]:
        """Processor seconds a round, stretch by stretch."""
        return [one.cpu / one.rounds for one in self.stretches]

    def theirs(self, part: str) -> list[float]:
        """The same by brute force; `part` is "whole" or "outside"."""
        result = []
        for one, stretch in zip(self.rounds, self.stretches, strict=True):
            plays = 0.0 if self.shares_alternative else stretch.plays / stretch.rounds
            seconds = getattr(one.project, part) + getattr(one.test, part)
            result.append(seconds + plays * getattr(one.play, part))
        return result


def measure(
    case: Case, algorithm: str, stopping: str, *, points: int, most: int, repeats: int
) -> Measured:
    """Drive a run to its end, or to `most` rounds, and stop at some points to compare."""
    instance = instance_of(case)
    end = _length(instance, case.m, algorithm, stopping, most)
    run = Driven(instance, case.m, algorithm, stopping)
    peer = BruteForce(instance.model, case.m)
    stretches, rounds = [], []
    points = max(2, min(points, end // SHORTEST))
    for point in range(1, points + 1):
        stretches.append(run.to(end * point // (points + 1)))
        rounds.append(judge(case, peer, run.step(), repeats))
    return Measured(case, algorithm, stopping, stretches, rounds)


def _length(instance: Instance, m: int, algorithm: str, stopping: str, most: int) -> int:
    run = Driven(instance, m, algorithm, stopping)
    run.to(most)
    return run.samples


def run(quick: bool) -> str:
    """The tables over the published instances."""
    rows, shares = [], []
    for name, (points, most) in (QUICK if quick else EFFORT).items():
        case = published_case(name)
        for algorithm, stopping in product(ALGORITHMS, ("heuristic",)):
            repeats = 1 if quick else 2
            one = measure(case, algorithm, stopping, points=points, most=most, repeats=repeats)
            rows.append(_row(one))
            shares.append(_where(one))
            progress(f"rounds: {' | '.join(rows[-1])}")
    header = [
        "instance, sampling, stopping", "mislid", "brute force", "outside quadprog", "ratio",
        "to quadprog alone", "agree to stop", "to sample", "inaccurate pairs",
    ]  # fmt: skip
    detail = [header[0], "rounds", "wall / processor time", *SOLVED_COLUMNS]
    return f"{table(header, rows)}\n\n{table(detail, shares)}"


def _label(one: Measured) -> str:
    return f"{one.case.name}, `{one.algorithm}`, `{one.stopping}`"


def _ratios(theirs: list[float], ours: list[float]) -> str:
    spread = Spread.of(a / b for a, b in zip(theirs, ours, strict=True))
    return f"{digits(spread.median)} ({digits(spread.low)} to {digits(spread.high)})"


def _row(one: Measured) -> list[str]:
    ours, whole, outside = one.ours(), one.theirs("whole"), one.theirs("outside")
    alone = [a - b for a, b in zip(whole, outside, strict=True)]
    solved = sum(each.solved for each in one.rounds)
    return [
        _label(one),
        str(Spread.of(ours)),
        str(Spread.of(whole)),
        duration(Spread.of(outside).median),
        _ratios(whole, ours),
        _ratios(alone, ours),
        f"{sum(each.stops_alike for each in one.rounds)} of {len(one.rounds)}",
        f"{sum(each.samples_alike for each in one.rounds)} of {len(one.rounds)}",
        f"{sum(each.inaccurate for each in one.rounds)} of {solved:,}",
    ]


def _where(one: Measured) -> list[str]:
    total = Stretch.total(one.stretches)
    return [
        _label(one),
        f"{total.rounds:,}",
        f"{total.wall / total.cpu:.2f}",
        f"{100 * total.plays / total.rounds:.1f}%",
        f"{total.tested / total.rounds:.3f}",
        f"{total.played / total.rounds:.3f}",
    ]
