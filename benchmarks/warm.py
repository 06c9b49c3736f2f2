"""Closest alternatives along simulated runs: how many solves a call, and what a call costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mislid import Model, pair_alternative

from .cases import PUBLISHED, Case, published_case
from .kernels import ColdPair, replay
from .measuring import timed
from .report import Spread, digits, progress, table
from .sequences import Sequence, public_calls, simulated_run

SKIP = 1  # the first call of a search is cold
BLOCK = 50  # calls that are timed together
SAMPLE = 50  # calls whose pair is also solved cold


@dataclass(frozen=True)
class Measured:
    """Solves a call, and seconds of warm calls and cold solves, compiled and public."""

    case: Case
    calls: int
    solves: float
    most: int
    one: float
    warm: Spread
    cold: Spread
    public_warm: Spread
    public_cold: Spread


def measure(case: Case, calls: int) -> Measured:
    """Simulate a run, then replay its calls."""
    sequence = simulated_run(case, calls)
    model = Model(case.features, case.misspecification)
    again = replay(model, case.m, sequence, block=BLOCK)
    if again.stalled:
        raise RuntimeError(f"{again.stalled} searches on {case.name} were not certified")
    warm = again.solves[SKIP:]
    public = public_calls(model, case.m, sequence)
    cold, public_cold = _cold_solves(model, case, sequence, again.pairs)
    return Measured(
        case=case,
        calls=calls,
        solves=float(np.mean(public.solves[SKIP:])),
        most=int(np.max(warm)),
        one=float(np.mean(warm == 1)),
        warm=Spread.of(again.seconds),
        cold=Spread.of(cold),
        public_warm=Spread.of(public.seconds[SKIP:]),
        public_cold=Spread.of(public_cold),
    )


def _cold_solves(
    model: Model, case: Case, sequence: Sequence, pairs: np.ndarray
) -> tuple[list[float], list[float]]:
    """Seconds of one cold solve of the answer's pair, compiled and public, at some of the calls."""
    compiled, public = [], []
    for at, (i, j) in _sample(pairs):
        means, weights = sequence.means[at], sequence.weights[at]
        now = replace(case, means=means, weights=weights, challenger=i, incumbent=j)
        compiled.append(ColdPair(now, model).seconds(20, from_data=True))
        public.append(timed(partial(pair_alternative, model, means, weights, i, j)).wall)
    return compiled, public


def _sample(pairs: np.ndarray) -> Iterator[tuple[int, tuple[int, int]]]:
    for at in np.unique(np.linspace(SKIP, len(pairs) - 1, SAMPLE).astype(int)).tolist():
        yield at, (int(pairs[at, 0]), int(pairs[at, 1]))


def run(quick: bool) -> str:
    """The table over the published instances."""
    rows = []
    for name in PUBLISHED:
        rows.append(_row(measure(published_case(name), 100 if quick else 5000)))
        progress(f"warm: {' | '.join(rows[-1])}")
    header = [
        "instance", "pairs", "calls", "solves a call", "calls with one", "most", "warm call",
        "one cold solve", "warm / cold", "`closest`, warm", "`pair_alternative`",
    ]  # fmt: skip
    return table(header, rows)


def _row(one: Measured) -> list[str]:
    K, m = len(one.case.means), one.case.m
    return [
        one.case.name,
        str(m * (K - m)),
        f"{one.calls:,}",
        f"{one.solves:.3f}",
        f"{100 * one.one:.1f}%",
        str(one.most),
        str(one.warm),
        str(one.cold),
        digits(one.warm.median / one.cold.median),
        str(one.public_warm),
        str(one.public_cold),
    ]
