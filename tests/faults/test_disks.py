"""Files that were torn, and disks without room."""

import random
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest

import mislid
from faults import judge
from faults.calls import new_study, value_of
from faults.places import SQLitePlace
from mislid.errors import FullStorageError, StorageError

COPIES = 40
ROWS = [("c1", 0.25), ("c2", 0.5)]


def test_torn_copies_hold_a_beginning_or_are_refused(tmp_path: Path) -> None:
    place, rng = SQLitePlace(tmp_path), random.Random(3)
    study = new_study(place.address)
    for number in range(COPIES):
        study.add_observations([("c1", value_of(f"{number}", "c1"))] * 3)
        place.faults["torn copy"](rng)
    study._session.storage.close()
    usable, found = judge.torn_copies(place.torn, place.log()[1])
    assert found == []
    assert 0 < usable < COPIES


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _refused(call: Callable[[], object]) -> tuple[type[StorageError], str, float]:
    """How a call failed, and after how many seconds."""
    begun = time.monotonic()
    with pytest.raises(StorageError) as caught:
        call()
    return caught.type, str(caught.value), time.monotonic() - begun


def _fill(file: Path, room: int) -> None:
    """Add to a study until its files may not grow, and again when they may."""
    address = f"sqlite:///{file}"
    study = mislid.create_study(
        study_name="s", candidates=["c1", "c2"], m=1, noise=100.0, storage=address
    )
    trial = study.ask()
    _limit(Path(f"{file}-wal").stat().st_size + room)
    added = 0
    with suppress(FullStorageError):
        while True:
            study.add_observations(ROWS, key=f"rows {added}")
            added += 1
    calls: list[Callable[[], object]] = [
        lambda: study.add_observations(ROWS, key=f"rows {added}"),
        lambda: study.add_observations(ROWS),
        lambda: study.tell(trial, 0.5),
        study.ask,
        lambda: mislid.create_study(
            study_name="t", candidates=["c1", "c2"], m=1, noise=1.0, storage=address
        ),
    ]
    for call in calls:
        kind, words, seconds = _refused(call)
        assert kind is FullStorageError, words
        assert "has no room left, and nothing was added: make room and try again" in words
        assert seconds < 2.0  # a call whose outcome is unknown is repeated for 8 s
        assert study.samples == 2 * added
    events = len(study.events())
    assert events == len(mislid.load_study(study_name="s", storage=address).events())
    _limit(resource.RLIM_INFINITY)
    for call in calls:
        call()
    study.add_observations(ROWS, key=f"rows {added}")  # the second time
    assert len(study.events()) == events + 4
    assert study.samples == 2 * added + 5
    assert mislid.check_study(study_name="s", storage=address).ok


@pytest.mark.parametrize("room", [0, 1_000, 40_000, 100_001])
def test_a_limit_to_the_size_of_files_is_told_at_once(tmp_path: Path, room: int) -> None:
    """Nothing is lost or doubled, and the study goes on when the limit is lifted."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # the limit is of a process
        pool.submit(_fill, tmp_path / "lab.db", room).result(120)
