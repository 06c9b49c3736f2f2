"""Growth with the number of arms: time of a warm call, memory, and the exponent."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from mislid import Model

from .cases import random_case
from .kernels import replay
from .measuring import in_own_process, peak_bytes
from .report import Spread, digits, duration, progress, table
from .sequences import public_calls, simulated_run

SIZES = (100, 300, 1000, 3000, 10_000)
QUICK_SIZES = (60, 120)
DIMENSION, TOP = 50, 10
COUNTS = 100  # pulls of every arm before the first call: a run that is under way


def measure(arms: int, calls: int) -> dict[str, Any]:
    """Times along a simulated run of this process, and the most memory it ever held."""
    case = random_case(arms, DIMENSION, m=TOP)
    sequence = simulated_run(case, calls, counts=COUNTS)
    model = Model(case.features, case.misspecification)
    compiled = replay(model, TOP, sequence, block=5)
    seconds, solves = public_calls(model, TOP, sequence)
    return {
        "arms": arms,
        "compiled": compiled.seconds[1:],
        "cold": seconds[0],
        "cold solves": solves[0],
        "warm": seconds[1:],
        "solves": float(np.mean(solves[1:])),
        "bytes": peak_bytes(),
    }


def by_size(benchmark: str, module: str, sizes: Sequence[int], effort: int) -> list[dict[str, Any]]:
    """What a module prints when it is run with a number of arms and an effort, by size."""
    found = []
    for arms in sizes:
        progress(f"{benchmark}: K = {arms:,}")
        found.append(in_own_process("-m", module, arms, effort))
    return found


def exponent(arms: list[int], seconds: list[float]) -> float:
    """The slope of log seconds over log arms.

    >>> round(exponent([10, 100, 1000], [1.0, 10.0, 100.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(arms), np.log(seconds), 1)[0])


def run(quick: bool) -> str:
    """The table over sizes and the exponents."""
    sizes, calls = (QUICK_SIZES, 10) if quick else (SIZES, 60)
    found = by_size("growth", __spec__.name, sizes, calls)
    header = [
        "K",
        "warm call",
        "`closest`, warm",
        "`closest`, cold",
        "solves a call",
        "peak memory",
    ]
    return f"{table(header, [_row(one) for one in found])}\n\n{_exponents(found)}"


def _row(one: dict[str, Any]) -> list[str]:
    return [
        f"{one['arms']:,}",
        str(Spread.of(one["compiled"])),
        str(Spread.of(one["warm"])),
        f"{duration(one['cold'])}, {one['cold solves']} solved",
        f"{one['solves']:.2f}",
        f"{digits(one['bytes'] / 2**20)} MiB",
    ]


def _median(one: dict[str, Any]) -> float:
    return Spread.of(one["compiled"]).median


def _exponents(found: list[dict[str, Any]]) -> str:
    large = [one for one in found if one["arms"] >= 1000] or found
    parts = [
        f"K^{exponent([one['arms'] for one in some], [_median(one) for one in some]):.2f} "
        f"from K = {some[0]['arms']:,} on"
        for some in ([found, large] if large != found else [found])
    ]
    return f"A warm call grows like {', '.join(parts)}."


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
