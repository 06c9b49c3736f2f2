"""Studies in a database: SQLite in a file, or PostgreSQL, through the same statements.

SQLite writes ahead (readers never wait) and every write transaction begins as one, so that two
writers wait for each other instead of failing half-way. PostgreSQL locks the study's row. Each
commit is on the disk before it returns.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

import mislid
from mislid.errors import LockedStorageError, SchemaVersionError
from mislid.study.events import Entry
from mislid.study.storage._interface import Log, Storage, gone, refuse_gap, taken
from mislid.study.storage._sql_errors import translated

SCHEMA_VERSION = 1
# Seconds to wait for other writers.
TIMEOUT = 60.0
# A number that PostgreSQL's sessions agree on while they make the tables.
_MAKING_TABLES = 20_211_206

_metadata = sa.MetaData()
_schema = sa.Table(
    "mislid_schema",
    _metadata,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("written_by", sa.Text, nullable=False),
)
_studies = sa.Table(
    "mislid_studies",
    _metadata,
    sa.Column("key", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("last", sa.Integer, nullable=False),
    sqlite_autoincrement=True,  # a deleted study's key is not given again
)
_events = sa.Table(
    "mislid_events",
    _metadata,
    sa.Column("key", sa.Integer, sa.ForeignKey("mislid_studies.key"), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)


class SQLStorage(Storage):
    """Studies in the database at this address; its tables are made when they are missing.

    A storage may be used by several threads. A child process that was forked opens its own
    connections.
    """

    def __init__(self, url: str | URL, *, timeout: float = TIMEOUT) -> None:
        address = sa.make_url(url)
        self.place = address.render_as_string(hide_password=True)
        self._sqlite = address.get_backend_name() == "sqlite"
        self._timeout = timeout
        self._engine = self._new_engine(address)
        weakref.finalize(self, self._engine.dispose)
        self._process = os.getpid()
        with translated(self.place):
            self._check_schema()

    def _new_engine(self, address: URL) -> Engine:
        if not self._sqlite:
            # Row locks are all that is needed, whatever the server's default is.
            return self._patient(
                sa.create_engine(address, isolation_level="READ COMMITTED", pool_pre_ping=True)
            )
        engine = sa.create_engine(address, connect_args={"timeout": self._timeout})

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
    def _connected(self, *, writing: bool = False) -> Iterator[Connection]:
        """A transaction, which is kept if the block ends without an exception."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)  # the parent goes on with its connections
            self._process = os.getpid()
        with translated(self.place), self._engine.connect() as connection:
            connection = connection.execution_options(writing=writing)
            with connection.begin():
                yield connection

    def _check_schema(self) -> None:
        if not sa.inspect(self._engine).has_table(_schema.name):
            self._make_tables()
        with self._connected() as connection:
            versions = connection.execute(sa.select(_schema)).all()
        version, writer = versions[0] if versions else (0, "an unknown release")
        if version != SCHEMA_VERSION:
            age = "older" if version < SCHEMA_VERSION else "newer"
            raise SchemaVersionError(
                f"storage {self.place!r} has schema version {version}, {age} than the "
                f"{SCHEMA_VERSION} of mislid {mislid.__version__}: open it with the release that "
                f"wrote it, {writer}"
            )

    def _make_tables(self) -> None:
        if self._sqlite:
            self._write_ahead()
        with self._connected(writing=True) as connection:
            if not self._sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MAKING_TABLES)))
            if sa.inspect(connection).has_table(_schema.name):
                return  # another process was faster
            _metadata.create_all(connection)
            writer = f"mislid {mislid.__version__}"
            connection.execute(_schema.insert().values(version=SCHEMA_VERSION, written_by=writer))

    def _write_ahead(self) -> None:
        """Switch the file over, for good; SQLite does not wait for others there, so we do."""
        until = time.monotonic() + self._timeout
        while True:
            try:
                with translated(self.place), self._engine.connect() as connection:
                    raw = connection.connection.cursor()
                    raw.execute("PRAGMA journal_mode=WAL")
                    raw.close()
                return
            except LockedStorageError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def create(self, name: str, entries: Sequence[Entry]) -> int:
        """Begin a study."""
        refuse_gap(0, entries)
        try:
            with self._connected(writing=True) as connection:
                insert = _studies.insert().values(name=name, last=len(entries))
                key = int(connection.execute(insert.returning(_studies.c.key)).scalar_one())
                _insert(connection, key, entries)
        except Exception as problem:
            if isinstance(problem.__cause__, sa.exc.IntegrityError):
                raise taken(name) from None
            raise
        return key

    def names(self) -> dict[str, int]:
        """Keys by name."""
        with self._connected() as connection:
            rows = connection.execute(sa.select(_studies.c.name, _studies.c.key)).all()
        return dict(sorted((str(name), int(key)) for name, key in rows))

    def read(self, key: int, after: int = 0) -> list[Entry]:
        """What comes after."""
        with self._connected() as connection:
            return _read(connection, key, after)

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        """For one writer."""
        with self._connected(writing=True) as connection:
            row = sa.select(_studies.c.last).where(_studies.c.key == key).with_for_update()
            last = connection.execute(row).scalar_one_or_none()
            if last is None:
                raise gone()
            yield _SQLLog(connection, key, int(last))

    def delete(self, key: int) -> None:
        """Remove a study."""
        with self._connected(writing=True) as connection:
            connection.execute(
                sa.select(_studies.c.key).where(_studies.c.key == key).with_for_update()
            )
            connection.execute(_events.delete().where(_events.c.key == key))
            if not connection.execute(_studies.delete().where(_studies.c.key == key)).rowcount:
                raise gone()

    def close(self) -> None:
        """Give up connections."""
        self._engine.dispose()


class _SQLLog(Log):
    def __init__(self, connection: Connection, key: int, last: int) -> None:
        self.connection, self.key, self.last = connection, key, last

    def read(self, after: int = 0) -> list[Entry]:
        return _read(self.connection, self.key, after) if after < self.last else []

    def append(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        refuse_gap(self.last, entries)
        _insert(self.connection, self.key, entries)
        self.last += len(entries)
        self.connection.execute(
            _studies.update().where(_studies.c.key == self.key).values(last=self.last)
        )


def _insert(connection: Connection, key: int, entries: Sequence[Entry]) -> None:
    if not entries:
        return
    rows = [
        {
            "key": key,
            "sequence": entry.sequence,
            "time": entry.time,
            "kind": entry.kind,
            "body": entry.body,
        }
        for entry in entries
    ]
    connection.execute(_events.insert(), rows)


def _read(connection: Connection, key: int, after: int) -> list[Entry]:
    last = connection.execute(
        sa.select(_studies.c.last).where(_studies.c.key == key)
    ).scalar_one_or_none()
    if last is None:
        raise gone()
    if last <= after:
        return []
    columns = (_events.c.sequence, _events.c.time, _events.c.kind, _events.c.body)
    wanted = (
        sa.select(*columns)
        .where(_events.c.key == key, _events.c.sequence > after)
        .order_by(_events.c.sequence)
    )
    return [Entry(*row) for row in connection.execute(wanted)]
