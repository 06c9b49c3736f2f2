"""A database that does not do its work: one sentence, with a way out."""

import os
import sqlite3
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

import mislid
from helpers.postgresql import Server
from mislid.errors import (
    CorruptStorageError,
    FullStorageError,
    LockedStorageError,
    ReadOnlyStorageError,
    StorageError,
)
from mislid.study import Study
from mislid.study.events import Entry
from mislid.study.session import Session
from mislid.study.storage import Collision, as_storage
from mislid.study.storage.database import translated
from mislid.study.storage.sql import SQLStorage

ONE = [Entry(1, 0.0, "told", "{}", "seal")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


@pytest.fixture
def storage(file: Path) -> SQLStorage:
    return SQLStorage(f"sqlite:///{file}", timeout=0.1)


def connected(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file, isolation_level=None)


def set_version(file: Path, statement: str) -> None:
    other = connected(file)
    other.execute(statement)
    other.close()


@pytest.mark.parametrize(
    ("statement", "version"),
    [
        ("UPDATE mislid_schema SET version = 99, written_by = 'mislid 9.9'", "99, of mislid 9.9"),
        ("UPDATE mislid_schema SET version = 1", "1, of mislid"),
        ("DELETE FROM mislid_schema", "0, of an unknown release"),
    ],
)
def test_another_schema_is_refused(
    storage: SQLStorage, file: Path, statement: str, version: str
) -> None:
    storage.close()
    set_version(file, statement)
    with pytest.raises(StorageError, match=f"has schema version {version}.*the release that"):
        as_storage(file)


def test_a_file_that_is_no_database(file: Path) -> None:
    file.write_bytes(b"arm,value\n" * 500)
    with pytest.raises(CorruptStorageError, match="damaged or no database: restore it"):
        as_storage(file)
    assert file.read_bytes() == b"arm,value\n" * 500


def test_a_damaged_file(storage: SQLStorage, file: Path) -> None:
    key = storage.create("first", [Entry(k, 0.0, "told", "x" * 500, "seal") for k in range(1, 100)])
    storage.close()
    content = bytearray(file.read_bytes())
    content[8192:] = os.urandom(len(content) - 8192)
    file.write_bytes(content)
    with pytest.raises(CorruptStorageError, match="damaged"):
        as_storage(file).read(key)


def test_a_database_that_someone_else_holds(storage: SQLStorage, file: Path) -> None:
    key = storage.create("first", ONE)
    other = connected(file)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LockedStorageError, match="held by another process for too long"):
        storage.create("second", ONE)
    with pytest.raises(LockedStorageError), storage.locked(key):
        pass
    assert storage.read(key) == ONE
    other.execute("COMMIT")
    other.close()
    storage.create("second", ONE)


def small_study(storage: SQLStorage) -> Study:
    return mislid.create_study(
        study_name="s", candidates=list("abc"), m=1, storage=storage, noise=1.0
    )


def test_a_study_goes_on_when_there_is_room_again(storage: SQLStorage) -> None:
    study = small_study(storage)
    trial = study.ask()
    rows = [("a", 0.5)] * 20_000
    pages = ["PRAGMA max_page_count = 1"]

    @sa.event.listens_for(storage._database.engine, "begin")
    def limit(connection: sa.Connection) -> None:
        connection.exec_driver_sql(pages[0])

    with pytest.raises(FullStorageError, match="no room left, and nothing was added"):
        study.add_observations(rows)
    assert study.samples == 0
    pages[0] = "PRAGMA max_page_count = 1000000"
    study.tell(trial, 0.5)
    study.add_observations(rows)
    again = Study(Session("s", study._session.key, storage))
    assert again.samples == 20_001
    assert again.ask().arm == study.pending[-1].arm


def test_a_forked_process_leaves_its_parents_connections_alone(storage: SQLStorage) -> None:
    key = storage.create("first", ONE)
    inherited = storage._database.engine.pool
    storage._database._process = -1
    assert storage.read(key) == ONE
    assert storage._database.engine.pool is not inherited
    assert storage._database._process == os.getpid()
    inherited.dispose()


def test_a_row_that_someone_else_holds(postgresql: Server) -> None:
    address = postgresql.new_schema().replace("postgresql", "postgresql+psycopg", 1)
    first, second = (SQLStorage(address, timeout=0.2) for _ in range(2))
    key, other = first.create("first", ONE), first.create("second", ONE)
    with first.locked(key):
        with second.locked(other) as log:  # another study can be written to meanwhile
            log.append([Entry(2, 0.0, "told", "{}", "seal")])
        with pytest.raises(LockedStorageError, match="held by another process"), second.locked(key):
            pass
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("40001", Collision),
        ("40P01", Collision),
        ("53100", FullStorageError),
        ("25006", ReadOnlyStorageError),
        ("XX001", CorruptStorageError),
        ("57P01", StorageError),
        ("42P01", StorageError),
    ],
)
def test_what_a_server_may_complain_about(state: str, kind: type[StorageError]) -> None:
    class Complaint(Exception):
        sqlstate = state

    with pytest.raises(StorageError) as caught, translated("here"):
        raise sa.exc.DBAPIError("SELECT 1", {}, Complaint("no\nDETAIL: more"))
    assert type(caught.value) is kind
    assert str(caught.value).startswith("storage 'here' ")
    assert str(caught.value).endswith(" (no)")


def test_time_is_that_of_the_server(postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose clock is years ahead does not date what it writes."""
    study = small_study(as_storage(postgresql.new_schema()))
    before = time.time()
    monkeypatch.setattr(time, "time", lambda: before + 1e9)
    study.ask(lease=60)
    (event,) = study.events()[1:]
    assert abs(event.time - before) < 60
    study._session.storage.close()
