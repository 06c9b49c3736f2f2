"""A database that does not do its work: one sentence, with a way out."""

import os
import sqlite3
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from mislid.errors import (
    CorruptStorageError,
    FullStorageError,
    LockedStorageError,
    MissingPackageError,
    ProblemError,
    ReadOnlyStorageError,
    SchemaVersionError,
    StorageError,
)
from mislid.study.events import Entry
from mislid.study.storage import Collision, as_storage
from mislid.study.storage._sql import SQLStorage
from mislid.study.storage._sql_errors import translated
from oracles.postgresql import Server

ONE = [Entry(1, 0.0, "told", "{}")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


@pytest.fixture
def storage(file: Path) -> SQLStorage:
    return SQLStorage(f"sqlite:///{file}", timeout=0.1)


def connected(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file, isolation_level=None)


@pytest.mark.parametrize(("version", "age"), [(0, "older"), (2, "newer")])
def test_another_schema_is_refused(storage: SQLStorage, file: Path, version: int, age: str) -> None:
    storage.close()
    other = connected(file)
    other.execute("UPDATE mislid_schema SET version = ?, written_by = 'mislid 9.9'", (version,))
    other.close()
    with pytest.raises(SchemaVersionError) as caught:
        as_storage(file)
    assert f"has schema version {version}, {age} than the 1 of mislid" in str(caught.value)
    assert str(caught.value).endswith("open it with the release that wrote it, mislid 9.9")


def test_a_schema_without_a_version_is_old(storage: SQLStorage, file: Path) -> None:
    storage.close()
    other = connected(file)
    other.execute("DELETE FROM mislid_schema")
    other.close()
    with pytest.raises(SchemaVersionError, match="version 0, older"):
        as_storage(file)


def test_a_file_that_is_no_database(file: Path) -> None:
    file.write_bytes(b"arm,value\n" * 500)
    with pytest.raises(CorruptStorageError, match="damaged or no database: restore it"):
        as_storage(file)
    assert file.read_bytes() == b"arm,value\n" * 500


def test_a_damaged_file(storage: SQLStorage, file: Path) -> None:
    key = storage.create("first", [Entry(k, 0.0, "told", "x" * 500) for k in range(1, 100)])
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


def test_a_database_that_is_held_while_tables_are_made(file: Path) -> None:
    other = connected(file)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LockedStorageError, match="held by another process"):
        SQLStorage(f"sqlite:///{file}", timeout=0.1)
    other.close()


def test_a_file_that_may_only_be_read(storage: SQLStorage, file: Path) -> None:
    key = storage.create("first", ONE)
    reader = SQLStorage(f"sqlite:///file:{file}?mode=ro&uri=true", timeout=0.1)
    assert reader.read(key) == ONE
    with pytest.raises(ReadOnlyStorageError, match="cannot be written to"):
        reader.create("second", ONE)
    reader.close()


@pytest.mark.skipif(os.access("/root", os.W_OK), reason="root may write everywhere")
def test_a_file_without_permission_to_write(storage: SQLStorage, file: Path) -> None:
    storage.create("first", ONE)
    storage.close()
    file.chmod(0o400)
    with pytest.raises(ReadOnlyStorageError, match="cannot be written to"):
        as_storage(file).create("second", ONE)


def test_a_full_disk_adds_nothing(storage: SQLStorage) -> None:
    key = storage.create("first", ONE)

    @sa.event.listens_for(storage._engine, "begin")
    def shrink(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    with (
        pytest.raises(FullStorageError, match="no room left, and nothing was added"),
        storage.locked(key) as log,
    ):
        log.append([Entry(2, 0.0, "told", "x" * 100_000)])
    assert storage.read(key) == ONE


def test_a_forked_process_leaves_its_parents_connections_alone(storage: SQLStorage) -> None:
    key = storage.create("first", ONE)
    inherited = storage._engine.pool
    storage._process = -1
    assert storage.read(key) == ONE
    assert storage._engine.pool is not inherited
    assert storage._process == os.getpid()
    inherited.dispose()


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="check the address, and that its directory exists"):
        as_storage(tmp_path / "no" / "lab.db")


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StorageError) as caught:
        as_storage("postgresql://me:secret@127.0.0.1:1/lab?connect_timeout=2")
    assert "cannot be opened: check the address" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_database_that_the_server_does_not_have(postgresql: Server) -> None:
    with pytest.raises(StorageError, match=r"check the address|create the database"):
        as_storage(postgresql.address.replace("/postgres", "/lab"))


def test_a_row_that_someone_else_holds(postgresql: Server) -> None:
    address = postgresql.new_schema().replace("postgresql", "postgresql+psycopg", 1)
    first, second = (SQLStorage(address, timeout=0.2) for _ in range(2))
    key, other = first.create("first", ONE), first.create("second", ONE)
    with first.locked(key):
        with second.locked(other) as log:  # another study can be written to meanwhile
            log.append([Entry(2, 0.0, "told", "{}")])
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


@pytest.mark.parametrize(
    "address", ["lab.db", "mysql://me@host/lab", "", "sqlite://", "sqlite:///:memory:", 3]
)
def test_other_addresses_are_refused(address: object) -> None:
    with pytest.raises(ProblemError, match="storage must"):
        as_storage(address)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "package", "extra"),
    [
        ("sqlite:///lab.db", "sqlalchemy", "study"),
        ("postgresql://me@host/lab", "psycopg", "postgresql"),
    ],
)
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, address: str, package: str, extra: str
) -> None:
    for name in list(sys.modules):
        if name.startswith("mislid.study.storage._sql"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"{package} \(pip install 'mislid\[{extra}\]'"):
        as_storage(address)
