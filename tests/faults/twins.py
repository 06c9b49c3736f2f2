"""Storages that break a promise, and that a checker must find out."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from faults.checker import Row, read_sqlite
from faults.record import NAME
from mislid.study.storage import Log
from mislid.study.storage.sql import SQLStorage

Tamper = Callable[[list[Row]], list[Row]]


class Broken(SQLStorage):
    """Does something to the log, once, after so many writes. All seals are right again then."""

    def __init__(self, file: Path, tamper: Tamper, after: int) -> None:
        super().__init__(f"sqlite:///{file}")
        self._file, self._tamper, self._left = file, tamper, after
        self._is_done = False

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        with super().locked(key) as log:
            yield log
        self._left -= 1
        if self._left > 0 or self._is_done:
            return
        _, rows = read_sqlite(self._file)
        broken = self._tamper(rows)
        if broken != rows:
            self._is_done = True
            _write(self._file, key, resealed(broken))


def resealed(rows: list[Row]) -> list[Row]:
    """Numbered and sealed in the order in which they are."""
    found, seal = [], NAME
    for number, row in enumerate(rows, start=1):
        line = f"{seal}\n{number} {row.time!r} {row.kind} {row.body}"
        seal = hashlib.sha256(line.encode()).hexdigest()
        found.append(row._replace(sequence=number, seal=seal))
    return found


def _write(file: Path, key: int, rows: list[Row]) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM mislid_events WHERE key = ?", (key,))
        connection.executemany(
            "INSERT INTO mislid_events VALUES (?, ?, ?, ?, ?, ?)", [(key, *row) for row in rows]
        )
        connection.execute(
            "UPDATE mislid_studies SET last = ?, summary = NULL WHERE key = ?", (len(rows), key)
        )


def intact(rows: list[Row]) -> list[Row]:
    """Keeps every promise."""
    return rows


def losing(rows: list[Row]) -> list[Row]:
    """Forgets a tell that it has just acknowledged."""
    return rows[:-1] if rows[-1].kind == "told" else rows


def doubling(rows: list[Row]) -> list[Row]:
    """Has a tell twice."""
    return [*rows, rows[-1]] if rows[-1].kind == "told" else rows


def doubling_observations(rows: list[Row]) -> list[Row]:
    """Has measurements without a key twice, which no reader can notice."""
    (last,) = rows[-1:]
    return [*rows, last] if last.kind == "observed" and '"~' in last.body else rows


def reordering(rows: list[Row]) -> list[Row]:
    """Has two tells of which the first was acknowledged before the second began, in turn."""
    *before, one, other = rows
    return [*before, other, one] if one.kind == other.kind == "told" else rows


def inventing(rows: list[Row]) -> list[Row]:
    """Adds a measurement that no client made."""
    body = '{"arms":[0],"values":[0.125]}'
    return [*rows, rows[-1]._replace(kind="observed", body=body)]


def changing(rows: list[Row]) -> list[Row]:
    """Changes the value of a tell."""
    last = rows[-1]
    body = last.body.partition('"value":')[0] + '"value":0.5}'
    return [*rows[:-1], last._replace(body=body)] if last.kind == "told" else rows
