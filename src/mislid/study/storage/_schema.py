"""The tables in which a database keeps studies, and their version."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

import mislid
from mislid.errors import SchemaVersionError
from mislid.study.storage._database import Database
from mislid.study.storage._sql_errors import translated

# Version 1 had no summaries. `_upgrade` has the way from each to the next.
VERSION = 2
# A number that PostgreSQL's sessions agree on while they make or change the tables.
_CHANGING_TABLES = 20_211_206

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
    sqlite_autoincrement=True,  # a deleted study's key is not given again
)
EVENTS = sa.Table(
    "mislid_events",
    METADATA,
    sa.Column("key", sa.Integer, sa.ForeignKey("mislid_studies.key"), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)


def ensure_tables(database: Database) -> None:
    """Make the tables where they are missing; refuse those of another version."""
    with translated(database.place):
        missing = not sa.inspect(database.engine).has_table(SCHEMA.name)
    if missing:
        _make_tables(database)
    with database.connected() as connection:
        version, writer = version_of(connection)
    refuse_newer(database, version, writer)
    if version < VERSION:
        raise SchemaVersionError(
            f"storage {database.place!r} has schema version {version}, older than the {VERSION} of "
            f"{_release()}: upgrade it, which backs it up first, with mislid study upgrade "
            f"--storage {database.place}"
        )


def version_of(connection: Connection) -> tuple[int, str]:
    """The version and the release that made the tables; 0 where they do not say."""
    rows = connection.execute(sa.select(SCHEMA)).all()
    return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "an unknown release")


def refuse_newer(database: Database, version: int, writer: str) -> None:
    """Refuse what only a later release understands."""
    if version > VERSION:
        raise SchemaVersionError(
            f"storage {database.place!r} has schema version {version}, newer than the {VERSION} of "
            f"{_release()}: upgrade mislid (pip install --upgrade mislid) to {writer} or later"
        )


def set_version(connection: Connection) -> None:
    """Say that the tables are as they are here."""
    connection.execute(SCHEMA.delete())
    connection.execute(SCHEMA.insert().values(version=VERSION, written_by=_release()))


def keep_others_out(database: Database, connection: Connection) -> None:
    """Let nobody else make or change the tables in the meantime; SQLite has one writer anyway."""
    if not database.is_sqlite:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CHANGING_TABLES)))


def _make_tables(database: Database) -> None:
    if database.is_sqlite:
        database.write_ahead()
    with database.connected(writing=True) as connection:
        keep_others_out(database, connection)
        if sa.inspect(connection).has_table(SCHEMA.name):
            return  # another process was faster
        METADATA.create_all(connection)
        set_version(connection)


def _release() -> str:
    return f"mislid {mislid.__version__}"
