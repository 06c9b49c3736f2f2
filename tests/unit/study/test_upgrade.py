"""A storage of an older release becomes one of this release, or stays as it was."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np
import pytest
import sqlalchemy as sa

import mislid
from helpers import schema_1
from helpers.postgresql import Server
from mislid.errors import (
    CorruptStorageError,
    FullStorageError,
    LockedStorageError,
    ProblemError,
    SchemaVersionError,
    StorageError,
)
from mislid.study import Study
from mislid.study.events import Entry, entry_of
from mislid.study.storage import MemoryStorage, as_storage, upgrade
from mislid.study.storage.database import Database


def decided_study() -> Study:
    study = mislid.create_study(candidates=["a", "b", "ü"], m=1, noise=0.1)
    value = {"a": 0.2, "b": 0.9, "ü": 0.4}
    study.tell(study.ask(worker="lab", lease=60), state="fail")
    study.optimize(lambda trial: value[trial.arm])
    study.ask(2)
    return study


def written(study: Study) -> list[Entry]:
    return [entry_of(event) for event in study.events()]


class Old(NamedTuple):
    """A storage of version 1 with two studies."""

    address: str
    study: Study
    file: Path | None


@pytest.fixture
def old_file(tmp_path: Path) -> Old:
    file, study = tmp_path / "lab.db", decided_study()
    address = f"sqlite:///{file}"
    schema_1.write(address, {"done": written(study), "begun": written(study)[:9]})
    return Old(address, study, file)


@pytest.fixture
def old_tables(postgresql: Server) -> Old:
    address, study = postgresql.new_schema(), decided_study()
    schema_1.write(address, {"done": written(study), "begun": written(study)[:9]})
    return Old(address, study, None)


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest) -> Iterator[Old]:
    name = "old_file" if request.param == "sqlite" else "old_tables"
    return request.getfixturevalue(name)


@contextmanager
def connected(address: str) -> Iterator[sa.Connection]:
    """A transaction, whatever the version."""
    database = Database(address.replace("postgresql", "postgresql+psycopg", 1))
    with database.connected(writing=True) as connection:
        yield connection
    database.engine.dispose()


def entries_of(address: str) -> dict[str, list[Entry]]:
    with connected(address) as connection:
        rows = connection.execute(
            sa.text(
                "SELECT name, sequence, time, kind, body FROM mislid_events JOIN mislid_studies "
                "ON mislid_events.key = mislid_studies.key ORDER BY name, sequence"
            )
        ).all()
    found: dict[str, list[Entry]] = {}
    for name, *entry in rows:
        found.setdefault(name, []).append(Entry(*entry))
    return found


def version_at(address: str) -> int:
    with connected(address) as connection:
        return int(connection.execute(sa.text("SELECT version FROM mislid_schema")).scalar_one())


def test_an_older_storage_is_refused_and_named_the_way(old: Old) -> None:
    with pytest.raises(SchemaVersionError) as caught:
        mislid.load_study(study_name="done", storage=old.address)
    assert "has schema version 1, older than the 3 of mislid" in str(caught.value)
    assert "with mislid study upgrade --storage " in str(caught.value)


def test_studies_go_on_after_an_upgrade(old: Old) -> None:
    before = entries_of(old.address)
    report = mislid.upgrade_storage(old.address)
    assert (report.before, report.after, report.changed) == (1, 3, True)
    assert report.to_dict()["backup"] == report.backup
    assert entries_of(old.address) == before
    storage = as_storage(old.address)
    study = mislid.load_study(study_name="done", storage=storage)
    assert study.events() == old.study.events()
    assert study.result == old.study.result
    assert [line.observations for line in mislid.list_studies(storage=storage)] == [
        mislid.load_study(study_name="begun", storage=storage).samples,
        old.study.samples,
    ]
    assert study.ask().arm == old.study.ask().arm
    again = mislid.upgrade_storage(old.address)
    assert (again.before, again.after, again.backup, again.changed) == (3, 3, None, False)
    storage.close()


def test_an_upgrade_seals_what_is_there(old: Old) -> None:
    mislid.upgrade_storage(old.address)
    for name in ("done", "begun"):
        assert mislid.check_study(study_name=name, storage=old.address)
    study = mislid.load_study(study_name="done", storage=old.address)
    assert study.overview().fingerprint == old.study.overview().fingerprint
    study._storage.close()


def test_the_backup_of_a_file_is_the_old_storage(old_file: Old, tmp_path: Path) -> None:
    before = entries_of(old_file.address)
    old_file.file.chmod(0o640)
    report = mislid.upgrade_storage(old_file.file)
    assert report.backup == f"{old_file.file}.v1-backup"
    assert Path(report.backup).stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir() if "backup" in path.name) == [
        "lab.db.v1-backup"
    ]
    assert version_at(f"sqlite:///{report.backup}") == 1
    assert entries_of(f"sqlite:///{report.backup}") == before
    # One that is put back can be upgraded again.
    shutil.copy(report.backup, tmp_path / "again.db")
    assert mislid.upgrade_storage(tmp_path / "again.db").changed


def test_what_is_not_yet_in_the_file_itself_is_backed_up(old_file: Old, tmp_path: Path) -> None:
    """Writes go to a second file first; while someone has it open, they may be there only."""
    with closing(sqlite3.connect(old_file.file)) as other:
        other.execute("PRAGMA wal_autocheckpoint = 0")
        other.execute("UPDATE mislid_studies SET name = 'renamed' WHERE name = 'done'")
        other.commit()
        report = mislid.upgrade_storage(old_file.file, backup=tmp_path / "kept.db")
    assert report.backup == str(tmp_path / "kept.db")
    assert sorted(entries_of(f"sqlite:///{report.backup}")) == ["begun", "renamed"]


def test_the_backup_of_tables_is_a_schema(old_tables: Old) -> None:
    before = entries_of(old_tables.address)
    report = mislid.upgrade_storage(old_tables.address)
    assert report.backup.startswith("mislid_backup_v1_2")
    kept = old_tables.address.rpartition("%3D")[0] + "%3D" + report.backup
    assert version_at(kept) == 1
    assert entries_of(kept) == before
    # The way back that is documented.
    tables = ("mislid_schema", "mislid_studies", "mislid_events")
    with connected(old_tables.address) as connection:
        for table in reversed(tables):
            connection.execute(sa.text(f"DELETE FROM {table}"))
        connection.execute(sa.text("ALTER TABLE mislid_studies DROP COLUMN summary"))
        connection.execute(sa.text("ALTER TABLE mislid_events DROP COLUMN seal"))
        for table in tables:
            connection.execute(
                sa.text(f"INSERT INTO {table} SELECT * FROM {report.backup}.{table}")
            )
    assert version_at(old_tables.address) == 1
    assert mislid.upgrade_storage(old_tables.address, backup="mislid_second").changed
    assert entries_of(old_tables.address) == before


def test_a_backup_is_never_overwritten(old: Old, tmp_path: Path) -> None:
    name = "mislid_kept"
    if old.file is not None:
        name = str(tmp_path / "kept.db")
        Path(name).write_text("mine")
    else:
        with connected(old.address) as connection:
            connection.execute(sa.text(f"CREATE SCHEMA {name}"))
    with pytest.raises(ProblemError, match=f"backup must be new; got '{name}'"):
        mislid.upgrade_storage(old.address, backup=name)
    assert version_at(old.address) == 1
    assert old.file is None or Path(name).read_text() == "mine"


def test_storages_of_one_database_are_upgraded_in_the_same_second(
    postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade.time, "strftime", lambda *_: "now")
    backups = []
    for _ in range(3):
        address = postgresql.new_schema()
        schema_1.write(address, {})
        backups.append(mislid.upgrade_storage(address).backup)
    first = "mislid_backup_v1_now"
    assert backups == [first, f"{first}_2", f"{first}_3"]


def test_a_disk_without_room_for_the_backup(
    old_file: Old, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(upgrade.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(FullStorageError, match=r"and 1000 are free: make room, or give a backup"):
        mislid.upgrade_storage(old_file.file)
    assert version_at(old_file.address) == 1
    assert not [path for path in tmp_path.iterdir() if "backup" in path.name]


def test_a_backup_in_no_directory(old_file: Old, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"backup must be in a directory .*No such file"):
        mislid.upgrade_storage(old_file.file, backup=tmp_path / "no" / "kept.db")


def test_a_name_that_no_schema_has(old_tables: Old) -> None:
    with pytest.raises(ProblemError, match="backup must be the name of a new schema"):
        mislid.upgrade_storage(old_tables.address, backup='x"; DROP TABLE mislid_events; --')


def test_a_step_that_loses_an_event_is_undone(old: Old, monkeypatch: pytest.MonkeyPatch) -> None:
    before = entries_of(old.address)
    losing = sa.text("DELETE FROM mislid_events WHERE sequence = 3")
    monkeypatch.setitem(upgrade._STEPS, 1, lambda connection: connection.execute(losing))
    with pytest.raises(CorruptStorageError, match="nothing is kept"):
        mislid.upgrade_storage(old.address)
    assert version_at(old.address) == 1
    assert entries_of(old.address) == before


def test_a_damaged_file_is_not_touched(old_file: Old, tmp_path: Path) -> None:
    with closing(sqlite3.connect(old_file.file)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("PRAGMA writable_schema=1")
        other.execute(
            "DELETE FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_mislid_studies%'"
        )
        other.commit()
    with pytest.raises(CorruptStorageError, match="restore it"):
        mislid.upgrade_storage(old_file.file)
    assert not [path for path in tmp_path.iterdir() if "backup" in path.name]


def test_an_upgrade_waits_for_writers(old_file: Old, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Database.__init__.__kwdefaults__, "timeout", 0.1)
    with closing(sqlite3.connect(old_file.file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedStorageError, match="held by another process"):
            mislid.upgrade_storage(old_file.file)


def test_what_cannot_be_upgraded(tmp_path: Path, old_file: Old) -> None:
    with pytest.raises(StorageError, match="is not there: check the address"):
        mislid.upgrade_storage(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "empty.db").touch()
    with pytest.raises(StorageError, match="holds no studies"):
        mislid.upgrade_storage(tmp_path / "empty.db")
    with pytest.raises(ProblemError, match="one that is open is up to date"):
        mislid.upgrade_storage(MemoryStorage())  # type: ignore[arg-type]
    for version, message in ((4, "newer than the 3 .* upgrade mislid"), (0, "which no upgrade")):
        with closing(sqlite3.connect(old_file.file, isolation_level=None)) as other:
            other.execute("UPDATE mislid_schema SET version = ?", (version,))
        with pytest.raises(SchemaVersionError, match=message):
            mislid.upgrade_storage(old_file.file)


def killed_at(file: Path, moment: int) -> int:
    """Upgrade in a process that is killed after so many steps; gives how many there were."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        steps = 0

        def count(frame: FrameType, _event: str, _argument: object) -> None:
            nonlocal steps
            if frame.f_code.co_filename.endswith("upgrade.py"):
                steps += 1
                if steps == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        mislid.upgrade_storage(file)
        sys.setprofile(None)
        os.write(write, str(steps).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as steps_of:
        return int(steps_of.read() or 0)


def test_killed_at_any_moment_it_can_be_run_again(tmp_path: Path) -> None:
    """And leaves no files but the backup."""
    study = decided_study()

    def old(name: str) -> Path:
        (tmp_path / name).mkdir()
        file = tmp_path / name / "lab.db"
        schema_1.write(f"sqlite:///{file}", {"done": written(study)})
        return file

    steps = killed_at(old("whole"), 0)
    assert steps > 100
    for moment in np.linspace(1, steps - 1, 40).astype(int).tolist():
        file = old(str(moment))
        assert killed_at(file, moment) == 0
        report = mislid.upgrade_storage(file)
        assert report.backup in (None, f"{file}.v1-backup")
        assert mislid.check_study(study_name="done", storage=file).decision == "confirmed"
        found = {path.name for path in file.parent.iterdir()}
        assert found <= {"lab.db", "lab.db-wal", "lab.db-shm", "lab.db.v1-backup"}
        assert entries_of(f"sqlite:///{file}.v1-backup") == entries_of(f"sqlite:///{file}")


KILLED = """
import os, signal, sys
import mislid
from mislid.study.storage import upgrade
address, where = sys.argv[1:]
def dying(function):
    def call(*arguments):
        function(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)
    return call
if where == "step":
    upgrade._STEPS[1] = dying(upgrade._STEPS[1])
else:
    setattr(upgrade, where, dying(getattr(upgrade, where)))
mislid.upgrade_storage(address)
"""


@pytest.mark.parametrize("where", ["_digest", "_digest_of", "_name", "step", "set_version"])
def test_killed_in_the_middle_all_is_as_before(old: Old, where: str) -> None:
    if old.file is None and where == "_name":
        where = "_back_up_tables"
    before = entries_of(old.address)
    source = str(Path(mislid.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, old.address, where],
        env=os.environ | {"PYTHONPATH": source},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert version_at(old.address) == 1
    assert entries_of(old.address) == before
    assert mislid.upgrade_storage(old.address).changed
    assert entries_of(old.address) == before
