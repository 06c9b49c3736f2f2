"""Many processes work on one study and are killed: nothing is lost, nothing is counted twice."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import mislid
from mislid._jit import MESSAGE
from mislid.study import Study
from mislid.study.events import Told
from mislid.study.session import Session

WORKERS = 8
# 20,000 is what studies have been tried with by hand, on both databases.
TELLS = int(os.environ.get("MISLID_STUDY_TELLS", "5000"))
KILLS = max(4, TELLS // 400)

WORK = """
import sys, mislid
address, name, tells, notes = sys.argv[1:]
study = mislid.load_study(study_name="s", storage=address)
with open(notes, "a", buffering=1) as told:
    while study.samples < int(tells):
        trial = study.ask(worker=name, lease=600)
        value = (trial.id * 7919) % 101 / 101
        study.tell(trial, value)
        told.write(f"{trial.id} {value!r}\\n")
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'lab.db'}"
    return str(request.getfixturevalue("postgresql").new_schema())


def started(address: str, name: str, folder: Path) -> subprocess.Popen:
    source = str(Path(mislid.__file__).parents[1])
    with (folder / f"{name}.err").open("a") as errors:
        return subprocess.Popen(
            [sys.executable, "-c", WORK, address, name, str(TELLS), str(folder / f"{name}.told")],
            env=os.environ | {"PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"},
            stderr=errors,
        )


@contextmanager
def working(address: str, folder: Path) -> Iterator[dict[str, subprocess.Popen]]:
    crew = {name: started(address, name, folder) for name in map("w{}".format, range(WORKERS))}
    try:
        yield crew
    finally:
        for process in crew.values():
            process.kill()
            process.wait()


def new_study(address: str) -> Study:
    features = np.random.default_rng(5).normal(size=(12, 3))
    return mislid.create_study(
        study_name="s",
        candidates=features,
        intercept=False,
        m=3,
        misspecification=0.5,
        storage=address,
        noise=1.0,
    )


@pytest.mark.slow
def test_killed_workers_lose_and_double_nothing(address: str, tmp_path: Path) -> None:
    study, rng = new_study(address), np.random.default_rng(1)
    with working(address, tmp_path) as crew:
        for kill in range(KILLS):
            while study.samples < (kill + 1) * TELLS / (KILLS + 2):
                assert all(process.poll() in (None, 0) for process in crew.values())
                time.sleep(0.02)
            name = f"w{rng.integers(WORKERS)}"
            crew[name].send_signal(signal.SIGKILL)
            crew[name].wait()
            crew[name] = started(address, name, tmp_path)
        for process in crew.values():
            assert process.wait() == 0
    said = "".join(place.read_text() for place in tmp_path.glob("*.err"))
    assert said.replace(MESSAGE, "").strip() == ""
    check_log(study, tmp_path)
    study._session.storage.close()


def check_log(study: Study, folder: Path) -> None:
    events = study.events()
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    told = [event.fact for event in events if isinstance(event.fact, Told)]
    assert TELLS <= len(told) < TELLS + WORKERS
    assert max(Counter(fact.trial for fact in told).values()) == 1
    assert all(fact.value == (fact.trial * 7919) % 101 / 101 for fact in told)
    lines = [line for place in folder.glob("*.told") for line in place.read_text().splitlines()]
    noted = {int(number): float(value) for number, value in map(str.split, lines)}
    assert noted.items() <= {fact.trial: fact.value for fact in told}.items()
    # A worker holds one trial at a time, also one that came back.
    assert len(study.pending) <= WORKERS
    assert len({trial.worker for trial in study.pending}) == len(study.pending)
    replay = Study(Session("s", study._session.key, study._session.storage))
    assert replay.samples == len(told)
    assert replay._session.diverged == 0
    assert replay.ask(worker="new").arm == study.ask(worker="new").arm
