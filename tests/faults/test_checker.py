"""The checker finds storages that break a promise, and nothing where all are kept."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from faults import checker, record, twins
from faults.calls import new_study
from faults.checker import Row, violations
from faults.record import OK, REFUSED, Operation
from faults.worker import Life, Worker
from mislid.errors import MislidError
from mislid.study.storage import Storage
from mislid.study.storage.sql import SQLStorage

STEPS = 200


def work(storage: Storage, folder: Path) -> list[Operation]:
    """The record of one client in this process, which is not killed."""
    worker = Worker(Life("w0", 0), "", folder, seed=3)
    worker.study = new_study(storage)
    with patch("time.sleep"), patch("os.fdatasync"):
        for _ in range(STEPS):
            worker.step()
    # A storage that was broken on purpose may be unreadable.
    with suppress(MislidError), patch("faults.worker.PATIENCE", 0.0):
        worker.last_look()
    storage.close()
    return list(record.operations([folder / "w0.0.record"]).values())


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
    operations = work(twins.Broken(file, tamper, after=STEPS // 3), tmp_path)
    whats = {one.what for one in violations(*checker.read_sqlite(file), operations)}
    assert named <= whats
    assert bool(named) == bool(whats), whats


# Which call the client remembers otherwise, and how, by the violation that this is.
CLAIMS: dict[str, tuple[str, Callable[[Operation], Operation]]] = {
    "refused, and done": ("tell", lambda one: replace(one, outcome=REFUSED)),
    "never found out": ("tell", lambda one: replace(one, outcome=None, end=None)),
    "other trials": ("ask", lambda one: replace(one, reply=[[n, "c"] for n, _ in one.reply])),
    "seen, and gone": ("look", lambda one: replace(one, reply=one.reply | {"samples": -1})),
    "stale": ("look", lambda one: replace(one, begin=10**30)),
    "another key": ("void", lambda one: replace(one, key="none")),
}


def test_clients_that_were_told_something_else(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    operations = work(SQLStorage(f"sqlite:///{file}"), tmp_path)
    last, rows = checker.read_sqlite(file)
    assert violations(last, rows, operations) == []
    for named, (call, change) in CLAIMS.items():
        some = next(one for one in operations if one.call == call and one.outcome == OK)
        others = [one for one in operations if one is not some]
        assert named in {one.what for one in violations(last, rows, [*others, change(some)])}
    changed = [*rows[:-1], rows[-1]._replace(time=rows[-1].time + 1.0)]
    assert "seal" in {one.what for one in violations(last, changed, operations)}
    assert "numbers" in {one.what for one in violations(last, rows[:-1], operations)}
