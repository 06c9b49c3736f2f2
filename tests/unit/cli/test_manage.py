"""`mislid study list`, `delete` and `check`."""

import io
import json
import sqlite3
from pathlib import Path

import pytest

from helpers.study_calls import Call, refused
from mislid.study.events import Entry, seal_of


def names(call: Call, *words: object) -> list[str]:
    return [line["name"] for line in json.loads(call("list", *words, "--format", "json").out)]


def test_deleting_takes_a_yes(created: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\ny\n"))
    done = created("delete", "s")
    assert (done.status, done.out) == (1, "")
    assert "Delete study 's' for good? Events in its log: 1" in done.err
    assert names(created) == ["s"]
    assert created("delete", "s").out == "deleted  s\nevents   1\n"
    assert names(created) == []
    refused(created("delete", "s", "--yes"), 1, "study_name must be of a study in this storage")


def test_check_names_what_was_changed(created: Call, folder: Path) -> None:
    created("ask", "s", "-n", 3)
    for trial in range(3):
        created("tell", "s", trial, 0.31)
    done = created("check", "s", "--format", "json")
    found = json.loads(done.out)
    assert (done.status, found["ok"], found["events"], found["problems"]) == (0, True, 5, [])
    status = json.loads(created("status", "s", "--no-forecast", "--format", "json").out)
    assert (status["head"], status["events"]) == (found["head"], 5)
    assert created("check", "s", "--head", found["head"]).status == 0
    refused(created("check", "s", "--head", "x"), 1, "head must have 64 digits")
    with sqlite3.connect(folder / "lab.db") as other:
        other.execute("UPDATE mislid_events SET body = replace(body, '0.31', '0.32')")
    done = created("check", "s")
    assert done.status == 1
    assert "problem   event 3 of the study is not what was written" in done.out
    for words in (("status", "s"), ("result", "s"), ("ask", "s"), ("tell", "s", 1, 0.5)):
        refused(created(*words), 1, "event 3 of the study is not what was written")


def test_an_inserted_decision_is_not_printed_as_proven(created: Call, folder: Path) -> None:
    """As one that nobody sealed, and as one whose seal is right."""
    created("ask", "s", "-n", 3)
    for trial in range(3):
        created("tell", "s", trial, 0.31)
    body = {"answer": [1], "samples": 3, "rule": "guaranteed", "statistic": 50.0}
    fake = Entry(6, 2e9, "decided", json.dumps(body | {"threshold": 4.0, "pair": [0, 1]}))
    with sqlite3.connect(folder / "lab.db") as other:
        (before,) = other.execute("SELECT seal FROM mislid_events WHERE sequence = 5").fetchone()
        row = (fake.sequence, fake.time, fake.kind, fake.body, "")
        other.execute("INSERT INTO mislid_events VALUES (1, ?, ?, ?, ?, ?)", row)
        other.execute("UPDATE mislid_studies SET last = 6")
    refused(created("result", "s"), 1, "event 6 of the study is not what was written")
    with sqlite3.connect(folder / "lab.db") as other:
        sealed = seal_of(before, fake)
        other.execute("UPDATE mislid_events SET seal = ? WHERE sequence = 6", (sealed,))
    done = created("result", "s")
    assert done.status == 4
    assert "no proof" in done.out
    assert "does not follow from them" in done.out
    assert created("check", "s").status == 1
