"""Files that were torn."""

import random
from pathlib import Path

from faults import judge
from faults.calls import new_study, value_of
from faults.places import SQLitePlace

COPIES = 40


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
