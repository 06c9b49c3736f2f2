"""Databases that come from others, and messages that others may read."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

import mislid
from helpers.postgresql import Server
from helpers.rows import rows_of
from mislid._formatting import without_password
from mislid.errors import CorruptStorageError, FullStorageError, MislidError
from mislid.study.events import Entry
from mislid.study.storage import as_storage, database


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "lab.db"
    study = mislid.create_study(
        study_name="s", candidates=list("abc"), m=1, noise=1.0, storage=file
    )
    for trial in study.ask(20):
        study.tell(trial, 0.1 * trial.id)
    study._session.storage.close()
    return file


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (
            "CREATE TRIGGER sly AFTER INSERT ON mislid_events BEGIN DELETE FROM mislid_events; END",
            "a trigger, 'sly'",
        ),
        ("CREATE VIEW sly AS SELECT * FROM mislid_events", "a view, 'sly'"),
        (
            """ALTER TABLE mislid_events RENAME TO kept;
            CREATE VIEW mislid_events AS SELECT * FROM kept""",
            "a view, 'mislid_events'",
        ),
    ],
)
def test_triggers_and_views_are_refused(file: Path, statement: str, kind: str) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.executescript(statement)
    with pytest.raises(CorruptStorageError, match=f"has {kind}, which no study made"):
        mislid.load_study(storage=file)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (
            """CREATE FUNCTION sly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER sly BEFORE INSERT ON mislid_events FOR EACH ROW EXECUTE FUNCTION sly()
            """,
            "a trigger, 'sly'",
        ),
        ("CREATE RULE sly AS ON DELETE TO mislid_studies DO INSTEAD NOTHING", "a rule, 'sly'"),
        (
            """ALTER TABLE mislid_events RENAME TO kept;
            CREATE VIEW mislid_events AS SELECT * FROM kept""",
            "a (rule|view), ",
        ),
    ],
)
def test_triggers_rules_and_views_of_a_server(
    postgresql: Server, statement: str, kind: str
) -> None:
    address = postgresql.new_schema()
    storage = as_storage(address)
    with storage._database.connected(writing=True) as connection:
        connection.execute(sa.text(statement))
    storage.close()
    with pytest.raises(CorruptStorageError, match=f"has {kind}"):
        as_storage(address)


def test_a_file_calls_nothing_by_itself(file: Path) -> None:
    storage = as_storage(file)
    with storage._database.connected() as connection:
        assert connection.exec_driver_sql("PRAGMA trusted_schema").scalar() == 0
        assert connection.exec_driver_sql("PRAGMA cell_size_check").scalar() == 1
    storage.close()


def test_values_are_limited(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LONGEST", 10_000)
    storage = as_storage(file)
    with pytest.raises(FullStorageError, match="add observations in several calls"):
        storage.create("t", [Entry(1, 0.0, "created", "x" * 20_000, "seal")])
    storage.close()


def test_damage_that_reading_would_not_show(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("PRAGMA writable_schema=1")
        other.execute(
            "DELETE FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_mislid_studies%'"
        )
        other.commit()
    with pytest.raises(CorruptStorageError, match="damaged"):
        as_storage(file)


def test_damaged_files_end_in_a_sentence(file: Path, tmp_path: Path) -> None:
    """Whatever bytes are wrong: read as they were, or refused, and never a raw error."""
    whole, rng, refused = file.read_bytes(), random.Random(1), 0
    for number in range(150):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 10, 100])):
            at = rng.randrange(len(content)) if rng.random() < 0.6 else rng.randrange(200)
            content[at] = rng.randrange(256)
        damaged = tmp_path / f"{number}.db"
        damaged.write_bytes(content[: rng.randrange(len(content))] if number % 5 == 0 else content)
        try:
            storage = as_storage(damaged)
            study = mislid.load_study(study_name="s", storage=storage)
            assert [row.value for row in rows_of(study)] == [0.1 * k for k in range(20)]
            storage.close()
        except MislidError:
            refused += 1
    assert refused > 50


SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:{}@127.0.0.1:1/lab?connect_timeout=2",
        "postgresql://me@127.0.0.1:1/lab?password={}&connect_timeout=2",
        "postgresql://me:x@127.0.0.1:1/lab?connect_timeout=2&sslpassword={}",
        "postgresql://127.0.0.1:1/lab?user=me&PASSWORD={}&connect_timeout=2",
        "postgresql://me:{}@[::1/lab",
        "postgresql://me:a/{}@127.0.0.1:1/lab?connect_timeout=2",
        "mysql://me:{}@host/lab",
        "postgresql://me:{}@127.0.0.1:port/lab",
    ],
)
def test_no_message_has_a_password(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    from mislid.cli import main

    assert SECRET not in without_password(address.format(SECRET))
    assert main(["study", "list", "--storage", address.format(SECRET)]) == 1
    out, err = capsys.readouterr()
    assert SECRET not in out + err
    assert "Traceback" not in err
