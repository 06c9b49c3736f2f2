"""`python -m faults [SECONDS [SEED]]`: rounds on SQLite and PostgreSQL in turn, for so long."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from faults.places import Place, SQLitePlace, postgresql_place
from faults.round import Outcome, run
from helpers.postgresql import Server, programs, running_server

# Seconds of a round, and what happens in it.
ROUND, WORKERS, RATE = 40.0, 5, 0.7


def main(words: list[str]) -> int:
    """Print what every round came to, and all in the end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is to end as well
    seconds, first = (*map(int, words), *(600, 1)[len(words) :])
    until, seed = time.monotonic() + seconds, first
    totals: dict[str, Counter[str]] = {}
    broken = 0
    with ExitStack() as stack:
        folder = programs()
        server = None
        if folder is None:
            print("PostgreSQL is not installed: SQLite alone is tried")
        else:
            server = stack.enter_context(running_server(folder, durable=True))
        while time.monotonic() < until:
            for name in ("SQLite", "PostgreSQL")[: 1 if server is None else 2]:
                outcome = _round(name, server, seed)
                broken += len(outcome.violations)
                total = totals.setdefault(name, Counter())
                total.update({"rounds": 1, "seconds": round(outcome.seconds)})
                total.update(outcome.faults + outcome.calls + outcome.figures)
                _print(name, outcome)
            seed += 1
    for name, total in totals.items():
        print(name, dict(total))
    print(f"{broken} violations")
    return 1 if broken else 0


def _round(name: str, server: Server | None, seed: int) -> Outcome:
    """One round; what it leaves behind is kept where something went wrong."""
    folder = Path(tempfile.mkdtemp(prefix="mislid-faults-"))
    with _place(name, server, folder) as place:
        outcome = run(place, folder, seed=seed, seconds=ROUND, workers=WORKERS, rate=RATE)
    if outcome.violations:
        print(f"kept: {folder}")
    else:
        shutil.rmtree(folder)
    return outcome


@contextmanager
def _place(name: str, server: Server | None, folder: Path) -> Iterator[Place]:
    if name == "SQLite" or server is None:
        yield SQLitePlace(folder)
        return
    with postgresql_place(server) as place:
        yield place


def _print(name: str, outcome: Outcome) -> None:
    print(
        f"{name}, seed {outcome.seed}: {outcome.faults.total()} faults, "
        f"{outcome.calls.total()} calls, {dict(outcome.figures)}, "
        f"{len(outcome.violations)} violations",
        flush=True,
    )
    for what, shown in outcome.violations:
        print(f"  {what}: {shown[:1000]}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
