"""`mislid study` in processes of its own: at the same time, killed, interrupted, in a terminal."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import mislid
from helpers.study_calls import COMPOUNDS, question

SOURCE = Path(mislid.__file__).parents[1]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(SOURCE),
    "MISLID_STORAGE": "lab.db",
    "OPENBLAS_NUM_THREADS": "1",
}
PATIENCE = 300


def words(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "mislid", "study", *map(str, arguments)]


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words(*arguments),
        cwd=folder,
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def command(folder: Path, *arguments: object) -> tuple[int, str, str]:
    process = started(folder, *arguments)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "compounds.csv").write_text(COMPOUNDS)
    status, _, err = command(tmp_path, "create", "s", *question())
    assert status == 0, err
    return tmp_path


def tells(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "lab.db")) as database:
        return database.execute(
            "SELECT count(*) FROM mislid_events WHERE kind = 'told'"
        ).fetchone()[0]


@pytest.mark.slow
def test_a_tell_that_is_killed_is_told_again(folder: Path) -> None:
    """Whatever was told by then, the same sheet once more completes it and doubles nothing."""
    status, _, err = command(folder, "ask", "s", "-n", 60, "--csv", "plate.csv")
    assert status == 0, err
    lines = (folder / "plate.csv").read_text().replace(",,,s", ",0.5,,s")
    (folder / "plate.csv").write_text(lines)
    process = started(folder, "tell", "s", "--csv", "plate.csv")
    while tells(folder) < 5:
        assert process.poll() is None
        time.sleep(0.002)
    process.kill()
    process.communicate()
    before = tells(folder)
    assert 5 <= before < 60
    status, out, err = command(folder, "tell", "s", "--csv", "plate.csv", "--format", "json")
    assert status == 0, err
    said = json.loads(out)
    assert (len(said["unchanged"]), len(said["told"])) == (before, 60 - before)
    status, out, _ = command(folder, "export", "s", "--format", "json")
    assert set(Counter(row["trial"] for row in json.loads(out)).values()) == {1}
    assert len(json.loads(out)) == 60
