"""Writes studies as the first schema had them, with statements that never change."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from mislid.study.events import Entry

SQLITE = """
PRAGMA journal_mode=WAL;
CREATE TABLE mislid_schema (version INTEGER NOT NULL, written_by TEXT NOT NULL,
  PRIMARY KEY (version));
CREATE TABLE mislid_studies ("key" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
  last INTEGER NOT NULL, UNIQUE (name));
CREATE TABLE mislid_events ("key" INTEGER NOT NULL, sequence INTEGER NOT NULL, time DOUBLE NOT NULL,
  kind TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY ("key", sequence),
  FOREIGN KEY("key") REFERENCES mislid_studies ("key"));
INSERT INTO mislid_schema VALUES (1, 'mislid 0.1.0');
"""
POSTGRESQL = """
CREATE TABLE mislid_schema (version SERIAL NOT NULL, written_by TEXT NOT NULL,
  PRIMARY KEY (version));
CREATE TABLE mislid_studies (key SERIAL NOT NULL, name TEXT NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (key), UNIQUE (name));
CREATE TABLE mislid_events (key INTEGER NOT NULL, sequence INTEGER NOT NULL,
  time DOUBLE PRECISION NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (key, sequence), FOREIGN KEY(key) REFERENCES mislid_studies (key));
INSERT INTO mislid_schema VALUES (1, 'mislid 0.1.0');
"""
STUDY = "INSERT INTO mislid_studies (name, last) VALUES ({0}, {0}) RETURNING key"
EVENT = (
    "INSERT INTO mislid_events (key, sequence, time, kind, body) VALUES ({0}, {0}, {0}, {0}, {0})"
)


def write(address: str, studies: Mapping[str, Sequence[Entry]]) -> None:
    """Make a storage of version 1 with these studies."""
    if address.startswith("sqlite:///"):
        file = Path(address.removeprefix("sqlite:///"))
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(SQLITE)
            _fill(connection, "?", studies)
        return
    import psycopg

    with psycopg.connect(address) as connection:
        connection.execute(POSTGRESQL)
        _fill(connection, "%s", studies)


def _fill(connection, mark: str, studies: Mapping[str, Sequence[Entry]]) -> None:
    for name, entries in studies.items():
        key = connection.execute(STUDY.format(mark), (name, len(entries))).fetchone()[0]
        for entry in entries:
            row = (key, entry.sequence, entry.time, entry.kind, entry.body)
            connection.execute(EVENT.format(mark), row)
    connection.commit()
