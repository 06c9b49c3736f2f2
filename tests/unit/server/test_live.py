"""Streams: every event once, whatever happens, and one reader for all who look."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from helpers.serving import Site, logged, running, tell_some, wait_for
from mislid.server import live
from mislid.study import Study, delete_study
from mislid.study.events import Entry
from mislid.study.storage import Storage

STUDY = "/api/studies/1"
STREAM = {"accept": "text/event-stream"}


def test_a_stream_brings_every_event_once(site: Site, study: Study) -> None:
    tell_some(study, 3)
    assert site.numbers(1, 7, after="0") == list(range(1, 8))
    assert site.numbers(1, 7, after="5") == [6, 7]
    # What a browser knows counts more than the address.
    assert site.numbers(1, 7, after="0", **{"last-event-id": "3"}) == [4, 5, 6, 7]
    assert site.numbers(1, 7, after="4", **{"last-event-id": "nonsense"}) == [5, 6, 7]


def test_events_of_another_process_come_by_themselves(site: Site, study: Study) -> None:
    with site.stream(1, after="1") as told:
        tell_some(study, 2)
        found = [one.data for one in logged(told, 4)]
    assert [one["number"] for one in found] == [2, 3, 4, 5]
    assert [one["kind"] for one in found] == ["asked", "told"] * 2
    assert found == site.json(f"{STUDY}/events?after=1")["events"]


def test_a_log_that_was_put_back_is_read_again(site: Site, study: Study, tmp_path: Path) -> None:
    tell_some(study, 2)
    with site.stream(1, after="0") as told:
        next(told)
        assert site.json(STUDY)["events"] == 5
        with closing(sqlite3.connect(tmp_path / "lab.db")) as file, file:
            file.execute("DELETE FROM mislid_events WHERE sequence > 3")
            file.execute("UPDATE mislid_studies SET last = 3, summary = NULL")
        assert all(one.name != "gone" for one in told)  # and it ends
    with site.stream(1, after="5") as told:
        first = next(told)
        assert (first.name, first.id) == ("reset", 3)
    state = site.json(STUDY)
    assert (state["events"], state["state"]["samples"]) == (3, 1)
    with closing(sqlite3.connect(tmp_path / "lab.db")) as file, file:
        file.execute("UPDATE mislid_studies SET name = 'other'")
    answer = site.get(STUDY)  # not the state that is in memory under the old name
    assert answer.status_code == 503
    assert answer.json()["error"]["message"].startswith("study 'other' is damaged")


def test_a_deleted_study_ends_its_streams(site: Site, study: Study, storage: Storage) -> None:
    with site.stream(1, after="0") as told:
        next(told)
        delete_study(study_name="assay", storage=storage)
        assert [one.name for one in told][-1] == "gone"
    assert site.get(STUDY).status_code == 404


def test_there_are_not_more_streams_than_allowed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mislid.server.app.MOST_STREAMS", 1)
    with site.stream(1, after="0") as told:
        next(told)
        assert site.get(f"{STUDY}/events", headers=STREAM).status_code == 503


def test_a_client_has_not_more_streams_than_allowed(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mislid.server.app.MOST_OF_CLIENT", 1)
    one, other = ({"x-forwarded-for": f"203.0.113.{number}"} for number in (7, 8))
    with running(storage, proxies=["127.0.0.1"]) as site:
        with site.stream(1, after="0", **one) as told:
            next(told)
            answer = site.get(f"{STUDY}/events", headers=STREAM | one)
            assert answer.status_code == 503
            assert "streams may be open, and 1 of each" in answer.json()["error"]["message"]
            assert site.get(f"{STUDY}/events", headers=one).status_code == 200
            assert site.numbers(1, 1, after="0", **other) == [1]
        # A stream that has ended counts no longer.
        wait_for(lambda: site.client.head(f"{STUDY}/events", headers=STREAM | one).is_success)


def test_an_event_that_cannot_be_read_doubles_nothing(
    site: Site,
    storage: Storage,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    read = storage.read
    damaged = [Entry(2, 1.0, "told", "{}"), Entry(3, 1.0, "told", "{")]

    def found(key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        return [one for one in (*read(key), *damaged) if one.sequence > after][:most]

    with site.stream(1, after="0") as told:
        next(told)
        monkeypatch.setattr(storage, "read", found)
        trouble = next(told)
        assert (trouble.name, trouble.data["error"]["kind"]) == ("trouble", "CorruptStorageError")
        assert list(told) == []
    for _ in range(4):
        with site.stream(1, after="1") as told:
            assert next(told).name == "trouble"
    assert caplog.text.count("event 3") <= 2  # the minute may change meanwhile
    damaged[1] = Entry(3, 1.0, "told", "{}")
    assert site.numbers(1, 3, after="0") == [1, 2, 3]


def test_streams_go_on_from_any_number(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is in memory and however pieces are cut, every stream has every event once."""
    monkeypatch.setattr(live, "AT_ONCE", 3)
    with running(storage) as site, ThreadPoolExecutor(6) as pool:
        found = [pool.submit(site.numbers, 1, 61, after=str(after)) for after in (0, 0, 1)]
        tell_some(study, 15)
        found += [pool.submit(site.numbers, 1, 61, after=str(after)) for after in (0, 20, 30)]
        tell_some(study, 15)
        told = [one.result() for one in found]
    assert told == [list(range(after + 1, 62)) for after in (0, 0, 1, 0, 20, 30)]


def test_who_asks_after_a_tell_sees_it(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where a computation that began before it is still under way."""
    begun, release = threading.Event(), threading.Event()
    compute = live.Seen.compute

    def slow(self: live.Seen, kind: str) -> tuple[int, bytes]:
        view = compute(self, kind)
        begun.set()
        release.wait(10)
        return view

    monkeypatch.setattr(live.Seen, "compute", slow)
    with running(storage) as site, ThreadPoolExecutor(2) as pool:
        first = pool.submit(site.json, STUDY)
        assert begun.wait(30)
        tell_some(study, 1)
        second = pool.submit(site.json, STUDY)
        time.sleep(0.2)
        release.set()
        assert first.result()["events"] == 1
        assert second.result()["events"] == 3
