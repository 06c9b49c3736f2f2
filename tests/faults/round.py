"""One round: a study, clients that work on it, faults, and the verdict."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from faults import checker, judge, record
from faults.calls import new_study
from faults.checker import Violation
from faults.nemesis import Crew, Nemesis, wait_for
from faults.places import Place, SQLitePlace
from faults.worker import FINISH, STOP

WORKERS = 5
# Seconds within which all clients must have ended once nothing is broken any more.
PATIENCE = 120.0


@dataclass
class Outcome:
    """Faults by kind, calls and commits, and the promises that were not kept."""

    faults: Counter[str]
    acknowledged: int
    cut_off: int
    violations: list[Violation]


def run(place: Place, folder: Path, *, seed: int, seconds: float, rate: float) -> Outcome:
    """Let clients work and things break for so long, with `rate` faults a second."""
    study = new_study(place.address)
    study._session.storage.close()
    crew = Crew([f"w{number}" for number in range(WORKERS)], place.address, folder, seed)
    try:
        nemesis = Nemesis(place, crew, random.Random(seed))
        nemesis.rage(seconds, rate)
        ended = _end(crew)
    finally:
        crew.close()
    errors = [file.read_text()[-2000:] for file in folder.glob("*.error")]
    errors = [text for text in errors if "OSError" not in text]
    broken = [Violation("client", words) for words in (*crew.unexpected, *ended, *errors)]
    operations = record.operations(sorted(folder.glob("*.record"))).values()
    last, rows = place.log()
    broken += checker.violations(last, rows, operations)
    broken += judge.violations(place.address, rows, checker.replayed(rows), folder)
    if isinstance(place, SQLitePlace):
        broken += judge.torn_copies(place.torn, rows)[1]
    acknowledged = sum(one.outcome == record.OK for one in operations)
    return Outcome(nemesis.count, acknowledged, place.cut_off, broken)


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
