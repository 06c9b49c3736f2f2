"""Clients work on a study while clients, disks, databases and connections break.

`make faults SECONDS=3600` does so for an hour on each database, in rounds of other seeds.
"""

import math
import os
from pathlib import Path

import pytest

from faults.places import SQLitePlace, postgresql_place
from faults.round import Outcome, run
from helpers.postgresql import Server

# On each database; the continuous integration takes longer.
SECONDS = float(os.environ.get("MISLID_FAULTS_SECONDS", "12"))
ROUND, RATE = min(SECONDS, 40.0), 1.5
SEEDS = [20211206 + number for number in range(math.ceil(SECONDS / ROUND))]


def check(outcome: Outcome, kinds: set[str]) -> None:
    assert outcome.violations == []
    assert set(outcome.faults) == kinds
    assert outcome.acknowledged > 50
    assert outcome.cut_off > 0


CLIENTS = {
    "client killed",
    "client stopped",
    "clock jumped",
    "commit lost",
    "answer to a commit lost",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file(seed: int, tmp_path: Path) -> None:
    outcome = run(SQLitePlace(tmp_path), tmp_path, seed=seed, seconds=ROUND, rate=RATE)
    check(outcome, {*CLIENTS, "client disk full", "torn copy"})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_server(seed: int, postgresql: Server, tmp_path: Path) -> None:
    with postgresql_place(postgresql) as place:
        outcome = run(place, tmp_path, seed=seed, seconds=ROUND, rate=RATE)
        check(outcome, {*CLIENTS, *place.faults})
