"""Rows of a database that were changed: one sentence names the study, and hides no other."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

import mislid
from mislid._formatting import visible
from mislid.cli import main
from mislid.errors import CorruptStorageError
from mislid.server.access import Policy
from mislid.server.app import new_app
from mislid.server.live import Hub
from mislid.study import StudySummary
from mislid.study.storage import Storage, as_storage

SICK = 2  # the key of the study between the healthy ones
EVENT = f"UPDATE mislid_events SET {{}} WHERE key = {SICK} AND sequence = 2"
STUDY = f"UPDATE mislid_studies SET {{}} WHERE key = {SICK}"
DEEP = "replace(hex(zeroblob(100000)), '00', '[')"
# Copies of the tables without keys and without constraints.
LOOSE = "".join(
    f"CREATE TABLE loose AS SELECT * FROM {name}; DROP TABLE {name};"
    f"ALTER TABLE loose RENAME TO {name};"
    for name in ("mislid_events", "mislid_studies")
)
EVENTS = [
    *(f"body = {body}" for body in ("'{'", "''", "'null'", "'[]'", "'1'", "'\"x\"'", DEEP, "7")),
    *(f"body = {body}" for body in ("x'00ff'", "CAST(x'ff' AS TEXT)", "body || ' '", "1e999")),
    """body = '{"trial":0,"value":NaN}'""",
    "body = '{\"trial\":' || replace(hex(zeroblob(5000)), '0', '1') || '}'",
    *(f"kind = {kind}" for kind in ("''", "x'00'", "CAST(x'80' AS TEXT)", "'created'", "'\x1b'")),
    *(f"time = {time}" for time in ("9e999", "-9e999", "-1e300", "'soon'", "x'01'", "5")),
    *(f"seal = {seal}" for seal in ("''", "x'00'", "'é'", "CAST(x'c3' AS TEXT)", "1.5")),
    *(f"sequence = {at}" for at in ("-1", "0", "2.5", "'two'", "9223372036854775807", "x'02'")),
    "key = 99",
    "key = 'x'",
]
HARMFUL = [
    *(EVENT.format(change) for change in EVENTS),
    *(LOOSE + EVENT.format(f"{column} = NULL") for column in ("sequence", "time", "kind", "body")),
    LOOSE + EVENT.format("seal = NULL"),
    LOOSE + EVENT.format("sequence = '2x'"),
    f"{LOOSE} INSERT INTO mislid_events SELECT * FROM mislid_events WHERE key = {SICK}",
    f"DELETE FROM mislid_events WHERE key = {SICK} AND sequence = 1",
    f"DELETE FROM mislid_events WHERE key = {SICK}",
    *(STUDY.format(f"last = {last}") for last in ("-1", "0", "4", "9223372036854775807")),
    *(STUDY.format(f"last = {last}") for last in ("'x'", "x'03'", "2.5", "1e300", "'3 '||'x'")),
    LOOSE + STUDY.format("last = NULL"),
    *(STUDY.format(f"name = {name}") for name in ("x'ff'", "CAST(x'ff' AS TEXT)", "7", "''")),
    *(
        STUDY.format(f"name = {name}")
        for name in ("'\x1b[2K'", "'a' || char(10)", "'s' || char(0)")
    ),
    STUDY.format("name = replace(hex(zeroblob(5000)), '0', 'x')"),
    LOOSE + STUDY.format("name = NULL"),
]
HARMLESS = [
    STUDY.format(f"summary = {summary}")
    for summary in (
        *("NULL", "''", "'x'", "'{}'", "'[]'", "'[3]'", "'null'", "7", "x'ff'", DEEP, "1e999"),
        *("CAST(x'ff' AS TEXT)", "CAST(x'00' AS TEXT)", "'[3,1,2,3,4,5,6,7,8]'"),
        *("replace(summary, '[3', '[2')", "replace(summary, '[3', '[[3]')"),
        *(
            "replace(summary, '\"running\"', '\"\x1b\"')",
            "replace(summary, '\"guaranteed\"', '[]')",
        ),
        '\'[3,"running",1,2,1,0,NaN,Infinity,"guaranteed"]\'',
        '\'[3,"running",1,2,1,0,{},null,"guaranteed"]\'',
        '\'[3,"running",true,2,1e5,-1,1.0,1.0,"guaranteed"]\'',
    )
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("whole") / "lab.db"
    storage = as_storage(file)
    for name in ("healthy 1", "sick", "healthy 2"):
        study = mislid.create_study(
            study_name=name, candidates=["a", "b"], m=1, noise=1.0, storage=storage
        )
        study.tell(study.ask(), 0.5)
    storage.close()
    return file


@pytest.fixture
def lab(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(whole, tmp_path / "lab.db"))


def tamper(file: Path, statements: str) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.executescript(statements)


@pytest.fixture
def opened(lab: Path) -> Iterator[Callable[[], Storage]]:
    """Opened after the change."""
    storages: list[Storage] = []

    def opening() -> Storage:
        storages.append(as_storage(lab))
        return storages[-1]

    yield opening
    for storage in storages:
        storage.close()


def asked(storage: Storage, *paths: str) -> list[httpx.Response]:
    async def answers() -> list[httpx.Response]:
        app = new_app(Hub(storage), Policy(hosts=frozenset({"lab.example"})))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://lab.example"
        ) as client:
            return [await client.get(path) for path in paths]

    return asyncio.run(answers())


def say(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["study", *words])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    if "csv" not in words:  # which has the text as it is
        assert all(line.isprintable() for line in (out + err).split("\n"))
    return status, out, err


def healthy_ones_are_well(storage: Storage, lab: Path, capsys: Any) -> StudySummary:
    """The line of the sick one, by Python."""
    lines = mislid.list_studies(storage=storage)
    by_name = {line.name: line for line in lines}
    for name in ("healthy 1", "healthy 2"):
        assert (by_name.pop(name).status, by_name.get(name)) == ("running", None)
        assert mislid.load_study(study_name=name, storage=storage).samples == 1
        assert mislid.check_study(study_name=name, storage=storage).ok
        assert say(capsys, "status", name, "--no-forecast", "--storage", str(lab))[0] == 0
    for form in ("table", "csv", "json"):
        status, out, _ = say(capsys, "list", "--storage", str(lab), "--format", form)
        assert status == 0
        assert all(f"healthy {one}" in out for one in (1, 2))
    index, first, third = asked(storage, "/api/studies", "/api/studies/1", "/api/studies/3")
    assert [answer.status_code for answer in (index, first, third)] == [200, 200, 200]
    assert {1, SICK, 3} == {one["id"] for one in index.json()["studies"]}
    assert len(by_name) == 1
    return by_name.popitem()[1]


@pytest.mark.parametrize("change", HARMFUL, ids=range(len(HARMFUL)))
def test_a_sick_study_is_named(
    change: str, lab: Path, opened: Callable[[], Storage], capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(lab, change)
    tamper(lab, STUDY.format("summary = NULL"))
    storage = opened()
    line = healthy_ones_are_well(storage, lab, capsys)
    name, place = line.name, str(lab)
    assert line.status == "damaged"
    with pytest.raises(CorruptStorageError) as raised:
        mislid.load_study(study_name=name, storage=storage)
    said = str(raised.value)
    assert said.startswith(f"study {name!r} is damaged: ") or len(name) > 50
    assert "\n" not in said
    found = mislid.check_study(study_name=name, storage=storage)
    assert (found.ok, found.study) == (False, name)
    json.dumps(found.to_dict())
    if name.strip() and "\0" not in name:
        status, out, err = say(capsys, "status", "--storage", place, "--", name)
        assert (status, out) == (1, "")
        assert err.count("\n") == 1
        assert visible(repr(name)[1:40]) in err
        status, out, err = say(capsys, "check", "--storage", place, "--", name)
        assert (status, err) == (1, "")
        assert visible(name) in out
    paths = (f"/api/studies/{SICK}{rest}" for rest in ("", "/events", "/estimates"))
    state, events, estimates = asked(storage, *paths)
    for answer in (state, estimates):
        assert answer.status_code == 503
        assert visible(name)[:40] in answer.json()["error"]["message"].replace("\\\\", "\\")
    assert events.status_code in (200, 503)
    assert asked(storage, f"/studies/{SICK}")[0].status_code == 200


@pytest.mark.parametrize("change", HARMLESS, ids=range(len(HARMLESS)))
def test_a_wrong_summary_is_not_believed(
    change: str, lab: Path, opened: Callable[[], Storage], capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(lab, change)
    storage = opened()
    line = healthy_ones_are_well(storage, lab, capsys)
    assert (line.status, line.observations, line.stopping) == ("running", 1, "guaranteed")
    assert mislid.load_study(study_name="sick", storage=storage).samples == 1
    assert mislid.check_study(study_name="sick", storage=storage).ok
