"""SQL storage: SQLite or PostgreSQL, through the same statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection

import mislid
from mislid._formatting import shown
from mislid._validation import as_text
from mislid.errors import StorageError
from mislid.study.events import Entry, Log, broken, refuse_gap, refuse_holes
from mislid.study.storage.database import TIMEOUT, Database, translated
from mislid.study.storage.interface import Line, Storage, name_taken_error, study_deleted_error
from mislid.study.storage.schema_check import refuse_strange

# Version of the tables and of the events in them; a release reads only its own version.
VERSION = 4
# Key of the PostgreSQL advisory lock for creating or changing the tables.
_CHANGING_TABLES = 20_211_206

# The clock of the server, which all clients share.
_NOW: sa.ColumnElement[float] = sa.literal_column(
    "EXTRACT(EPOCH FROM clock_timestamp())::double precision"
)

METADATA = sa.MetaData()
SCHEMA = sa.Table(
    "mislid_schema",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("written_by", sa.Text, nullable=False),
)
STUDIES = sa.Table(
    "mislid_studies",
    METADATA,
    sa.Column("key", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("last", sa.Integer, nullable=False),
    sa.Column("summary", sa.Text),
    sqlite_autoincrement=True,  # never reuse a deleted study's key
)
EVENTS = sa.Table(
    "mislid_events",
    METADATA,
    sa.Column("key", sa.Integer, sa.ForeignKey("mislid_studies.key"), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("seal", sa.Text, nullable=False),
)


class SQLStorage(Storage):
    """Storage in a database; missing tables are created.

    Parameters
    ----------
    url, timeout
        As for `Database`.
    """

    def __init__(self, url: str | URL, *, timeout: float = TIMEOUT) -> None:
        self._database = Database(url, timeout=timeout)
        refuse_strange(self._database)
        ensure_tables(self._database)

    def create(self, name: str, entries: Sequence[Entry]) -> int:
        as_text(name, "study_name")
        refuse_gap(0, entries)
        try:
            with self._database.connected(writing=True) as connection:
                insert = STUDIES.insert().values(name=name, last=len(entries))
                key = int(connection.execute(insert.returning(STUDIES.c.key)).scalar_one())
                _insert(connection, key, entries)
        except Exception as problem:
            if isinstance(problem.__cause__, sa.exc.IntegrityError):
                raise name_taken_error(name) from None
            raise
        return key

    def lines(self) -> list[Line]:
        columns = (STUDIES.c.name, STUDIES.c.key, STUDIES.c.last, STUDIES.c.summary)
        with self._database.connected() as connection:
            rows = connection.execute(sa.select(*columns)).all()
        return sorted((_line(*row) for row in rows), key=lambda line: (line.name, line.key))

    def read(self, key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        known = sa.select(STUDIES.c.last).where(STUDIES.c.key == key)
        with self._database.connected() as connection:
            found = connection.execute(known).first()
            if found is None:
                raise study_deleted_error()
            return _entries(connection, key, after, _as_last(found[0]), most)

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        with self._database.connected(writing=True) as connection:
            columns = [STUDIES.c.last] if self._database.is_sqlite else [STUDIES.c.last, _NOW]
            row = sa.select(*columns).where(STUDIES.c.key == key).with_for_update()
            found = connection.execute(row).first()
            if found is None:
                raise study_deleted_error()
            yield _SQLLog(connection, key, _as_last(found[0]), *found[1:])

    def delete(self, key: int) -> None:
        with self._database.connected(writing=True) as connection:
            connection.execute(
                sa.select(STUDIES.c.key).where(STUDIES.c.key == key).with_for_update()
            )
            connection.execute(EVENTS.delete().where(EVENTS.c.key == key))
            if not connection.execute(STUDIES.delete().where(STUDIES.c.key == key)).rowcount:
                raise study_deleted_error()

    def faults(self, key: int) -> list[str]:
        beyond = (
            sa.select(sa.func.count())
            .select_from(EVENTS.join(STUDIES, EVENTS.c.key == STUDIES.c.key))
            .where(EVENTS.c.key == key)
            .where(sa.or_(EVENTS.c.sequence > STUDIES.c.last, EVENTS.c.sequence < 1))
        )
        with self._database.connected() as connection:
            count = connection.execute(beyond).scalar_one()
            found = [self._database.damage(connection)]
        if count:
            found.append(f"{count} events are outside of the log, which has no place for them")
        return [words for words in found if words]

    def close(self) -> None:
        self._database.close()


class _SQLLog(Log):
    def __init__(
        self, connection: Connection, key: int, last: int, now: float | None = None
    ) -> None:
        self.connection, self.key, self.last, self.time = connection, key, last, now

    def now(self) -> float:
        return super().now() if self.time is None else self.time

    def read(self, after: int = 0, most: int | None = None) -> list[Entry]:
        return _entries(self.connection, self.key, after, self.last, most)

    def append(self, entries: Sequence[Entry], summary: str | None = None) -> None:
        if not entries:
            return
        refuse_gap(self.last, entries)
        _insert(self.connection, self.key, entries)
        self.last += len(entries)
        self.connection.execute(
            STUDIES.update()
            .where(STUDIES.c.key == self.key)
            .values(last=self.last, summary=summary)
        )


def _line(name: Any, key: Any, last: Any, summary: Any) -> Line:
    """A row of studies; SQLite has values of any type in any column."""
    return Line(
        name if isinstance(name, str) else shown(name),
        key if isinstance(key, int) else -1,  # which no study has
        last if isinstance(last, int) else 0,
        summary if isinstance(summary, str) else None,
    )


def _as_last(last: Any) -> int:
    if not isinstance(last, int) or last < 0:
        raise broken(f"the study's number of events is {shown(last)}")
    return last


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
            "seal": entry.seal,
        }
        for entry in entries
    ]
    connection.execute(EVENTS.insert(), rows)


def _entries(
    connection: Connection, key: int, after: int, last: int, most: int | None
) -> list[Entry]:
    """Entries above `after`, at most `most`; refuses a log with missing entries."""
    until = last if most is None else min(last, after + most)
    if after >= until:
        return []
    columns = (EVENTS.c.sequence, EVENTS.c.time, EVENTS.c.kind, EVENTS.c.body, EVENTS.c.seal)
    wanted = (
        sa.select(*columns)
        .where(EVENTS.c.key == key, EVENTS.c.sequence > after, EVENTS.c.sequence <= until)
        .order_by(EVENTS.c.sequence)
    )
    entries = list(map(Entry._make, connection.execute(wanted).all()))
    refuse_holes(after, until, entries)
    return entries


def ensure_tables(database: Database) -> None:
    """Create missing tables; refuse tables of another version."""
    with translated(database.place, database.file):
        missing = not sa.inspect(database.engine).has_table(SCHEMA.name)
    if missing:
        _make_tables(database)
    with database.connected() as connection:
        version, writer = _version_of(connection)
    if version != VERSION:
        raise StorageError(
            f"storage {database.place!r} has schema version {version}, of {writer}, and "
            f"{_release()} has {VERSION}: open it with the release that made it"
        )


def _version_of(connection: Connection) -> tuple[int, str]:
    """The version of the tables, and the release that created them."""
    rows = connection.execute(sa.select(SCHEMA)).all()
    return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "an unknown release")


def _set_version(connection: Connection) -> None:
    """Record the version of the tables and this release."""
    connection.execute(SCHEMA.delete())
    connection.execute(SCHEMA.insert().values(version=VERSION, written_by=_release()))


def _keep_others_out(database: Database, connection: Connection) -> None:
    """Lock out other processes that create the tables; SQLite allows one writer anyway."""
    if not database.is_sqlite:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CHANGING_TABLES)))


def _make_tables(database: Database) -> None:
    if database.is_sqlite:
        database.write_ahead()
    with database.connected(writing=True) as connection:
        _keep_others_out(database, connection)
        if sa.inspect(connection).has_table(SCHEMA.name):
            return  # another process was faster
        METADATA.create_all(connection)
        _set_version(connection)


def _release() -> str:
    return f"mislid {mislid.__version__}"
