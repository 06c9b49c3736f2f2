"""From the tables of an older release to those of this one: back up, change, compare, keep.

All of it is one transaction that keeps writers out: whoever is killed leaves the old tables or the
new ones.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from mislid.errors import (
    CorruptStorageError,
    FullStorageError,
    ProblemError,
    SchemaVersionError,
    StorageError,
)
from mislid.study.events import Chain, Entry
from mislid.study.storage.database import Database
from mislid.study.storage.interface import UpgradeReport
from mislid.study.storage.sql import (
    EVENTS,
    SCHEMA,
    STUDIES,
    VERSION,
    keep_others_out,
    refuse_newer,
    set_version,
    version_of,
)
from mislid.study.storage.trust import TABLES, refuse_strange


def _add_summaries(connection: Connection) -> None:
    """From version 1 to 2. Where there is none, a list of studies reads the log."""
    connection.execute(sa.text("ALTER TABLE mislid_studies ADD COLUMN summary TEXT"))


def _add_seals(connection: Connection) -> None:
    """From version 2 to 3: seal what is there, as it is."""
    connection.execute(
        sa.text("ALTER TABLE mislid_events ADD COLUMN seal TEXT NOT NULL DEFAULT ''")
    )
    columns = EVENTS.c.key, EVENTS.c.sequence, EVENTS.c.time, EVENTS.c.kind, EVENTS.c.body
    place = (EVENTS.c.key == sa.bindparam("of_key"), EVENTS.c.sequence == sa.bindparam("of"))
    writing = EVENTS.update().where(*place).values(seal=sa.bindparam("new"))
    for (key,) in connection.execute(sa.select(STUDIES.c.key)).all():
        wanted = sa.select(*columns[1:]).where(EVENTS.c.key == key).order_by(EVENTS.c.sequence)
        chain, after = Chain(), 0
        while rows := connection.execute(
            wanted.where(EVENTS.c.sequence > after).limit(_AT_ONCE)
        ).all():
            sealed = chain.seal([Entry(*row) for row in rows])
            new = [{"of_key": key, "of": one.sequence, "new": one.seal} for one in sealed]
            connection.execute(writing, new)
            after = chain.sequence


# Entries that are sealed at once.
_AT_ONCE = 10_000
_STEPS: dict[int, Callable[[Connection], None]] = {1: _add_summaries, 2: _add_seals}


def upgrade(database: Database, backup: str | None) -> UpgradeReport:
    """Bring the tables up to date."""
    file = database.file
    if file is not None and not file.is_file():
        raise StorageError(f"storage {database.place!r} is not there: check the address")
    refuse_strange(database)
    with database.connected(writing=True) as connection:
        keep_others_out(database, connection)
        version = _known_version(database, connection)
        if version == VERSION:
            return UpgradeReport(database.place, version, VERSION, None, changed=False)
        _check_file(database, connection)
        _lock_tables(database, connection)
        before = _digest(connection)
        if file is not None:
            kept = _back_up_file(file, Path(backup or f"{file}.v{version}-backup"), before)
        else:
            kept = _back_up_tables(connection, backup or _new_schema(connection, version), before)
        for step in range(version, VERSION):
            _STEPS[step](connection)
        set_version(connection)
        _check_file(database, connection)
        if _digest(connection) != before:
            raise CorruptStorageError(f"storage {database.place!r} was changed, so nothing is kept")
    return UpgradeReport(database.place, version, VERSION, kept, changed=True)


def _known_version(database: Database, connection: Connection) -> int:
    if not sa.inspect(connection).has_table(SCHEMA.name):
        raise StorageError(f"storage {database.place!r} holds no studies: check the address")
    version, writer = version_of(connection)
    refuse_newer(database, version, writer)
    if version != VERSION and version not in _STEPS:
        raise SchemaVersionError(
            f"storage {database.place!r} has schema version {version}, which no upgrade begins "
            f"with (but {', '.join(map(str, _STEPS))}): open it with the release that wrote it, "
            f"{writer}"
        )
    return version


def _digest(connection: Connection, schema: str | None = None) -> str:
    """Of all studies and events."""
    options: dict[str, Any] = {"yield_per": 1_000, "schema_translate_map": {None: schema}}
    return _digest_of(
        connection.execute(wanted, execution_options=options) for wanted in _everything()
    )


def _everything() -> Iterator[sa.Select[Any]]:
    """What every version has."""
    yield sa.select(STUDIES.c.key, STUDIES.c.name, STUDIES.c.last).order_by(STUDIES.c.key)
    columns = EVENTS.c.key, EVENTS.c.sequence, EVENTS.c.time, EVENTS.c.kind, EVENTS.c.body
    yield sa.select(*columns).order_by(EVENTS.c.key, EVENTS.c.sequence)


def _digest_of(parts: Any) -> str:
    digest = hashlib.sha256()
    for rows in parts:
        for row in rows:
            digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()


def _back_up_file(file: Path, backup: Path, digest: str) -> str:
    """Copy the file, without a gap for writers: the transaction around this has changed nothing."""
    _remove_begun(backup)
    if backup.exists():
        if not _is_copy(backup, digest):
            raise _backup_exists_error(str(backup))
        return str(backup)  # of an upgrade that was killed
    with _new_file(file, backup) as begun:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(begun)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")  # one file is all of it
            if _digest_in(target) != digest:
                raise CorruptStorageError(f"the copy {str(backup)!r} is not what was copied")
        shutil.copymode(file, begun)
        with begun.open("rb") as written:
            os.fsync(written.fileno())
        _name(begun, backup)
    return str(backup)


def _digest_in(target: sqlite3.Connection) -> str:
    return _digest_of(target.execute(str(wanted.compile())) for wanted in _everything())


def _is_copy(backup: Path, digest: str) -> bool:
    """Whether a file has the same studies and events."""
    try:
        with closing(sqlite3.connect(f"{backup.absolute().as_uri()}?mode=ro", uri=True)) as found:
            return _digest_in(found) == digest
    except sqlite3.Error:
        return False


def _remove_begun(backup: Path) -> None:
    """Remove what upgrades left that were killed: none goes on while this one has the lock."""
    begun = re.compile(rf"\.{re.escape(backup.name)}\.\w{{8}}(-journal|-wal|-shm)?")
    if backup.parent.is_dir():
        for path in backup.parent.iterdir():
            if begun.fullmatch(path.name):
                path.unlink(missing_ok=True)


def _name(begun: Path, backup: Path) -> None:
    """Give a file its name, unless there is such a file."""
    try:
        os.link(begun, backup)
    except FileExistsError:
        raise _backup_exists_error(str(backup)) from None
    except OSError:  # a file system without links
        begun.rename(backup)


@contextmanager
def _new_file(file: Path, backup: Path) -> Iterator[Path]:
    """An empty file beside the backup, removed in the end; refuses a disk without room for it."""
    needed = sum(part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.exists())
    try:
        free = shutil.disk_usage(backup.parent).free
        handle, name = tempfile.mkstemp(prefix=f".{backup.name}.", dir=backup.parent)
        os.close(handle)
    except OSError as problem:
        raise ProblemError(
            f"backup must be in a directory that can be written to; got {str(backup)!r} "
            f"({problem.strerror})"
        ) from None
    try:
        if free < 2 * needed:
            raise FullStorageError(
                f"the backup {str(backup)!r} and the upgrade may take {2 * needed} bytes, and "
                f"{free} are free: make room, or give a backup elsewhere"
            )
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _new_schema(connection: Connection, version: int) -> str:
    """A name that is free: one database may hold several storages, upgraded in the same second."""
    name = f"mislid_backup_v{version}_{time.strftime('%Y%m%d_%H%M%S', time.gmtime())}"
    taken = set(sa.inspect(connection).get_schema_names())
    others = (f"{name}_{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], others) if one not in taken)


def _back_up_tables(connection: Connection, backup: str, digest: str) -> str:
    """Copy the tables into a schema of their own."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", backup):
        raise ProblemError(
            "backup must be the name of a new schema, of letters, digits and underscores; "
            f"got {backup!r}"
        )
    if sa.inspect(connection).has_schema(backup):
        raise _backup_exists_error(backup)
    connection.execute(sa.text(f'CREATE SCHEMA "{backup}"'))
    for table in TABLES:
        connection.execute(sa.text(f'CREATE TABLE "{backup}".{table} AS TABLE {table}'))
    if _digest(connection, backup) != digest:
        raise CorruptStorageError(f"the copy in schema {backup!r} is not what was copied")
    return backup


def _backup_exists_error(backup: str) -> ProblemError:
    return ProblemError(
        f"backup must be new; got {backup!r}, which is there already: move it away, or give "
        "another name"
    )


def _lock_tables(database: Database, connection: Connection) -> None:
    """Wait for writers and keep them out; in SQLite the transaction began so."""
    if not database.is_sqlite:
        connection.execute(sa.text(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE"))


def _check_file(database: Database, connection: Connection) -> None:
    """Refuse a file with damages that reading alone would not show."""
    damage = database.damage(connection)
    if damage:
        raise CorruptStorageError(
            f"storage {database.place!r} was not changed: {damage}; restore it from a backup"
        )
