"""Studies in a database: SQLite in a file, or PostgreSQL, through the same statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection

from mislid.study.events import Entry
from mislid.study.storage._database import TIMEOUT, Database
from mislid.study.storage._interface import Line, Log, Storage, gone, refuse_gap, taken
from mislid.study.storage._schema import EVENTS, STUDIES, ensure_tables


class SQLStorage(Storage):
    """Studies in the database at this address; its tables are made when they are missing."""

    def __init__(self, url: str | URL, *, timeout: float = TIMEOUT) -> None:
        self._database = Database(url, timeout=timeout)
        ensure_tables(self._database)

    def create(self, name: str, entries: Sequence[Entry]) -> int:
        """Begin a study."""
        refuse_gap(0, entries)
        try:
            with self._database.connected(writing=True) as connection:
                insert = STUDIES.insert().values(name=name, last=len(entries))
                key = int(connection.execute(insert.returning(STUDIES.c.key)).scalar_one())
                _insert(connection, key, entries)
        except Exception as problem:
            if isinstance(problem.__cause__, sa.exc.IntegrityError):
                raise taken(name) from None
            raise
        return key

    def lines(self) -> list[Line]:
        """In alphabetical order."""
        columns = (STUDIES.c.name, STUDIES.c.key, STUDIES.c.last, STUDIES.c.summary)
        with self._database.connected() as connection:
            return sorted(Line(*row) for row in connection.execute(sa.select(*columns)))

    def read(self, key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        """What comes after."""
        known = sa.select(STUDIES.c.last).where(STUDIES.c.key == key)
        with self._database.connected() as connection:
            last = connection.execute(known).scalar_one_or_none()
            if last is None:
                raise gone()
            return _entries(connection, key, after, most) if after < last else []

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        """For one writer."""
        with self._database.connected(writing=True) as connection:
            row = sa.select(STUDIES.c.last).where(STUDIES.c.key == key).with_for_update()
            last = connection.execute(row).scalar_one_or_none()
            if last is None:
                raise gone()
            yield _SQLLog(connection, key, int(last))

    def delete(self, key: int) -> None:
        """Remove a study."""
        with self._database.connected(writing=True) as connection:
            connection.execute(
                sa.select(STUDIES.c.key).where(STUDIES.c.key == key).with_for_update()
            )
            connection.execute(EVENTS.delete().where(EVENTS.c.key == key))
            if not connection.execute(STUDIES.delete().where(STUDIES.c.key == key)).rowcount:
                raise gone()

    def close(self) -> None:
        """Give up connections."""
        self._database.engine.dispose()


class _SQLLog(Log):
    def __init__(self, connection: Connection, key: int, last: int) -> None:
        self.connection, self.key, self.last = connection, key, last

    def read(self, after: int = 0, most: int | None = None) -> list[Entry]:
        return _entries(self.connection, self.key, after, most) if after < self.last else []

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
    connection.execute(EVENTS.insert(), rows)


def _entries(connection: Connection, key: int, after: int, most: int | None) -> list[Entry]:
    columns = (EVENTS.c.sequence, EVENTS.c.time, EVENTS.c.kind, EVENTS.c.body)
    wanted = (
        sa.select(*columns)
        .where(EVENTS.c.key == key, EVENTS.c.sequence > after)
        .order_by(EVENTS.c.sequence)
        .limit(most)
    )
    return [Entry(*row) for row in connection.execute(wanted)]
