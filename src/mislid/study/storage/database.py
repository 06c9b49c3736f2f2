"""Database connections with serialized write transactions and translated errors.

SQLite runs in WAL mode, so readers never wait. Write transactions begin with BEGIN IMMEDIATE, so
that a second writer waits at the start instead of failing half-way. PostgreSQL locks rows. A commit
returns only after the data are on disk.
"""

from __future__ import annotations

import errno
import os
import random
import re
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, Engine, RootTransaction

from mislid._formatting import without_password
from mislid.errors import (
    CorruptStorageError,
    FullStorageError,
    LockedStorageError,
    ReadOnlyStorageError,
    StorageError,
    UnknownOutcomeError,
)
from mislid.study.storage import files
from mislid.study.storage.interface import Collision

# Seconds to wait for other writers.
TIMEOUT = 60.0
# Seconds after which PostgreSQL ends an idle transaction, such as that of a suspended process.
IDLE = 30.0
# Timeouts after which the connection to an unreachable or silent server counts as lost.
_AWAY = {"connect_timeout": 20, "keepalives_idle": 30, "keepalives_interval": 10}
_AWAY |= {"keepalives_count": 3, "tcp_user_timeout": 60_000}
# Largest size of an event in SQLite, in bytes.
LONGEST = 256 * 2**20
# Bytes of a page of SQLite.
_PAGE = 4096


class Database:
    """An SQLite file or a PostgreSQL database.

    Several threads may use it. A forked child process opens its own connections.

    Parameters
    ----------
    url
        An SQLAlchemy URL.
    timeout
        Seconds to wait for other writers.
    """

    def __init__(self, url: str | URL, *, timeout: float = TIMEOUT) -> None:
        self.address = sa.make_url(url)
        self.place = without_password(self.address.render_as_string(hide_password=True))
        self.is_sqlite = self.address.get_backend_name() == "sqlite"
        self._timeout = timeout
        self.file = self._file()
        self._watch = files.WatchedFile(self.file, self.place)
        self.engine = self._new_engine()
        weakref.finalize(self, self.engine.dispose)
        self._process = os.getpid()

    def _file(self) -> Path | None:
        """The absolute path of the SQLite file; None for a server."""
        if not self.is_sqlite:
            return None
        name = str(self.address.database)
        file = Path(name.removeprefix("file:").partition("?")[0]).absolute()
        if name.startswith("file:"):
            return file
        self.address = self.address.set(database=str(file))
        return file

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self.engine.dispose()
        self._watch.forget()

    def _new_engine(self) -> Engine:
        if not self.is_sqlite:
            # Row locks suffice, so the isolation level does not depend on the server's default.
            engine = sa.create_engine(
                self.address,
                isolation_level="READ COMMITTED",
                pool_pre_ping=True,
                connect_args={k: v for k, v in _AWAY.items() if k not in self.address.query},
            )
            return self._patient(engine)
        engine = sa.create_engine(self.address, connect_args={"timeout": self._timeout})

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            self._watch.refuse_replaced()
            connection.isolation_level = None  # transactions begin in `begin` below
            # Bytes that are not UTF-8 do not hide other rows; seals do not fit them.
            connection.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
            connection.execute("PRAGMA synchronous=FULL")  # some builds have a weaker default
            # Protect against malicious files: no function calls from the schema, no huge values.
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)

        @sa.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            if connection.get_execution_options().get("writing", False):
                self._begin_writing(connection)
            else:
                self._watch.refuse_replaced()  # a deleted file would still be readable
                connection.exec_driver_sql("BEGIN")

        return engine

    def _begin_writing(self, connection: Connection) -> None:
        """Begin a write transaction, and wait for other writers of the file.

        SQLite's busy handler retries ever more slowly, which starves a process that has waited
        long. Here the retries become more frequent with the time waited.
        """
        file: Any = connection.connection.driver_connection
        self._watch.refuse_replaced()
        begun = time.monotonic()
        file.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    file.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as problem:
                    waited = time.monotonic() - begun
                    if not _is_busy(problem) or waited >= self._timeout:
                        raise
                    time.sleep(random.uniform(0.5, 1.5) * pause_after(waited))  # noqa: S311
        finally:
            file.execute(f"PRAGMA busy_timeout = {int(1000 * self._timeout)}")

    def _patient(self, engine: Engine) -> Engine:
        """Set lock and idle timeouts on PostgreSQL connections, which by default wait forever."""
        idle = "idle_in_transaction_session_timeout"
        unless_set = f"WHERE current_setting('{idle}') = '0'"
        limits = (
            f"SET lock_timeout = {int(1000 * self._timeout)}",
            f"SELECT set_config('{idle}', '{int(1000 * IDLE)}', false) {unless_set}",
        )

        @sa.event.listens_for(engine, "connect")
        def wait_no_longer(connection: Any, _record: Any) -> None:
            connection.autocommit = True  # a rollback must not undo the settings
            for limit in limits:
                connection.execute(limit)
            connection.autocommit = False

        return engine

    @contextmanager
    def connected(self, *, writing: bool = False) -> Iterator[Connection]:
        """Context manager of a transaction; a write commits if the block raises no exception."""
        if self._process != os.getpid():
            self.engine.dispose(close=False)  # the parent still uses its connections
            self._process = os.getpid()
        with translated(self.place, self.file), self.engine.connect() as connection:
            connection = connection.execution_options(writing=writing)
            transaction = connection.begin()
            try:
                yield connection
            except BaseException:
                with suppress(exc.DBAPIError):  # raise the first error
                    transaction.rollback()
                raise
            if writing:
                self._commit(transaction)
            else:
                transaction.rollback()

    def _commit(self, transaction: RootTransaction) -> None:
        """Commit; raise `UnknownOutcomeError` if the server's reply is lost."""
        try:
            transaction.commit()
        except exc.DBAPIError as problem:
            if not (_is_answer(problem.orig) or _lacks_room(problem.orig, self.file)):
                raise UnknownOutcomeError(
                    f"storage {self.place!r} did not say whether it has written: the connection "
                    "broke just then. The study finds out when it is used again; the same call "
                    f"with the same key counts once ({_said(problem.orig)})"
                ) from problem
            raise

    def damage(self, connection: Connection) -> str:
        """The first fault that SQLite's integrity check finds, or ""; servers are not checked."""
        if not self.is_sqlite:
            return ""
        found = str(connection.exec_driver_sql("PRAGMA integrity_check").scalar())
        return "" if found == "ok" else f"the file is damaged ({found.splitlines()[0]})"

    def write_ahead(self) -> None:
        """Switch the file to WAL mode permanently.

        The busy timeout does not apply to this statement, so the method retries by itself.
        """
        until = time.monotonic() + self._timeout
        while True:
            try:
                with translated(self.place, self.file), self.engine.connect() as connection:
                    raw = connection.connection.cursor()
                    raw.execute("PRAGMA journal_mode=WAL")
                    raw.close()
                return
            except LockedStorageError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


def pause_after(waited: float) -> float:
    """Seconds until the next attempt to lock a file that another process has locked.

    >>> [round(pause_after(waited), 4) for waited in (0.0, 0.1, 1.0, 10.0)]
    [0.01, 0.0033, 0.001, 0.001]
    """
    return max(0.001, 0.01 / (1.0 + 20.0 * waited))


def _is_busy(problem: sqlite3.OperationalError) -> bool:
    return problem.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


_LOCKED = (
    LockedStorageError,
    "has been held by another process for too long: try again later, or end one that was stopped",
)
_CROWDED = (
    LockedStorageError,
    "has too many connections: close some, or let the server have more (max_connections)",
)
_READ_ONLY = (
    ReadOnlyStorageError,
    "cannot be written to: allow it (for SQLite in its directory too), or copy it elsewhere",
)
_FULL = (FullStorageError, "has no room left, and nothing was added: make room and try again")
_CORRUPT = (CorruptStorageError, "is damaged or no database: restore it from a backup")
_CLOSED = (
    StorageError,
    "cannot be opened: check the address, and that its directory exists and both may be read",
)
_COLLIDED = (Collision, "undid a transaction because of another one: try again")

Complaint = tuple[type[StorageError], str]

# Names of SQLite's result codes begin with these.
_SQLITE: dict[str, Complaint] = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    "SQLITE_CORRUPT": _CORRUPT,
    "SQLITE_NOTADB": _CORRUPT,
    "SQLITE_CANTOPEN": _CLOSED,
    "SQLITE_TOOBIG": (
        FullStorageError,
        f"takes at most {LONGEST // 2**20} MiB at once: add observations in several calls",
    ),
}
# PostgreSQL's SQLSTATE codes begin with these.
_POSTGRESQL: dict[str, Complaint] = {
    "40001": _COLLIDED,
    "40P01": _COLLIDED,
    "55P03": _LOCKED,
    "25P03": _COLLIDED,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "53100": _FULL,
    "53300": _CROWDED,
    "XX001": _CORRUPT,
    "XX002": _CORRUPT,
    "08": _CLOSED,
    "28": (StorageError, "refuses the user or password: check them in the address"),
    "3D000": (StorageError, "does not exist on the server: create the database first"),
    "57": (StorageError, "ended the connection: try again when the server is back"),
}


@contextmanager
def translated(place: str, file: Path | None = None) -> Iterator[None]:
    """Context manager that turns errors of the database into those of the package.

    `file` is where SQLite writes.
    """
    try:
        yield
    except exc.TimeoutError as problem:
        raise LockedStorageError(
            f"storage {place!r} is used by more threads of this process at once than it has "
            "connections: use fewer threads at once, or one storage for each"
        ) from problem
    except UnicodeDecodeError as problem:
        raise CorruptStorageError(f"storage {place!r} {_CORRUPT[1]} ({problem})") from problem
    except (exc.DBAPIError, sqlite3.Error) as problem:
        original = getattr(problem, "orig", problem)
        kind, advice = _FULL if _lacks_room(original, file) else _complaint(original)
        raise kind(f"storage {place!r} {advice} ({_said(original)})") from problem


def _said(original: BaseException | None) -> str:
    return (str(original).strip() or type(original).__name__).splitlines()[0]


# Error codes after which a commit was certainly not made: of SQLite, and of PostgreSQL for violated
# constraints, invalid transaction states, rollbacks and locks. After any other error the outcome is
# unknown: a server whose disk fails shuts down, and may recover the commit when it restarts.
_NOT_MADE = ("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CONSTRAINT", "SQLITE_LOCKED")
_UNDONE = ("23", "25", "40", "55")


def _is_answer(original: BaseException | None) -> bool:
    """Whether an error at a commit means that nothing was written."""
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_UNDONE)
    name = getattr(original, "sqlite_errorname", None)
    return isinstance(name, str) and name.startswith(_NOT_MADE)


def _lacks_room(original: BaseException | None, file: Path | None) -> bool:
    """Whether SQLite could not write because of a quota or a limit to the size of files.

    SQLite reports an I/O error without its cause, so a temporary file beside the database is
    written to at the same length. SQLite writes the mark of a commit last: without it, nothing was
    added.
    """
    if file is None or getattr(original, "sqlite_errorname", None) != "SQLITE_IOERR_WRITE":
        return False
    file = file.resolve()
    ahead = Path(f"{file}-wal")
    try:
        with tempfile.TemporaryFile(dir=file.parent) as trial:
            trial.seek((ahead if ahead.exists() else file).stat().st_size)
            trial.write(bytes(_PAGE))
            trial.flush()
    except OSError as problem:
        return problem.errno in (errno.EFBIG, errno.EDQUOT, errno.ENOSPC)
    return False


def _complaint(original: BaseException) -> Complaint:
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return _matching(_POSTGRESQL, state)
    name = getattr(original, "sqlite_errorname", None)
    if isinstance(name, str):
        return _matching(_SQLITE, name)
    if re.search("too many (clients|connections)|connection slots", str(original)):
        return _CROWDED  # errors while connecting have no code
    return _CLOSED  # no server replied


def _matching(complaints: dict[str, Complaint], code: str) -> Complaint:
    for start, complaint in complaints.items():
        if code.startswith(start):
            return complaint
    return StorageError, "has failed: see what the database says"
