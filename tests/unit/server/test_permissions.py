"""A storage of somebody else, which may only be read: served, also while its owner writes."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from helpers.command_line import ENVIRONMENT
from helpers.serving import new_study, tell_some
from mislid.study import load_study
from mislid.study.storage import as_storage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.name != "posix" or os.geteuid() != 0, reason="it takes root to become somebody else"
    ),
]
NOBODY = 65534
# All that is needed is loaded before, since nobody may not read the programs of root.
VISIT = """
import os, sys
from helpers.serving import running
from mislid.errors import MislidError
from mislid.study.storage import as_storage

def look(place, ask):
    storage = as_storage(place)
    with running(storage, write=True) as site:
        for _ in range(2):
            rows = site.json("/api/studies")["studies"]
            events = site.json("/api/studies/1")["events"]
            seen = site.numbers(1, 3, after="0")
            asked = site.post("/api/studies/1/ask").status_code
            print(len(rows), events, len(seen), asked, flush=True)
            if ask:
                sys.stdin.readline()
    storage.close()

look("sqlite:///" + sys.argv[1], False)
os.setgid(NOBODY)
os.setuid(NOBODY)
try:
    look("sqlite:///" + sys.argv[2], True)
except MislidError as problem:
    print(problem, flush=True)
""".replace("NOBODY", str(NOBODY))


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that others may enter, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o755)
        for file in ("own.db", "lab.db"):
            with closing(as_storage(made / file)) as storage:
                tell_some(new_study(storage), 1)
            (made / file).chmod(0o644)
        yield made


@pytest.fixture
def visit(folder: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", VISIT, str(folder / "own.db"), str(folder / "lab.db")]
    with subprocess.Popen(
        words, env=ENVIRONMENT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_it_is_shown_and_followed(folder: Path, visit: subprocess.Popen[str]) -> None:
    assert [said(visit), said(visit)] == ["1 3 3 200", "1 4 3 200"]
    assert said(visit) == "1 3 3 503"  # of nobody, who may not write
    assert sorted(path.name for path in folder.iterdir()) == ["lab.db", "own.db"]
    with closing(as_storage(folder / "lab.db")) as storage:
        tell_some(load_study(study_name="assay", storage=storage), 2)
        go_on(visit)
        assert said(visit) == "1 7 3 503"
    go_on(visit)
