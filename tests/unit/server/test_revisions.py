"""Corrections and other changes: all of them, however old, and found once."""

import random

import pytest

from helpers.serving import Site, new_study, tell_some
from mislid.server import revisions
from mislid.server.revisions import KINDS, Revisions
from mislid.study import Study
from mislid.study.events import Entry
from mislid.study.storage import Storage

PATH = "/api/studies/1/revisions"


def test_all_corrections_are_listed_however_old(site: Site, study: Study) -> None:
    tell_some(study, 2)
    study.correct(row=0, value=0.4, reason="typing")
    study.void(row=1, reason="spilled")
    tell_some(study, 120)
    found = site.json(PATH)
    assert [one["kind"] for one in found["revisions"]] == ["voided", "corrected"]
    assert found["revisions"][1] == site.json("/api/studies/1/events?after=5&most=1")["events"][0]
    assert found["count"] == 2
    study.void(row=2)
    assert [one["number"] for one in site.json(PATH)["revisions"]] == [249, 7, 6]
    assert [one["number"] for one in site.json(f"{PATH}?before=249&most=1")["revisions"]] == [7]
    assert site.json(f"{PATH}?before=6")["revisions"] == []
    assert site.get(f"{PATH}?before=x").status_code == 422
    assert site.get("/api/studies/9/revisions").status_code == 404


def test_pages_of_them_are_those_of_the_whole_log(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the obvious way, while the log grows, whoever asks for how many before what."""
    new_study(storage)
    monkeypatch.setattr(revisions, "_AT_ONCE", 7)
    rng = random.Random(5)
    kinds = [rng.choice(["told", "asked", *KINDS]) for _ in range(300)]
    entries = [Entry(at + 1, 1.0, kind, "{}") for at, kind in enumerate(kinds)]
    length = 0

    def read(key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        return entries[after : min(length, after + (most or length))]

    monkeypatch.setattr(storage, "read", read)
    found = Revisions(storage)
    for _ in range(200):
        length = min(300, length + rng.choice([0, 0, 1, 5, 20]))
        before, most = rng.choice([None, rng.randrange(320)]), rng.randrange(1, 12)
        all_of_them = [one for one in entries[:length] if one.kind in KINDS]
        wanted = [one for one in all_of_them if before is None or one.sequence < before]
        assert found.before(1, before, most) == (wanted[::-1][:most], len(all_of_them))


def test_a_log_that_was_put_back_is_read_anew(storage: Storage, study: Study) -> None:
    tell_some(study, 1)
    study.void(row=0)
    found = Revisions(storage)
    assert found.before(1, None, 5)[1] == 1
    found.forget(1)
    assert found.before(1, None, 5)[1] == 1
