"""Files that vanish, and writers that starve or sleep."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mislid
from helpers.postgresql import Server
from mislid.errors import StorageError
from mislid.study import Study

SOURCE = str(Path(mislid.__file__).parents[1])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


@pytest.fixture
def study(file: Path) -> Iterator[Study]:
    study = mislid.create_study(
        study_name="s", candidates=list("abc"), m=1, noise=1.0, storage=file
    )
    study.tell(study.ask(), 0.5)
    yield study
    study._session.storage.close()


class TestVanished:
    def test_a_deleted_file_is_noticed_at_the_next_tell(self, study: Study, file: Path) -> None:
        trial = study.ask()
        file.unlink()
        for _ in range(2):
            with pytest.raises(StorageError, match=r"lab.db' was deleted or moved\. What was"):
                study.tell(trial, 0.5)
        assert not file.exists()

    def test_a_deleted_log_that_is_written_ahead(self, study: Study, file: Path) -> None:
        trial = study.ask()
        Path(f"{file}-wal").unlink()
        with pytest.raises(StorageError, match=r"lab.db-wal' was deleted or moved"):
            study.tell(trial, 0.5)

    def test_a_file_that_another_one_took_the_place_of(
        self, study: Study, file: Path, tmp_path: Path
    ) -> None:
        mislid.copy_study(
            from_study_name="s",
            from_storage=study._session.storage,
            to_storage=tmp_path / "other.db",
        )
        (tmp_path / "other.db").replace(file)
        with pytest.raises(StorageError, match="was replaced"):
            study.ask()


HOLD = """
import sys, mislid
study = mislid.load_study(study_name="s", storage=sys.argv[1])
study.samples
with study._session.storage.locked(study._session.key) as log:
    print("held", flush=True)
    sys.stdin.readline()
print("done", flush=True)
"""


class TestSleepers:
    def test_a_process_that_was_stopped_in_a_transaction(
        self, postgresql: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The server ends its transaction, and the others go on."""
        address = postgresql.new_schema()
        study = mislid.create_study(
            study_name="s", candidates=list("abc"), m=1, noise=1.0, storage=address
        )
        held = HOLD.replace("import sys, mislid", SHORT)
        process = subprocess.Popen(
            [sys.executable, "-c", held, address],
            env=os.environ | {"PYTHONPATH": SOURCE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout.readline() == "held\n"
            process.send_signal(signal.SIGSTOP)
            begin = time.monotonic()
            study.tell(study.ask(), 0.5)
            assert time.monotonic() - begin < 20
            process.send_signal(signal.SIGCONT)
            _, errors = process.communicate("\n", timeout=30)
            assert "undid a transaction because of another one" in errors
        finally:
            process.kill()
            process.wait()
            study._session.storage.close()


SHORT = "import sys, mislid; from mislid.study.storage import database; database.IDLE = 1.0"
