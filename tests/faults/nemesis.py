"""Injects faults by a schedule that depends on the seed alone."""

from __future__ import annotations

import heapq
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from faults.nursery import NO_RECORD
from faults.places import Healing, Place, SQLitePlace

# Faults after which all go on at once.
CHEAP = ("client killed", "commit lost", "answer to a commit lost")

SOURCES = [str(Path(__file__).resolve().parents[1]), *sys.path]


class Crew:
    """Worker processes by name; one that has ended is followed by another of its name."""

    def __init__(self, names: list[str], address: str, folder: Path, seed: int) -> None:
        self.names, self.folder = names, folder
        self.unexpected: list[str] = []
        self._numbers = {name: itertools.count() for name in names}
        self.processes: dict[str, int] = {}
        self._killed: set[int] = set()
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "faults.nursery", address, str(folder), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(SOURCES), "OPENBLAS_NUM_THREADS": "1"},
        )
        assert self._nursery.stdout is not None
        assert self._nursery.stdout.readline() == "ready\n", "the nursery did not come up"
        for name in names:
            self.start(name)

    def _ask(self, words: str) -> str:
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        self._nursery.stdin.write(f"{words}\n")
        self._nursery.stdin.flush()
        return self._nursery.stdout.readline()

    def start(self, name: str) -> None:
        """The next one of this name."""
        self.processes[name] = int(self._ask(f"start {name} {next(self._numbers[name])}"))

    def kill(self, name: str) -> None:
        """End it without a word."""
        if name in self.processes:
            self._killed.add(self.processes[name])
            os.kill(self.processes[name], signal.SIGKILL)

    def revive(self) -> None:
        """Start a successor for every worker that has ended, unless all stop."""
        names = {process: name for name, process in self.processes.items()}
        for process, status in json.loads(self._ask("ended")):
            name = names[process]
            del self.processes[name]
            if status not in (0, NO_RECORD) and process not in self._killed:
                self.unexpected.append(f"{name} ended with status {status}")
            if status != 0:
                self.start(name)

    def close(self) -> None:
        """End all that are left."""
        self._nursery.communicate()


class Nemesis:
    """Faults of clients, and those of the database, at times that are drawn beforehand."""

    def __init__(self, place: Place, crew: Crew, rng: random.Random) -> None:
        self.place, self.crew, self.rng = place, crew, rng
        self.count: Counter[str] = Counter()
        self.faults: dict[str, Callable[[random.Random], Healing]] = {
            "client killed": self._kill,
            "client stopped": self._stop,
            "clock jumped": self._jump,
            "commit lost": partial(self._lose, "commit"),
            "answer to a commit lost": partial(self._lose, "answer"),
            **place.faults,
        }
        if isinstance(place, SQLitePlace):  # elsewhere clients write to no disk
            self.faults["client disk full"] = self._fill
        self._order = itertools.count()
        self._healing: list[tuple[float, int, Callable[[], None]]] = []

    def schedule(self, seconds: float, per_second: float) -> list[tuple[float, str]]:
        """When which fault comes: each kind first once, then by chance."""
        number = max(len(self.faults), int(seconds * per_second))
        kinds = list(self.faults)
        self.rng.shuffle(kinds)
        kinds += self.rng.choices([*kinds, *CHEAP, *CHEAP], k=number - len(kinds))
        return sorted((self.rng.uniform(0.0, seconds), kind) for kind in kinds)

    def rage(self, seconds: float, per_second: float) -> None:
        """Break things for so long, then mend all that is broken."""
        begun = time.monotonic()
        for at, kind in self.schedule(seconds, per_second):
            self._wait(begun + at)
            self.count[kind] += 1
            healing = self.faults[kind](self.rng)
            if healing is not None:
                after, heal = healing
                heapq.heappush(self._healing, (time.monotonic() + after, next(self._order), heal))
        self._wait(begun + seconds)
        while self._healing:
            heapq.heappop(self._healing)[2]()
        self.place.heal()
        for name in self.crew.names:
            self._lift(name)
            self.place.jump(name, self.crew.folder, 0.0)
            (self.crew.folder / f"{name}.lose").unlink(missing_ok=True)
        self.crew.revive()

    def _wait(self, until: float) -> None:
        """Until it is time, mend what is due, and revive the dead."""
        while True:
            while self._healing and self._healing[0][0] <= time.monotonic():
                heapq.heappop(self._healing)[2]()
            self.crew.revive()
            left = until - time.monotonic()
            if left <= 0.0:
                return
            time.sleep(min(left, 0.02))

    def _name(self) -> str:
        return self.rng.choice(self.crew.names)

    def _kill(self, _rng: random.Random) -> None:
        self.crew.kill(self._name())

    def _stop(self, rng: random.Random) -> Healing:
        process = self.crew.processes[self._name()]
        os.kill(process, signal.SIGSTOP)

        def go_on() -> None:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)

        return rng.uniform(0.05, 2.0), go_on

    def _jump(self, rng: random.Random) -> None:
        seconds = rng.choice([1.0, 300.0, 4000.0, 1e6, 1e8]) * rng.choice([-1.0, 1.0])
        self.place.jump(self._name(), self.crew.folder, seconds)

    def _lose(self, word: str, _rng: random.Random) -> None:
        """The next commit of everybody: that breaks much, and takes no time."""
        for name in self.crew.names:
            self.place.lose(name, self.crew.folder, word)

    def _fill(self, rng: random.Random) -> Healing:
        """No file of this client may grow beyond a size."""
        name = self._name()
        process = self.crew.processes[name]
        hard = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(process, resource.RLIMIT_FSIZE, (rng.randint(20_000, 2_000_000), hard))
        return rng.uniform(0.2, 10.0), lambda: self._lift(name, process)

    def _lift(self, name: str, process: int | None = None) -> None:
        process = self.crew.processes.get(name) if process is None else process
        if process is not None:
            with suppress(ProcessLookupError):
                hard = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
                resource.prlimit(process, resource.RLIMIT_FSIZE, (hard, hard))


def wait_for(crew: Crew, ready: Callable[[], bool], seconds: float) -> bool:
    """Whether it comes true in time, while the dead are revived."""
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            return False
        crew.revive()
        time.sleep(0.02)
    return True
