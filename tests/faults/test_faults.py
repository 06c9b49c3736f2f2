"""A few seconds of what `make faults` does for long: the schedule is always the same."""

import os
from pathlib import Path

import pytest

from faults.places import SQLitePlace, postgresql_place
from faults.round import Outcome, run
from helpers.postgresql import Server

SEED, RATE = 20211206, 1.5
# Of breaking things, on each database; the continuous integration takes longer.
SECONDS = float(os.environ.get("MISLID_FAULTS_SECONDS", "12"))


def check(outcome: Outcome, kinds: set[str]) -> None:
    assert outcome.violations == []
    assert set(outcome.faults) == kinds
    assert outcome.figures["ok"] > 50
    assert outcome.figures["commits cut off"] > 0


CLIENTS = {
    "client killed",
    "client stopped",
    "clock jumped",
    "commit lost",
    "answer to a commit lost",
}


@pytest.mark.slow
def test_a_file(tmp_path: Path) -> None:
    outcome = run(SQLitePlace(tmp_path), tmp_path, seed=SEED, seconds=SECONDS, rate=RATE)
    check(outcome, {*CLIENTS, "client disk full", "torn copy"})


@pytest.mark.slow
def test_a_server(postgresql: Server, tmp_path: Path) -> None:
    with postgresql_place(postgresql) as place:
        outcome = run(place, tmp_path, seed=SEED, seconds=SECONDS, rate=RATE)
        check(outcome, {*CLIENTS, *place.faults})
