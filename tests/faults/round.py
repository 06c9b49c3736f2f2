"""One round: a study, clients that work on it, a nemesis, and a judgement."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from faults import checker, judge, record
from faults.calls import new_study
from faults.checker import Violation
from faults.nemesis import Crew, Nemesis, wait_for
from faults.places import Place, SQLitePlace
from faults.worker import FINISH, STOP

# Seconds within which all must have come to an end, once nothing is broken any more.
PATIENCE = 120.0
# Seconds between two events that no fault but a clock's makes.
JUMP = 250.0


@dataclass
class Outcome:
    """What a round came to: all faults, calls and what came of them, and promises not kept."""

    seed: int
    seconds: float
    faults: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)


def run(
    place: Place, folder: Path, *, seed: int, seconds: float, workers: int = 4, rate: float = 1.0
) -> Outcome:
    """Let clients work and things break for so long, then look at what is left.

    `rate` is the number of faults a second.
    """
    begun = time.monotonic()
    study = new_study(place.address)
    study._session.storage.close()
    names = [f"w{number}" for number in range(workers)]
    crew = Crew(names, place.address, folder, seed)
    try:
        nemesis = Nemesis(place, crew, random.Random(seed))
        nemesis.rage(seconds, rate)
        ended = _end(crew)
    finally:
        crew.close()
    outcome = Outcome(seed, time.monotonic() - begun, faults=nemesis.count)
    outcome.violations += [Violation("client", words) for words in (*crew.unexpected, *ended)]
    outcome.violations += [
        Violation("client", file.read_text()[-2000:])
        for file in folder.glob("*.error")
        if "OSError" not in file.read_text()
    ]
    _judge(place, folder, outcome)
    return outcome


def _end(crew: Crew) -> list[str]:
    """Let all stop, one after the other write down what it sees, and end."""
    (crew.folder / STOP).touch()
    idle = [crew.folder / f"{name}.idle" for name in crew.names]
    if not wait_for(crew, lambda: all(file.exists() for file in idle), PATIENCE):
        return ["not all came to an end"]
    (crew.folder / FINISH).touch()
    if not wait_for(crew, lambda: not crew.processes, PATIENCE):
        return ["not all ended"]
    return []


def _judge(place: Place, folder: Path, outcome: Outcome) -> None:
    operations = record.operations(sorted(folder.glob("*.record"))).values()
    last, rows = place.log()
    outcome.violations += checker.violations(last, rows, operations)
    for one in operations:
        outcome.calls[one.call] += 1
        outcome.figures[one.outcome or "without an answer"] += 1
        outcome.figures["in doubt"] += one.was_in_doubt
    model = checker.replayed(rows)
    outcome.violations += judge.violations(place.address, rows, model, folder)
    outcome.figures["commits cut off"] += place.cut_off
    outcome.figures["events"] += len(rows)
    times = [row.time for row in rows]
    jumps = sum(abs(after - before) > JUMP for before, after in pairwise(times))
    outcome.figures["jumps of the log's time"] += jumps
    outcome.figures["certificates"] += len(list(folder.glob("*.certificate")))
    outcome.figures["decisions"] += len(model.decisions)
    if isinstance(place, SQLitePlace):
        usable, found = judge.torn_copies(place.torn, rows)
        outcome.figures["torn copies"] += len(place.torn)
        outcome.figures["torn copies that open"] += usable
        outcome.violations += found
