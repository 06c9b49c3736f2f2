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
from compileall import compile_dir
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mislid

from .cases import random_case
from .measuring import in_own_process, package_source, timed
from .report import Spread, Table, Tables, digits, progress

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


class Version:
    """A version of the package, in a directory, and the seconds that it took.

    They are kept by call and column of the table, one for every repeat.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        # Compiling Python to byte code is not what is measured.
        compile_dir(source / "mislid", quiet=2)

    def measure_first(self, call: str) -> None:
        """Two processes, one after the other, with a cache of their own."""
        with tempfile.TemporaryDirectory() as cache:
            for column in (FIRST, SECOND):
                self._measure(column, "first", call, NUMBA_CACHE_DIR=cache)

    def measure_round(self, call: str, size: str, measurements: int) -> None:
        """A process with the cache that the version has anyway."""
        self._measure(size, "round", call, size, measurements)

    def _measure(
        self, column: str, what: str, call: str, *more: object, **environment: str
    ) -> None:
        asked = json.dumps([what, call, *more])
        found, source = in_own_process(
            "-m", __spec__.name, asked, source=self.source, **environment
        )
        if source != str(self.source):
            raise RuntimeError(f"the package in {self.source} was asked, that in {source} answered")
        self.seconds[call, column].append(found)

    def spread(self, call: str, column: str) -> Spread | None:
        """Median and quartiles over the repeats; None where nothing was measured."""
        found = self.seconds.get((call, column))
        return Spread.of(found) if found else None


def measure(versions: list[Version], repeats: int, quick: bool) -> None:
    """Measure the versions in turns, so that a busy moment of the machine hits all of them."""
    calls = QUICK_CALLS if quick else tuple(CALLS)
    for repeat, call, version in product(range(repeats), calls, versions):
        progress(f"compile: {call} of {version.source}, {repeat + 1} of {repeats}")
        version.measure_first(call)
    measurements = QUICK_MEASUREMENTS if quick else MEASUREMENTS
    for _, call, size, version in product(range(repeats), RULES, SIZES, versions):
        version.measure_round(call, size, measurements)


def table_of(cell: Callable[[str, str], str]) -> Table:
    """A row for every call."""
    columns = (FIRST, SECOND, *SIZES)
    rows = [[call, *(cell(call, column) for column in columns)] for call in CALLS]
    return ["first call", *columns], rows


def seconds_of(version: Version) -> Table:
    """The table of a version."""
    return table_of(lambda call, column: str(version.spread(call, column) or ""))


def ratios(other: Version, this: Version) -> Table:
    """The table of the other version's medians over those of this one."""

    def cell(call: str, column: str) -> str:
        theirs, ours = other.spread(call, column), this.spread(call, column)
        return digits(theirs.median / ours.median) if theirs and ours else ""

    return table_of(cell)


def run(quick: bool, repeats: int | None = None, against: Path | None = None) -> Tables:
    """The table; against a checkout of another version, also its table and the ratios."""
    this = Version(package_source())
    others = [] if against is None else [Version(against.resolve() / "src")]
    measure([this, *others], repeats or (QUICK_REPEATS if quick else REPEATS), quick)
    tables = {"compile": seconds_of(this)}
    for other in others:
        tables |= {"the other": seconds_of(other), "the other over this": ratios(other, this)}
    return tables


WORK: dict[str, Callable[..., float]] = {"first": first_seconds, "round": round_seconds}

if __name__ == "__main__":
    what, *given = json.loads(sys.argv[1])
    print(json.dumps([WORK[what](*given), str(package_source())]))
