"""Streams: every event once, whatever happens, and one reader for all who look."""

import asyncio
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from helpers.serving import Site, logged, messages, new_study, running, tell_some, wait_for
from mislid.server import live
from mislid.server.access import Rates
from mislid.server.live import Channel, Hub, Shared
from mislid.server.views import Views
from mislid.study import Study, delete_study
from mislid.study.events import Entry
from mislid.study.storage import Storage


def entries(first: int, last: int, size: int = 1) -> list[Entry]:
    body = '{"text":"%s"}' % ("x" * size)
    return [Entry(number, 1.0, "told", body) for number in range(first, last + 1)]


def test_a_stream_brings_every_event_once(site: Site, study: Study) -> None:
    tell_some(study, 3)
    assert site.numbers(1, 7, after="0") == list(range(1, 8))
    assert site.numbers(1, 7, after="5") == [6, 7]


def test_events_of_another_process_come_by_themselves(site: Site, study: Study) -> None:
    with site.stream(1, after="1") as told:
        tell_some(study, 2)
        found = [one.data for one in logged(told, 4)]
    assert [one["number"] for one in found] == [2, 3, 4, 5]
    assert [one["kind"] for one in found] == ["asked", "told"] * 2
    assert found == site.json("/api/studies/1/events?after=1")["events"]


def test_the_last_number_resumes_and_counts_more_than_the_address(site: Site, study: Study) -> None:
    tell_some(study, 2)
    assert site.numbers(1, 5, after="0", **{"last-event-id": "3"}) == [4, 5]
    assert site.numbers(1, 5, after="4", **{"last-event-id": "nonsense"}) == [5]


def test_the_state_comes_first_and_after_every_event(site: Site, study: Study) -> None:
    with site.stream(1) as told:
        first = next(told)
        assert (first.name, first.data["events"], first.id) == ("state", 1, None)
        tell_some(study, 1)
        seen = []
        while not (seen and seen[-1].name == "state" and seen[-1].data["events"] == 3):
            seen.append(next(told))
    assert seen[-1].data["state"]["samples"] == 1


def test_a_listener_who_is_ahead_of_the_channel_gets_nothing_twice(
    site: Site, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The channel of others may lag behind the log by a look."""
    with site.stream(1) as others:
        next(others)
        monkeypatch.setattr(live, "POLL", 1.5)
        threading.Event().wait(0.2)  # a look with the old pause
        tell_some(study, 2)
        with site.stream(1, after="5") as told:
            monkeypatch.setattr(live, "POLL", 0.05)
            wait_for(lambda: next(others).id == 5)
            tell_some(study, 1)
            names = []
            for one in told:
                names.append((one.name, one.id))
                if one.id == 7:
                    break
    assert [number for name, number in names if name == "logged"] == [6, 7]
    assert "reset" not in dict(names)


def test_a_log_that_was_put_back_resets_its_readers(site: Site) -> None:
    with site.stream(1, after="40") as told:
        first = next(told)
    assert (first.name, first.id) == ("reset", 1)


def test_a_log_that_is_put_back_meanwhile_is_read_anew(
    site: Site, study: Study, tmp_path: Path
) -> None:
    tell_some(study, 2)
    with site.stream(1) as told:
        next(told)
        assert site.json("/api/studies/1/state")["events"] == 5
        with closing(sqlite3.connect(tmp_path / "lab.db")) as file, file:
            file.execute("DELETE FROM mislid_events WHERE sequence > 3")
            file.execute("UPDATE mislid_studies SET last = 3, summary = NULL")
        assert all(one.name != "gone" for one in told)  # and it ends
    with site.stream(1, after="5") as told:
        assert next(told).name == "reset"
    state = site.json("/api/studies/1/state")
    assert (state["events"], state["state"]["samples"]) == (3, 1)


def test_another_study_under_the_same_id_is_read_anew(site: Site, tmp_path: Path) -> None:
    assert site.json("/api/studies/1/state")["state"]["study"] == "assay"
    with closing(sqlite3.connect(tmp_path / "lab.db")) as file, file:
        file.execute("UPDATE mislid_studies SET name = 'other'")
    assert site.json("/api/studies/1/state")["state"]["study"] == "other"


def test_a_deleted_study_ends_its_streams(site: Site, study: Study, storage: Storage) -> None:
    with site.stream(1) as told:
        next(told)
        delete_study(study_name="assay", storage=storage)
        assert [one.name for one in told][-1] == "gone"
    assert site.get("/api/studies/1/stream").status_code == 404


def test_streams_end_with_the_server(study: Study, storage: Storage) -> None:
    with running(storage) as site:
        ended = threading.Event()

        def listen() -> None:
            with site.stream(1) as told:
                for one in told:
                    if one.name == "state":
                        listening.set()
            ended.set()

        listening = threading.Event()
        thread = threading.Thread(target=listen)
        thread.start()
        assert listening.wait(30)
    thread.join(10)
    assert ended.is_set()


def test_head_of_a_stream_ends(site: Site) -> None:
    answer = site.client.head("/api/studies/1/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_there_are_not_more_streams_than_allowed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mislid.server.reading.MOST_STREAMS", 1)
    with site.stream(1) as told:
        next(told)
        answer = site.get("/api/studies/1/stream")
    assert (answer.status_code, answer.json()["error"]["kind"]) == (503, "Busy")


def test_trouble_is_told_once_and_taken_back(
    site: Site, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mislid.errors import StorageError

    def broken(*_: object) -> Any:
        raise StorageError("the disk is gone")

    monkeypatch.setattr(live, "AGAIN", 0.05)
    with site.stream(1) as told:
        next(told)
        monkeypatch.setattr(storage, "read", broken)
        trouble = next(told)
        assert trouble.name == "trouble"
        assert "does not do its work" in trouble.data["error"]["message"]
        assert "the disk is gone" not in str(trouble.data)
        threading.Event().wait(0.5)  # several looks, which have nothing new to say
        monkeypatch.undo()
        assert next(told).name == "recovered"
    with site.stream(1) as told:
        assert next(told).name != "trouble"


def test_an_event_that_cannot_be_read_doubles_nothing(
    site: Site,
    storage: Storage,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(live, "AGAIN", 0.05)
    read = storage.read
    damaged = [Entry(2, 1.0, "told", "{}"), Entry(3, 1.0, "told", "{")]

    def found(key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        return [one for one in (*read(key), *damaged) if one.sequence > after][:most]

    with site.stream(1) as told:
        next(told)
        monkeypatch.setattr(storage, "read", found)
        trouble = next(told)
        assert (trouble.name, trouble.data["error"]["kind"]) == ("trouble", "CorruptStorageError")
        threading.Event().wait(0.5)  # several looks, which have nothing new to say
        assert caplog.text.count("event 3") == 1
        damaged[1] = Entry(3, 1.0, "told", "{}")
        assert [one.id for one in logged(told, 2)] == [2, 3]
        assert site.numbers(1, 3, after="0") == [1, 2, 3]


def test_trouble_with_one_log_does_not_delay_others(
    site: Site, study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_study(storage, "other")
    read = storage.read

    def found(key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        if key == 1:
            raise OSError
        return read(key, after, most)

    monkeypatch.setattr(live, "AGAIN", 30.0)
    with site.stream(1) as first, site.stream(2) as second:
        next(second)
        monkeypatch.setattr(storage, "read", found)
        assert any(one.name == "trouble" for one in first)
        begun = time.monotonic()
        tell_some(other, 1)
        logged(second, 2)
        assert time.monotonic() - begun < 15.0


def test_what_is_old_is_read_from_the_log(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is in memory and however pieces are cut, every stream has every event once."""
    monkeypatch.setattr(live, "KEPT", 7)
    monkeypatch.setattr(live, "AT_ONCE", 3)
    monkeypatch.setattr("mislid.server.reading.AT_ONCE", 3)
    with running(storage) as site, ThreadPoolExecutor(6) as pool:
        found = [pool.submit(site.numbers, 1, 61, after=str(after)) for after in (0, 0, 1)]
        tell_some(study, 15)
        found += [pool.submit(site.numbers, 1, 61, after=str(after)) for after in (0, 20, 30)]
        tell_some(study, 15)
        told = [one.result() for one in found]
    assert told == [list(range(after + 1, 62)) for after in (0, 0, 1, 0, 20, 30)]


def test_channels_keep_so_many_events_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def kept() -> tuple[int, int]:
        channel = Channel("s", 1, 0)
        channel.take_in(entries(1, 30_000))
        many = channel.last - live.KEPT
        assert channel.kept_after(many - 1) is None
        assert channel.kept_after(many) is not None
        monkeypatch.setattr(live, "KEPT_BYTES", 1_000)
        channel.take_in(entries(30_001, 30_003, size=400))
        assert channel.kept_after(30_000) is None
        content, last = channel.kept_after(30_001) or (b"", 0)
        assert last == 30_003
        channel.take_in(entries(30_004, 30_004, size=2_000))  # none is kept
        assert channel.kept_after(30_003) is None
        return content.count(b"event: logged"), channel.last

    assert asyncio.run(kept()) == (2, 30_004)


def test_no_word_is_lost_to_one_who_sleeps() -> None:
    """Of each subject the last one counts, and those of others stay."""

    async def said() -> bytes:
        channel = Channel("s", 1, 0)
        version = channel.version
        channel.say("computed", b'{"kind":"forecast"}', "forecast")
        channel.say("computed", b'{"kind":"evidence"}', "evidence")
        channel.say("state", b"1")
        channel.say("state", b"2")
        assert channel.said_after(channel.version) == []
        return b"".join(channel.said_after(version))

    found = asyncio.run(said())
    assert found.count(b"event: computed") == 2
    assert found.count(b"event: state") == 1
    assert b"data: 2" in found


def test_work_is_shared_but_never_older_than_the_question() -> None:
    async def asked() -> tuple[list[int], int]:
        calls = 0
        release = threading.Event()

        def work() -> int:
            nonlocal calls
            calls += 1
            mine = calls
            release.wait(10)
            return mine

        shared = Shared(work)
        first = asyncio.create_task(shared())
        await asyncio.sleep(0.05)
        late = [asyncio.create_task(shared()) for _ in range(50)]
        await asyncio.sleep(0.05)
        release.set()
        found = await asyncio.gather(first, *late)
        return found, await shared()

    found, later = asyncio.run(asked())
    assert found == [1] + [2] * 50
    assert later == 3


def test_work_that_fails_fails_for_those_who_asked() -> None:
    async def asked() -> list[Any]:
        outcomes = iter([ValueError("first"), 7])

        def work() -> int:
            found = next(outcomes)
            if isinstance(found, Exception):
                raise found
            return found

        shared = Shared(work)
        return [await asyncio.gather(shared(), return_exceptions=True), await shared()]

    (problem,), value = asyncio.run(asked())
    assert isinstance(problem, ValueError)
    assert value == 7


def test_many_viewers_cost_what_one_does(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    real = Views._compute

    def counted(self: Views, name: str, key: int, kind: str) -> Any:
        computed.append(kind)
        return real(self, name, key, kind)

    monkeypatch.setattr(Views, "_compute", counted)
    tell_some(study, 2)
    with running(storage) as site, ThreadPoolExecutor(20) as pool:
        kinds = ("state", "estimates", "forecast")
        answers = list(pool.map(site.json, [f"/api/studies/1/{kind}" for kind in kinds * 20]))
        assert sorted(computed) == sorted(kinds)
        streams = list(pool.map(lambda _: site.numbers(1, 5, after="0"), range(20)))
    assert sorted(computed) == sorted(kinds)
    assert streams == [[1, 2, 3, 4, 5]] * 20
    assert answers[0] == answers[3]


def test_streams_bring_all_views_to_those_who_want_them(site: Site, study: Study) -> None:
    """So that pages need no requests: each is what its address gives."""
    tell_some(study, 2)
    path = "/api/studies/1/stream"
    with site.client.stream("GET", path, params={"views": "1"}) as answer:
        told = messages(answer.iter_lines())
        newest: dict[str, Any] = {}
        while not all(kind in newest for kind in (*live.SENT, "state")):
            one = next(told)
            newest[one.name] = one.data
        tell_some(study, 1)
        while not all(newest[kind]["events"] >= 7 for kind in live.SENT):
            one = next(told)
            newest[one.name] = one.data
    for kind in live.SENT:
        assert newest[kind] == site.json(f"/api/studies/1/{kind}"), kind
    with site.stream(1, after="0") as plain:
        assert not {next(plain).name for _ in range(8)} & set(live.SENT)


def test_viewers_of_one_address_need_no_requests_and_no_more_work(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one, however much happens, and what all see is computed once."""
    monkeypatch.setattr(Rates.__init__, "__defaults__", (0.001, 30.0))
    monkeypatch.setattr(live, "REST", 0.1)
    computed: list[tuple[str, int]] = []
    real = Views._compute

    def counted(self: Views, name: str, key: int, kind: str) -> Any:
        found = real(self, name, key, kind)
        computed.append((kind, found.events))
        return found

    monkeypatch.setattr(Views, "_compute", counted)

    def watch(_: int) -> set[str]:
        with site.client.stream("GET", "/api/studies/1/stream", params={"views": "1"}) as answer:
            assert answer.status_code == 200
            seen = set()
            for one in messages(answer.iter_lines()):
                begun.release()
                if one.name in live.SENT and one.data["events"] >= 21:
                    seen.add(one.name)
                if len(seen) == len(live.SENT):
                    return seen
        return set()

    begun = threading.Semaphore(0)
    with running(storage) as site, ThreadPoolExecutor(20) as pool:
        watching = [pool.submit(watch, number) for number in range(20)]
        for _ in range(20):
            assert begun.acquire(timeout=30)
        tell_some(study, 10)
        assert all(one.result(60) == set(live.SENT) for one in watching)
    assert len(computed) == len(set(computed))


def test_who_asks_after_a_tell_sees_it(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where a computation that began before it is still under way."""
    begun, release = threading.Event(), threading.Event()
    real = Views._compute

    def slow(self: Views, name: str, key: int, kind: str) -> Any:
        found = real(self, name, key, kind)
        begun.set()
        release.wait(10)
        return found

    monkeypatch.setattr(Views, "_compute", slow)
    with running(storage) as site, ThreadPoolExecutor(2) as pool:
        first = pool.submit(site.json, "/api/studies/1/state")
        assert begun.wait(30)
        tell_some(study, 1)
        second = pool.submit(site.json, "/api/studies/1/state")
        threading.Event().wait(0.2)
        release.set()
        assert first.result()["events"] == 1
        assert second.result()["events"] == 3


def test_slow_views_are_shown_as_they_were_until_they_are_new(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_some(study, 2)
    release = threading.Event()
    release.set()
    real = Views._compute

    def waiting(self: Views, name: str, key: int, kind: str) -> Any:
        if kind == "evidence":
            release.wait(30)
        return real(self, name, key, kind)

    monkeypatch.setattr(Views, "_compute", waiting)
    with running(storage) as site:
        assert site.json("/api/studies/1/evidence")["events"] == 5
        tell_some(study, 1)
        release.clear()
        with site.stream(1) as told:
            kept = site.get("/api/studies/1/evidence")
            assert kept.json()["events"] == 5
            assert int(kept.headers["age"]) >= 0
            release.set()
            wait_for(lambda: (one := next(told)).name == "computed" and one.data["events"] == 7)
        assert site.json("/api/studies/1/evidence")["events"] == 7


def test_polling_with_a_tag_is_a_fallback(site: Site, study: Study) -> None:
    for path in ("/api/studies", "/api/studies/1/state", "/api/studies/1/events?after=0"):
        first = site.get(path)
        known = {"if-none-match": first.headers["etag"]}
        again = site.get(path, headers=known)
        assert (again.status_code, again.content) == (304, b"")
    tell_some(study, 1)
    for path in ("/api/studies", "/api/studies/1/state", "/api/studies/1/events?after=0"):
        assert site.get(path, headers=known).status_code == 200


def test_changes_that_wait_are_bounded(storage: Storage) -> None:
    async def tried() -> str:
        hub = Hub(storage)
        release = threading.Event()
        waiting = [
            asyncio.create_task(hub.writer.do(lambda: release.wait(10)))
            for _ in range(live.MOST_CHANGES)
        ]
        await asyncio.sleep(0.05)
        with pytest.raises(Exception, match="too many changes") as found:
            await hub.writer.do(lambda: None)
        release.set()
        await asyncio.gather(*waiting)
        assert await hub.writer.do(lambda: 7) == 7
        return type(found.value).__name__

    assert asyncio.run(tried()) == "BusyError"


def test_two_studies_have_a_stream_each(site: Site, study: Study, storage: Storage) -> None:
    other = new_study(storage, "other")
    with site.stream(1, after="1") as told, httpx.Client(base_url=site.url) as client:
        tell_some(other, 2)
        tell_some(study, 1)
        assert site.numbers(2, 5, after="0") == [1, 2, 3, 4, 5]
        seen = logged(told, 2)
        assert client.get("/api/studies").status_code == 200
    assert [one.id for one in seen] == [2, 3]
