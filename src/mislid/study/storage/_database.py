"""A database as studies need it: transactions that wait for each other, and one-sentence errors.

SQLite writes ahead (readers never wait) and every write transaction begins as one, so that two
writers wait for each other instead of failing half-way. PostgreSQL locks rows. Each commit is on
the disk before it returns.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from mislid.errors import LockedStorageError
from mislid.study.storage._sql_errors import translated

# Seconds to wait for other writers.
TIMEOUT = 60.0


class Database:
    """SQLite in a file, or PostgreSQL.

    It may be used by several threads. A child process that was forked opens its own connections.
    """

    def __init__(self, url: str | URL, *, timeout: float = TIMEOUT) -> None:
        self.address = sa.make_url(url)
        self.place = self.address.render_as_string(hide_password=True)
        self.is_sqlite = self.address.get_backend_name() == "sqlite"
        self._timeout = timeout
        self.engine = self._new_engine()
        weakref.finalize(self, self.engine.dispose)
        self._process = os.getpid()

    def _new_engine(self) -> Engine:
        if not self.is_sqlite:
            # Row locks are all that is needed, whatever the server's default is.
            return self._patient(
                sa.create_engine(self.address, isolation_level="READ COMMITTED", pool_pre_ping=True)
            )
        engine = sa.create_engine(self.address, connect_args={"timeout": self._timeout})

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # `begin` is below
            connection.execute("PRAGMA synchronous=FULL")  # some builds would do with less

        @sa.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            writing = connection.get_execution_options().get("writing", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

        return engine

    def _patient(self, engine: Engine) -> Engine:
        """PostgreSQL, which by default waits for ever."""
        limit = f"SET lock_timeout = {int(1000 * self._timeout)}"

        @sa.event.listens_for(engine, "connect")
        def wait_no_longer(connection: Any, _record: Any) -> None:
            connection.execute(limit)
            connection.commit()

        return engine

    @contextmanager
    def connected(self, *, writing: bool = False) -> Iterator[Connection]:
        """A transaction, which is kept if the block ends without an exception."""
        if self._process != os.getpid():
            self.engine.dispose(close=False)  # the parent goes on with its connections
            self._process = os.getpid()
        with translated(self.place), self.engine.connect() as connection:
            connection = connection.execution_options(writing=writing)
            with connection.begin():
                yield connection

    def write_ahead(self) -> None:
        """Switch the file over, for good; SQLite does not wait for others there, so we do."""
        until = time.monotonic() + self._timeout
        while True:
            try:
                with translated(self.place), self.engine.connect() as connection:
                    raw = connection.connection.cursor()
                    raw.execute("PRAGMA journal_mode=WAL")
                    raw.close()
                return
            except LockedStorageError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
