"""Closest alternatives along simulated runs: how many solves a call, and what a call costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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


def measured(case: Case, calls: int) -> list[str]:
    """Simulate a run, then replay its calls; a row of the table.

    Solves a call, and seconds of warm calls and cold solves, compiled and public.
    """
    sequence = simulated_run(case, calls)
    model = Model(case.features, case.misspecification)
    again = replay(model, case.m, sequence, block=BLOCK)
    if again.stalled:
        raise RuntimeError(f"{again.stalled} searches on {case.name} were not certified")
    solves = again.solves[SKIP:]
    public = public_calls(model, case.m, sequence)
    warm, public_warm = Spread.of(again.seconds), Spread.of(public.seconds[SKIP:])
    cold, public_cold = map(Spread.of, _cold_solves(model, case, sequence, again.pairs))
    return [
        case.name,
        str(case.m * (len(case.means) - case.m)),
        f"{calls:,}",
        f"{np.mean(public.solves[SKIP:]):.3f}",
        f"{100 * np.mean(solves == 1):.1f}%",
        str(np.max(solves)),
        str(warm),
        str(cold),
        digits(warm.median / cold.median),
        str(public_warm),
        str(public_cold),
    ]


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
        rows.append(measured(published_case(name), 100 if quick else 5000))
        progress(f"warm: {' | '.join(rows[-1])}")
    header = [
        "instance", "pairs", "calls", "solves a call", "calls with one", "most", "warm call",
        "one cold solve", "warm / cold", "`closest`, warm", "`pair_alternative`",
    ]  # fmt: skip
    return table(header, rows)
