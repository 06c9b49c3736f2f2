"""First calls in new processes, which compile or load the kernels, beside the time of a round.

Seconds are the processor's. A first call also imports the compiler. The first process starts with
an empty cache and compiles; the second one loads what the first has stored.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import mislid

from .cases import random_case
from .measuring import in_own_process, timed
from .report import Spread, Tables, progress

if TYPE_CHECKING:
    from mislid.simulation.identify import Progress

REPEATS, QUICK_REPEATS = 3, 1
FIRST, SECOND = "first process", "second process"
# Arms and features of the made-up instances on which rounds are measured, and for how long.
SIZES = {"a round, K = 10, d = 5": (10, 5), "a round, K = 100, d = 20": (100, 20)}
MEASUREMENTS, QUICK_MEASUREMENTS = 4_000, 300
# The calls whose rounds are measured.
RULES: dict[str, dict[str, Any]] = {
    "identify": {},
    "identify, mislid-paper, paper": {"algorithm": "mislid-paper", "stopping": "paper"},
}
FEATURES, MEANS = [[1, 0], [0, 1], [1, 1]], [0.4, 0.5, 0.8]


def identify(rules: dict[str, Any]) -> object:
    """Identify the best of three arms."""
    instance = mislid.Instance(mislid.Model(FEATURES, 0.1), MEANS, noise=0.2)
    return mislid.identify(instance, 1, **rules)


def ask_and_tell() -> None:
    """Create a study in memory and measure once."""
    study = mislid.create_study(
        candidates=FEATURES, intercept=False, m=1, misspecification=0.1, noise=0.2
    )
    study.tell(study.ask(), 0.4)


def closest_alternative() -> object:
    """Search three arms."""
    return mislid.closest_alternative(mislid.Model(FEATURES, 0.1), MEANS, [0.2, 0.4, 0.4], 1)


def characteristic_time() -> object:
    """The time of three arms."""
    return mislid.characteristic_time(mislid.Model(FEATURES, 0.1), MEANS, 1)


CALLS: dict[str, Callable[[], object]] = {
    **{call: partial(identify, rules) for call, rules in RULES.items()},
    "ask and tell of a new study": ask_and_tell,
    "closest_alternative": closest_alternative,
    "characteristic_time": characteristic_time,
}
QUICK_CALLS = ("closest_alternative",)


def first_seconds(call: str) -> float:
    """Processor seconds of a call, the first one of this process."""
    return timed(CALLS[call]).cpu


def round_seconds(call: str, size: str, measurements: int) -> float:
    """Processor seconds a measurement, in the second half of a run: all is loaded by then."""
    case = random_case(*SIZES[size])
    seen: list[tuple[int, float]] = []

    def look(now: Progress) -> None:
        seen.append((now.samples, time.process_time()))

    half = measurements // 2
    mislid.identify(
        case.instance, case.m, max_samples=2 * half, every=half, callback=look, **RULES[call]
    )
    (before, begin), (after, end) = seen
    return (end - begin) / (after - before)


def measure(column: str, what: str, call: str, *more: object, **environment: str) -> float:
    """Seconds in a new process."""
    progress(f"compile: {call}, {column}")
    asked = json.dumps([what, call, *more])
    return float(in_own_process("-m", __spec__.name, asked, **environment))


def run(quick: bool) -> Tables:
    """The table: a row for every call, with medians and quartiles over the repeats."""
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(QUICK_REPEATS if quick else REPEATS):
        for call in QUICK_CALLS if quick else CALLS:
            with tempfile.TemporaryDirectory() as cache:
                for column in (FIRST, SECOND):
                    found = measure(column, "first", call, NUMBA_CACHE_DIR=cache)
                    seconds[call, column].append(found)
        for call, size in product(RULES, SIZES):
            measurements = QUICK_MEASUREMENTS if quick else MEASUREMENTS
            seconds[call, size].append(measure(size, "round", call, size, measurements))
    columns = (FIRST, SECOND, *SIZES)
    cells = {place: str(Spread.of(found)) for place, found in seconds.items()}
    rows = [[call, *(cells.get((call, column), "") for column in columns)] for call in CALLS]
    return {"compile": (["first call", *columns], rows)}


WORK: dict[str, Callable[..., float]] = {"first": first_seconds, "round": round_seconds}

if __name__ == "__main__":
    what, *given = json.loads(sys.argv[1])
    print(json.dumps(WORK[what](*given)))
