"""Refusal of databases with foreign triggers, rules or views, and of damaged files."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from mislid.errors import CorruptStorageError
from mislid.study.storage.database import Database

TABLES = ("mislid_schema", "mislid_studies", "mislid_events")
# Largest file, in bytes, that is checked when it is opened: the check reads the whole file. Larger
# files are only checked by `mislid study check`.
_QUICK = 64 * 2**20

_SQLITE = """
SELECT type, name FROM sqlite_master
WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL%'
"""
_POSTGRESQL = """
WITH ours AS (SELECT to_regclass(name) AS oid FROM unnest(CAST(:tables AS text[])) AS name)
SELECT 'trigger', tgname FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM ours)
UNION ALL SELECT 'rule', rulename FROM pg_rewrite WHERE ev_class IN (SELECT oid FROM ours)
UNION ALL SELECT 'view', relname FROM pg_class
WHERE relkind <> 'r' AND oid IN (SELECT oid FROM ours)
"""


def refuse_strange(database: Database) -> None:
    """Refuse triggers, rules and views on the studies' tables, and a damaged file."""
    with database.connected() as connection:
        for kind, name in connection.execute(_strange(database)).all():
            raise CorruptStorageError(
                f"storage {database.place!r} has a {kind}, {name!r}, which no study made and which "
                "could change what is read or written: drop it, or copy the studies elsewhere with "
                "the release that wrote them"
            )
        found = _quick_check(database, connection)
    if found != "ok":
        raise CorruptStorageError(
            f"storage {database.place!r} is damaged: restore it from a backup ({found})"
        )


def _strange(database: Database) -> Any:
    if database.is_sqlite:
        return sa.text(_SQLITE)
    return sa.text(_POSTGRESQL).bindparams(tables=list(TABLES))


def _quick_check(database: Database, connection: Connection) -> str:
    file = database.file
    if file is None or not file.is_file() or file.stat().st_size > _QUICK:
        return "ok"
    return str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
