"""Files that were torn, and a disk that is full in earnest."""

import random
import shutil
from pathlib import Path

import pytest

from faults import judge, twins
from faults.calls import new_study, value_of
from faults.places import SQLitePlace

COPIES = 40


@pytest.fixture
def place(tmp_path: Path) -> SQLitePlace:
    """Copies that were torn while a study was being written to."""
    place, rng = SQLitePlace(tmp_path), random.Random(3)
    study = new_study(place.address)
    for number in range(COPIES):
        study.add_observations([("c1", value_of(f"{number}", "c1"))] * 3)
        place.faults["torn copy"](rng)
    study._session.storage.close()
    return place


def test_torn_copies_hold_a_beginning_or_are_refused(place: SQLitePlace) -> None:
    usable, found = judge.torn_copies(place.torn, place.log()[1])
    assert found == []
    assert 0 < usable < COPIES


def test_copies_with_another_log_are_found(place: SQLitePlace) -> None:
    _, rows = place.log()
    copy = place.file.with_name("copy.db")
    shutil.copyfile(place.file, copy)
    other = twins.resealed([*rows[:-2], rows[-1], rows[-2]])
    usable, found = judge.torn_copies([copy], other)
    assert usable == 1
    assert [one.what for one in found] == ["torn"]
