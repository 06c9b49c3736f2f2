"""The databases of a round, and how each of them can be broken."""

from __future__ import annotations

import os
import random
import shutil
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from faults import checker
from faults.checker import Row
from helpers.postgresql import Server
from helpers.proxy import Proxy, proxy_before

# After which a server ends a transaction in which nothing happens, in milliseconds.
IDLE = 1_000
# What a fault leaves to be done, after so many seconds; None where nothing has to be.
Healing = tuple[float, Callable[[], None]] | None


class Place(ABC):
    """Where a study is kept. `faults` are those of the database, by name."""

    address: str
    faults: dict[str, Callable[[random.Random], Healing]]

    @abstractmethod
    def log(self) -> tuple[int, list[Row]]:
        """Its events, by plain SQL."""

    @abstractmethod
    def jump(self, worker: str, folder: Path, seconds: float) -> None:
        """Put a clock wrong: the worker's, or the server's where that has one."""

    @abstractmethod
    def lose(self, worker: str, folder: Path, word: str) -> None:
        """Lose the next commit, or the answer to it: of the worker, or of anybody."""

    @property
    @abstractmethod
    def cut_off(self) -> int:
        """Commits that were lost, or their answers."""

    def heal(self) -> None:  # noqa: B027  # a file needs nothing
        """Let the database work again."""


class SQLitePlace(Place):
    """A file. Copies of it are kept that were torn at some moment."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "lab.db"
        self.address = f"sqlite:///{self.file}"
        self.torn: list[Path] = []
        self._folder = folder
        self.faults = {"torn copy": self._tear}

    def log(self) -> tuple[int, list[Row]]:
        return checker.read_sqlite(self.file)

    def jump(self, worker: str, folder: Path, seconds: float) -> None:
        (folder / f"{worker}.clock").write_text(str(seconds))

    def lose(self, worker: str, folder: Path, word: str) -> None:
        (folder / f"{worker}.lose").write_text(word)

    @property
    def cut_off(self) -> int:
        return sum(file.stat().st_size for file in self._folder.glob("*.lost"))

    def _tear(self, rng: random.Random) -> None:
        """Copy file and write-ahead log while others write, and cut the copy off, or scratch it."""
        copy = self._folder / f"torn-{len(self.torn)}" / "lab.db"
        copy.parent.mkdir()
        pairs = [(self.file, copy), (Path(f"{self.file}-wal"), Path(f"{copy}-wal"))]
        if rng.random() < 0.5:
            pairs.reverse()
        for original, target in pairs:
            with suppress(FileNotFoundError):
                shutil.copyfile(original, target)
        tear(rng.choice([copy, *2 * [Path(f"{copy}-wal")]]), rng)
        self.torn.append(copy)


def tear(file: Path, rng: random.Random) -> None:
    """Cut a file off somewhere, or write over a few bytes of it."""
    if not file.exists() or not file.stat().st_size:
        return
    size = file.stat().st_size
    place = rng.randrange(size)
    if rng.random() < 0.7:
        os.truncate(file, place)
        return
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(rng.randbytes(rng.randint(1, 600)))


class PostgreSQLPlace(Place):
    """A server of our own, and a proxy before it that loses commits."""

    def __init__(self, server: Server, proxy: Proxy) -> None:
        self._server, self._proxy = server, proxy
        self.direct = server.new_schema(f"-cidle_in_transaction_session_timeout={IDLE}")
        self.address = self.direct.replace(f":{server.port}/", f":{proxy.port}/")
        self._set_clock(0.0)  # who prepares a statement before it is there never sees it
        self.faults = {
            "server killed": self._kill,
            "server process killed": self._kill_one,
            "server process stopped": self._stop_one,
            "server disk full": self._fill,
            "server out of reach": self._cut,
        }

    def log(self) -> tuple[int, list[Row]]:
        return checker.read_postgresql(self.direct)

    def jump(self, worker: str, folder: Path, seconds: float) -> None:
        del worker, folder
        import psycopg

        with suppress(psycopg.OperationalError):  # it is down
            self._set_clock(seconds)

    def _set_clock(self, seconds: float) -> None:
        """The study's schema has a clock that hides that of the server."""
        import psycopg

        with psycopg.connect(self.direct) as connection:
            connection.execute(
                "CREATE OR REPLACE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
                f"$$SELECT pg_catalog.clock_timestamp() + interval '{seconds} seconds'$$"
            )

    def lose(self, worker: str, folder: Path, word: str) -> None:
        del worker, folder
        self._proxy.lose.append(word)

    @property
    def cut_off(self) -> int:
        return self._proxy.lost

    def heal(self) -> None:
        self._proxy.lose.clear()
        self._proxy.closed = False
        self._server.start()

    def _kill(self, rng: random.Random) -> Healing:
        self._server.kill()
        return rng.uniform(0.0, 1.0), self._server.start

    def _one(self, rng: random.Random) -> int | None:
        """A process of the server that serves a connection."""
        serving = self._server.serving()
        return rng.choice(serving) if serving else None

    def _kill_one(self, rng: random.Random) -> Healing:
        self._signal(self._one(rng), signal.SIGKILL)
        return None

    def _stop_one(self, rng: random.Random) -> Healing:
        process = self._one(rng)
        self._signal(process, signal.SIGSTOP)
        return rng.uniform(0.1, 1.5), lambda: self._signal(process, signal.SIGCONT)

    def _fill(self, rng: random.Random) -> Healing:
        """One process of the server can write nothing beyond a size, until it ends."""
        process = self._one(rng)
        if process is not None:
            self._server.limit(process, 8192 * rng.randint(1, 1000))
        return None

    def _cut(self, rng: random.Random) -> Healing:
        self._proxy.lose.append("server")
        return rng.uniform(0.2, 1.5), self._open

    def _open(self) -> None:
        self._proxy.lose = [word for word in self._proxy.lose if word != "server"]
        self._proxy.closed = False

    @staticmethod
    def _signal(process: int | None, number: int) -> None:
        if process is not None:
            with suppress(ProcessLookupError):
                os.kill(process, number)


@contextmanager
def postgresql_place(server: Server) -> Iterator[PostgreSQLPlace]:
    """A schema of the server."""
    with proxy_before(server.port) as proxy:
        yield PostgreSQLPlace(server, proxy)
