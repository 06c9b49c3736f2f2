"""Processor time of first calls in new processes, which compile the kernels or load them.

A first call also imports the compiler. The first process starts with an empty cache and compiles;
the second one loads what the first has stored.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable

import mislid

from .measuring import in_own_process, timed
from .report import Spread, Tables, progress

REPEATS = 3
PROCESSES = ("first process", "second process")
MODEL, MEANS = mislid.Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.4, 0.5, 0.8]


def identify() -> None:
    """Identify the best of three arms."""
    mislid.identify(mislid.Instance(MODEL, MEANS, noise=0.2), 1)


def identify_as_published() -> None:
    """The same by the paper's rules."""
    instance = mislid.Instance(MODEL, MEANS, noise=0.2)
    mislid.identify(instance, 1, algorithm="mislid-paper", stopping="paper")


def ask_and_tell() -> None:
    """Create a study in memory and measure once."""
    study = mislid.create_study(
        candidates=MODEL.features, intercept=False, m=1, misspecification=0.1, noise=0.2
    )
    study.tell(study.ask(), 0.4)


def closest_alternative() -> None:
    """Search three arms."""
    mislid.closest_alternative(MODEL, MEANS, [0.2, 0.4, 0.4], 1)


def characteristic_time() -> None:
    """The time of three arms."""
    mislid.characteristic_time(MODEL, MEANS, 1)


CALLS: dict[str, Callable[[], None]] = {
    "identify": identify,
    "identify, mislid-paper, paper": identify_as_published,
    "ask and tell of a new study": ask_and_tell,
    "closest_alternative": closest_alternative,
    "characteristic_time": characteristic_time,
}


def run(quick: bool) -> Tables:
    """The table: a row for every call, with medians and quartiles over the repeats."""
    calls = ["closest_alternative"] if quick else list(CALLS)
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(1 if quick else REPEATS):
        for call in calls:
            with tempfile.TemporaryDirectory() as cache:
                for process in PROCESSES:
                    progress(f"compile: {call}, {process}")
                    found = in_own_process("-m", __spec__.name, call, NUMBA_CACHE_DIR=cache)
                    seconds[call, process].append(found)
    rows = [[call, *(str(Spread.of(seconds[call, one])) for one in PROCESSES)] for call in calls]
    return {"compile": (["first call", *PROCESSES], rows)}


if __name__ == "__main__":
    print(json.dumps(timed(CALLS[sys.argv[1]]).cpu))
