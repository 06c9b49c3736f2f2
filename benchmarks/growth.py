"""Growth with the number of arms: time of a warm call, memory, and the exponent."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from mislid import Model
from mislid.geometry.alternatives import AlternativeSearch

from .cases import random_case
from .kernels import replay
from .report import Spread, digits, duration, progress, table
from .sequences import simulated_run

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
    search = AlternativeSearch(model, TOP)
    seconds, solves = [], []
    for means, weights in zip(sequence.means, sequence.weights, strict=True):
        begin = time.perf_counter()
        answer = search.closest(means, weights)
        seconds.append(time.perf_counter() - begin)
        solves.append(answer.pairs_solved)
    return {
        "arms": arms,
        "compiled": compiled.seconds[1:],
        "cold": seconds[0],
        "cold solves": solves[0],
        "warm": seconds[1:],
        "solves": float(np.mean(solves[1:])),
        "bytes": peak_bytes(),
    }


def peak_bytes() -> int:
    """The most memory that this process ever held.

    Linux hands the peak of a parent down to its children in getrusage, but not in /proc.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"))
        if peak:
            return 1024 * int(peak[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_own_process(module: str, arms: int, calls: int) -> dict[str, Any]:
    """What the module prints when it is run with these arguments."""
    command = [sys.executable, "-m", module, str(arms), str(calls)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def exponent(arms: list[int], seconds: list[float]) -> float:
    """The slope of log seconds over log arms.

    >>> round(exponent([10, 100, 1000], [1.0, 10.0, 100.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(arms), np.log(seconds), 1)[0])


def run(quick: bool) -> str:
    """The table over sizes and the exponents."""
    sizes, calls = (QUICK_SIZES, 10) if quick else (SIZES, 60)
    found = []
    for arms in sizes:
        found.append(in_own_process(__spec__.name, arms, calls))
        progress(f"growth: {' | '.join(_row(found[-1]))}")
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
