"""The checker finds storages that break a promise, and nothing where all are kept."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faults import checker, record, twins
from faults.alone import work
from faults.checker import Row, violations
from faults.record import OK, REFUSED, Operation
from mislid.study.storage.sql import SQLStorage

STEPS = 200


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (twins.intact, set()),
        (twins.losing, {"lost"}),
        (twins.doubling, {"doubled"}),
        (twins.doubling_observations, {"doubled"}),
        (twins.reordering, {"order"}),
        (twins.inventing, {"unwanted"}),
        (twins.changing, {"lost", "unwanted"}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_storages_that_break_a_promise(
    tamper: Callable[[list[Row]], list[Row]], named: set[str], tmp_path: Path
) -> None:
    file = tmp_path / "lab.db"
    operations = work(twins.Broken(file, tamper, after=STEPS // 3), tmp_path, STEPS)
    whats = {one.what for one in violations(*checker.read_sqlite(file), operations)}
    assert named <= whats
    assert bool(named) == bool(whats), whats


Change = Callable[[Operation], Operation]


def seen(one: Operation, **other: Any) -> Operation:
    return replace(one, reply=one.reply | other)


CLAIMS: dict[str, tuple[str, str, Change]] = {
    "a refusal of what was done": (
        "refused, and done",
        "tell",
        lambda one: replace(one, outcome=REFUSED),
    ),
    "an answer that never came": (
        "never found out",
        "tell",
        lambda one: replace(one, outcome=None, end=None),
    ),
    "a trial of another arm": (
        "other trials",
        "ask",
        lambda one: replace(one, reply=[[trial, "other"] for trial, _ in one.reply]),
    ),
    "a log that was longer": ("seen, and gone", "look", lambda one: seen(one, events=10_000)),
    "another log": ("seen, and gone", "look", lambda one: seen(one, head="0" * 64)),
    "other measurements": ("seen, and gone", "look", lambda one: seen(one, samples=-1)),
    "a look that begins later": ("stale", "look", lambda one: replace(one, begin=10**30)),
    "another key": ("another key", "observe", lambda one: replace(one, key="none")),
    "a call that was never made": (
        "lost",
        "observe",
        lambda one: replace(one, arguments={"rows": [["c0", 7.0]]}),
    ),
}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[Row], list[Operation]]:
    folder = tmp_path_factory.mktemp("history")
    operations = work(SQLStorage(f"sqlite:///{folder / 'lab.db'}"), folder)
    return *checker.read_sqlite(folder / "lab.db"), operations


@pytest.mark.parametrize("claim", CLAIMS)
def test_clients_that_were_told_something_else(
    claim: str, history: tuple[int, list[Row], list[Operation]]
) -> None:
    last, rows, operations = history
    assert violations(last, rows, operations) == []
    named, call, change = CLAIMS[claim]
    some = next(one for one in operations if one.call == call and one.outcome == OK and _fits(one))
    others = [one for one in operations if one is not some]
    assert named in {one.what for one in violations(last, rows, [*others, change(some)])}


def _fits(one: Operation) -> bool:
    return one.call != "observe" or one.key is not None


def test_seals_and_numbers(history: tuple[int, list[Row], list[Operation]]) -> None:
    last, rows, operations = history
    changed = [*rows[:-1], rows[-1]._replace(time=rows[-1].time + 1.0)]
    assert "seal" in {one.what for one in violations(last, changed, operations)}
    assert "numbers" in {one.what for one in violations(last, rows[:-1], operations)}


def test_records_that_were_torn(tmp_path: Path) -> None:
    """The last line of a client that was killed may be a part of one."""
    kept = record.Record(tmp_path / "w0.0.record")
    kept.write(op="1", step="intent", call="look", arguments={}, key=None)
    kept.write(op="1", step="ok", reply={})
    file = tmp_path / "w0.0.record"
    file.write_bytes(file.read_bytes()[:-5])
    (one,) = record.operations([file]).values()
    assert one.is_open


def test_the_tenth_life_of_a_client_does_not_come_first(tmp_path: Path) -> None:
    """Names of files sort the tenth before the ninth; the call began in the ninth."""
    for life in (9, 10):
        notes = record.Record(tmp_path / f"w3.{life}.record")
        notes.write(op="w3.9.1", step=record.INTENT, call="tell", arguments={}, key=None)
        if life == 10:
            notes.write(op="w3.9.1", step=OK, reply=None)
    first = json.loads((tmp_path / "w3.9.record").read_text())["at"]
    (one,) = record.operations(sorted(tmp_path.glob("*.record"))).values()
    assert (one.begin, one.outcome) == (first, OK)
    assert one.was_in_doubt
